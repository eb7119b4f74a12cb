// SPDX-License-Identifier: BSD-3-Clause
// fuzz_tcp_options: first byte the segment's flags, then the options, as many as there are.
#include <stdlib.h>

#include "wire/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    struct seg_in s = {.flags = data[0]};
    uint32_t len = (uint32_t)MIN(n - 1, (size_t)TCP_OPTIONS_MAX);
    enum drop_reason r = wire_parse_tcp_options(data + 1, len, &s);
    CHECK(r == DROP_NONE || r == DROP_tcp_options);
    if (r != DROP_NONE)
        return 0;
    CHECK(s.wscale <= TCP_WSCALE_MAX);
    CHECK(!(s.opts & SEG_OPT_MSS) || s.mss != 0);
    if (s.opts & SEG_OPT_FAST_OPEN)
        CHECK(s.sack_count <= 1 && (s.sack_count == 0 || s.sack_off >= TCP_BYTES + 2) &&
              s.sack_off + s.sack_count * 8u <= TCP_BYTES + len);
    if (s.opts & SEG_OPT_SACK)
        CHECK(s.sack_count >= 1 && s.sack_count <= 4 && s.sack_off >= TCP_BYTES + 2 &&
              s.sack_off + s.sack_count * 8u <= TCP_BYTES + len);
    return 0;
}
