// SPDX-License-Identifier: BSD-3-Clause
// fuzz_dump: filters of c10m dump. The input is a filter, a zero byte, and frames: a byte of flags,
// a byte of length, the frame. The filter is an expression for libpcap, or behind a byte 1 a
// program: 6 bytes an instruction: which one of `codes`, jt, jf (of what is left of the program), k
// in 3 bytes, little-endian, 0xffffff as 0xffffffff. Flag bit 0: the frame is in two pieces.
//
// Checked: what libpcap accepts is refused with words, or decides on every frame as libpcap's own
// interpreter does.
#include <netinet/in.h>
#include <pcap.h>
#include <resolv.h>
#undef MIN
#undef MAX
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/eal.h"
#include "server/capture_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PROGRAM_MAX = 64, TEXT_BYTES = 64 * 1024, FRAME_MAX = 255, SNAP = 262144 };

// Without shifts by X, which libpcap and the processor end differently, and division by a constant
// 0.
static const uint16_t codes[] = {
    BPF_LD | BPF_W | BPF_ABS,
    BPF_LD | BPF_H | BPF_ABS,
    BPF_LD | BPF_B | BPF_ABS,
    BPF_LD | BPF_W | BPF_IND,
    BPF_LD | BPF_H | BPF_IND,
    BPF_LD | BPF_B | BPF_IND,
    BPF_LD | BPF_W | BPF_LEN,
    BPF_LD | BPF_IMM,
    BPF_LDX | BPF_W | BPF_IMM,
    BPF_LDX | BPF_W | BPF_LEN,
    BPF_LDX | BPF_MSH | BPF_B,
    BPF_ST,
    BPF_STX,
    BPF_LD | BPF_MEM,
    BPF_LDX | BPF_W | BPF_MEM,
    BPF_ALU | BPF_ADD | BPF_K,
    BPF_ALU | BPF_SUB | BPF_K,
    BPF_ALU | BPF_MUL | BPF_K,
    BPF_ALU | BPF_DIV | BPF_K,
    BPF_ALU | BPF_MOD | BPF_K,
    BPF_ALU | BPF_AND | BPF_K,
    BPF_ALU | BPF_OR | BPF_K,
    BPF_ALU | BPF_XOR | BPF_K,
    BPF_ALU | BPF_LSH | BPF_K,
    BPF_ALU | BPF_RSH | BPF_K,
    BPF_ALU | BPF_ADD | BPF_X,
    BPF_ALU | BPF_SUB | BPF_X,
    BPF_ALU | BPF_MUL | BPF_X,
    BPF_ALU | BPF_DIV | BPF_X,
    BPF_ALU | BPF_MOD | BPF_X,
    BPF_ALU | BPF_AND | BPF_X,
    BPF_ALU | BPF_OR | BPF_X,
    BPF_ALU | BPF_XOR | BPF_X,
    BPF_ALU | BPF_NEG,
    BPF_JMP | BPF_JA,
    BPF_JMP | BPF_JEQ | BPF_K,
    BPF_JMP | BPF_JGT | BPF_K,
    BPF_JMP | BPF_JGE | BPF_K,
    BPF_JMP | BPF_JSET | BPF_K,
    BPF_JMP | BPF_JEQ | BPF_X,
    BPF_JMP | BPF_JGT | BPF_X,
    BPF_JMP | BPF_JGE | BPF_X,
    BPF_JMP | BPF_JSET | BPF_X,
    BPF_RET | BPF_K,
    BPF_RET | BPF_A,
    BPF_MISC | BPF_TAX,
    BPF_MISC | BPF_TXA,
};

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz_dump: not so: %s\n", what);
    abort();
}

static void start(void)
{
    static bool started;
    struct eal_params p = {.file_prefix = "c10mfuzzdump", .memory_bytes = {32 << 20}};
    struct err e = {.text = ""};
    if (started)
        return;
    need(eal_start(&p, &e) == 0, e.text);
    atexit(eal_stop);
    res_init();
    _res.nscount = 0;  // words that mean nothing to libpcap are not looked up in the net
    started = true;
}

