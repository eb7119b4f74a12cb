// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a configuration: it is refused with errors, or its printed form loads to the same.
#include <string.h>

#include "conf/conf.h"

static struct conf first, second;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct conf_host host = {.cpus = {.n = 4, .id = {0, 1, 2, 3}}};
    struct conf_errors errs;
    struct text printed;
    conf_errors_init(&errs);
    text_init(&printed, 1 << 20);
    if (conf_load_text(&first, &host, "f", (const char *)data, len, NULL, 0, &errs) == 0) {
        CHECK(conf_print(&first, &printed) == 0);
        CHECK(conf_load_text(&second, &host, "p", text_str(&printed), printed.len, NULL, 0,
                             &errs) == 0);
        CHECK(memcmp(&first, &second, sizeof(first)) == 0);
    } else {
        CHECK(errs.n > 0 && errs.lines.len > 0 && errs.lines.error == 0);
    }
    text_free(&printed);
    conf_errors_free(&errs);
    return 0;
}