static struct bpf_insn instruction(const uint8_t *at, uint32_t left)
{
    const uint16_t code = codes[at[0] % ARRAY_LEN(codes)];
    uint32_t k = at[3] | (uint32_t)at[4] << 8 | (uint32_t)at[5] << 16;
    k = k == 0xffffff ? UINT32_MAX : k;
    const unsigned op = BPF_OP(code);
    if (BPF_CLASS(code) == BPF_ST || BPF_CLASS(code) == BPF_STX || BPF_MODE(code) == BPF_MEM)
        k %= BPF_MEMWORDS;
    if (BPF_CLASS(code) == BPF_ALU && (op == BPF_LSH || op == BPF_RSH))
        k %= 32;
    if (BPF_CLASS(code) == BPF_ALU && (op == BPF_DIV || op == BPF_MOD))
        k |= 1;
    // What an instruction has no use for is 0, or rte_bpf refuses it.
    const bool alu = BPF_CLASS(code) == BPF_ALU || BPF_CLASS(code) == BPF_JMP;
    if ((alu && (BPF_SRC(code) == BPF_X || code == (BPF_ALU | BPF_NEG))) ||
        BPF_CLASS(code) == BPF_MISC)
        k = 0;
    if (code == (BPF_JMP | BPF_JA))
        k = left == 0 ? 0 : k % left;
    return (struct bpf_insn){code, left == 0 ? 0 : (u_char)(at[1] % left),
                             left == 0 ? 0 : (u_char)(at[2] % left), k};
}

static uint32_t program_of(const uint8_t *data, size_t n, struct bpf_insn *to)
{
    const uint32_t count = (uint32_t)MIN(n / 6, (size_t)PROGRAM_MAX - 1);
    for (uint32_t i = 0; i < count; i++)
        to[i] = instruction(data + (size_t)6 * i, count - i);
    to[count] = (struct bpf_insn){BPF_RET | BPF_K, 0, 0, 77};
    return count + 1;
}

static const char *text_of(const struct bpf_insn *insns, uint32_t n)
{
    static char text[TEXT_BYTES];
    int at = snprintf(text, sizeof(text), "%u", n);
    for (uint32_t i = 0; i < n; i++)
        at += snprintf(text + at, sizeof(text) - (size_t)at, ",%u %u %u %u", insns[i].code,
                       insns[i].jt, insns[i].jf, insns[i].k);
    return text;
}

static void piece(struct pkt *p, uint8_t *bytes, uint32_t n)
{
    memset(p, 0, sizeof(*p));
    p->m.buf_addr = bytes;
    p->m.buf_len = (uint16_t)n;
    p->m.nb_segs = 1;
    pkt_set_len(p, n);
}

static void decide(const struct capture_filter *f, const struct bpf_insn *insns,
                   const uint8_t *frame, uint32_t n, bool cut)
{
    static struct pkt pkts[2];
    struct pkt *chain[2] = {&pkts[0], &pkts[1]};
    uint8_t *exact = malloc(n + 1);  // so that a sanitizer sees reads behind it
    memcpy(exact, frame, n);
    const uint32_t first = cut ? n / 2 : n;
    piece(&pkts[0], exact, first);
    piece(&pkts[1], exact + first, n - first);
    if (cut)
        pkt_chain(chain, 2);
    need(capture_filter_run(f, &pkts[0]) == bpf_filter(insns, exact, n, n), "as libpcap decides");
    free(exact);
}

static void run(const struct bpf_insn *insns, uint32_t n, const uint8_t *data, size_t left)
{
    struct err e = {.text = ""};
    if (n > CAPTURE_PROGRAM_MAX)
        return;
    struct capture_filter *f = capture_filter_new(text_of(insns, n), &e);
    if (f == NULL) {
        need(strncmp(e.text, "filter: ", 8) == 0, "a filter is refused with words");
        return;
    }
    while (left >= 2) {
        const uint32_t len = (uint32_t)MIN((size_t)data[1], left - 2);
        decide(f, insns, data + 2, len, (data[0] & 1) != 0 && len >= 2);
        data += 2 + len;
        left -= 2 + len;
    }
    capture_filter_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct bpf_insn insns[PROGRAM_MAX];
    const uint8_t *end = n != 0 && data[0] != 1 ? memchr(data, '\0', n) : NULL;
    start();
    if (n != 0 && data[0] == 1) {
        const size_t bytes = MIN((size_t)6 * (PROGRAM_MAX - 1), (n - 1) / 2);
        const uint32_t count = program_of(data + 1, bytes, insns);
        if (bpf_validate(insns, (int)count))
            run(insns, count, data + 1 + bytes, n - 1 - bytes);
    } else if (end != NULL) {
        struct bpf_program b;
        pcap_t *p = pcap_open_dead(DLT_EN10MB, SNAP);
        if (pcap_compile(p, &b, (const char *)data, 1, PCAP_NETMASK_UNKNOWN) == 0) {
            run(b.bf_insns, b.bf_len, end + 1, (size_t)(data + n - end - 1));
            pcap_freecode(&b);
        }
        pcap_close(p);
    }
    return 0;
}
