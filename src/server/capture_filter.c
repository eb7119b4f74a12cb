// SPDX-License-Identifier: BSD-3-Clause
// capture_filter.c: classic BPF, checked by libpcap, converted, verified and run by rte_bpf.
#include "server/capture_filter.h"

#include <ctype.h>
#include <errno.h>
#include <pcap.h>
#include <rte_bpf.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <stdlib.h>
#include <string.h>

// Faults of rte_bpf (22.11) that every program is corrected for:
// - the converter forgets the index register of a byte A = packet[X + k]: it would read at A + k;
// - an offset near 2^32 wraps around and is read in front of the packet: with X over OFFSET_MAX the
//   program ends and wants nothing, as libpcap has it; a larger k is refused.
// Its machine code is not used: the compiler takes a wrong instruction for a test of bits against a
// small constant, and where a jump is almost as long as a short one reaches, others miss their
// target by the difference. A worker would run into nowhere; the interpreter costs 2 ns an
// instruction.
enum {
    REG_A = 0,
    REG_X = 7,
    OFFSET_MAX = 0xffffff,
    MENDED_MAX = 2,  // instructions that one becomes
    LOOKS_MAX = 500000,
};

// Reads the next number of the text, in [0, max]. False: there is none.
static bool number(const char **at, uint64_t max, uint32_t *to)
{
    while (**at == ',' || isspace((unsigned char)**at))
        ++*at;
    if (!isdigit((unsigned char)**at))
        return false;
    char *end;
    errno = 0;
    const unsigned long long v = strtoull(*at, &end, 10);
    *at = end;
    *to = (uint32_t)v;
    return errno == 0 && v <= max;
}

static bool instruction(const char **at, struct bpf_insn *to)
{
    uint32_t code, jt, jf, k;
    if (!number(at, UINT16_MAX, &code) || !number(at, UINT8_MAX, &jt) ||
        !number(at, UINT8_MAX, &jf) || !number(at, UINT32_MAX, &k))
        return false;
    *to = (struct bpf_insn){(u_short)code, (u_char)jt, (u_char)jf, k};
    return true;
}

static bool reads_packet(const struct bpf_insn *in)
{
    const unsigned mode = BPF_MODE(in->code);
    return (BPF_CLASS(in->code) == BPF_LD || BPF_CLASS(in->code) == BPF_LDX) &&
           (mode == BPF_ABS || mode == BPF_IND || mode == BPF_MSH);
}

static bool computes(const struct bpf_insn *in)
{
    const unsigned class = BPF_CLASS(in->code);
    return class == BPF_ALU || class == BPF_ST || class == BPF_STX;
}

// rte_bpf looks at an instruction once for each way there, unless it knows the same there as
// before: so it does where a program loads and compares only. Where one computes, ways double with
// each branch, and the control thread would not come back. True: over LOOKS_MAX, a tenth of a
// second. The program is valid: jumps go forward, to instructions of it.
static bool takes_too_long(const struct bpf_insn *in, uint32_t n)
{
    uint64_t ways[CAPTURE_PROGRAM_MAX + 1] = {1}, looks = 0;
    bool any = false;
    for (uint32_t i = 0; i < n && looks <= LOOKS_MAX; i++) {
        const uint32_t next = i + 1;
        looks += ways[i];
        if (BPF_CLASS(in[i].code) == BPF_JMP && BPF_OP(in[i].code) == BPF_JA) {
            ways[next + in[i].k] += ways[i];
        } else if (BPF_CLASS(in[i].code) == BPF_JMP) {
            ways[next + in[i].jt] += ways[i];
            ways[next + in[i].jf] += ways[i];
        } else if (BPF_CLASS(in[i].code) != BPF_RET) {
            ways[next] += ways[i];
        }
    }
    for (uint32_t i = 0; i < n; i++)
        any |= computes(&in[i]);
    return any && looks > LOOKS_MAX;
}

// At most CAPTURE_PROGRAM_MAX instructions into `to`; 0: *err.
static uint32_t parse(const char *text, struct bpf_insn *to, struct err *err)
{
    uint32_t n;
    if (!number(&text, CAPTURE_PROGRAM_MAX, &n) || n == 0) {
        err_set(err, "filter: expected 1 to %d instructions", CAPTURE_PROGRAM_MAX);
        return 0;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!instruction(&text, &to[i])) {
            err_set(err, "filter: instruction %u of %u: expected CODE JT JF K", i + 1, n);
            return 0;
        }
    for (uint32_t i = 0; i < n; i++)
        if (reads_packet(&to[i]) && to[i].k > OFFSET_MAX) {
            err_set(err, "filter: instruction %u of %u: reads behind byte %d", i + 1, n,
                    OFFSET_MAX);
            return 0;
        }
    text += strspn(text, ", \t\n");
    if (*text != '\0') {
        err_set(err, "filter: %u instructions, and more behind them", n);
        return 0;
    }
    if (bpf_validate(to, (int)n) == 0) {
        err_set(err, "filter: libpcap refuses the program: unknown instruction, jump outside, or "
                     "no end");
        return 0;
    }
    if (takes_too_long(to, n)) {
        err_set(err, "filter: too many branches for a program that computes");
        return 0;
    }
    return n;
}

// mending: the program so far. Jumps with `off` TO_END go behind it, where it returns 0.
struct mending {
    struct ebpf_insn *out;
    uint32_t n;
    bool has_end;
};

enum { TO_END = INT16_MIN };

static void put(struct mending *m, struct ebpf_insn in)
{
    m->has_end |= (in.code & 7) == BPF_JMP && in.off == TO_END;
    m->out[m->n++] = in;
}

static bool jumps(const struct ebpf_insn *in)
{
    return (in->code & 7) == BPF_JMP && in->code != (BPF_JMP | EBPF_EXIT) &&
           in->code != (BPF_JMP | EBPF_CALL);
}

static void put_indexed(struct mending *m, struct ebpf_insn in)
{
    put(m,
        (struct ebpf_insn){
            .code = BPF_JMP | BPF_JGT | BPF_K, .dst_reg = REG_X, .off = TO_END, .imm = OFFSET_MAX});
    in.src_reg = REG_X;
    put(m, in);
}

static void put_mended(struct mending *m, struct ebpf_insn in)
{
    if ((in.code & 0xe7) == (BPF_LD | BPF_IND))
        put_indexed(m, in);
    else
        put(m, in);
}

static void put_end(struct mending *m)
{
    const uint32_t end = m->n;
    if (!m->has_end)
        return;  // nobody would come to it, which the verifier refuses
    for (uint32_t i = 0; i < end; i++)
        if ((m->out[i].code & 7) == BPF_JMP && m->out[i].off == TO_END)
            m->out[i].off = (int16_t)(end - i - 1);
    put(m, (struct ebpf_insn){.code = BPF_ALU | EBPF_MOV | BPF_K, .dst_reg = REG_A});
    put(m, (struct ebpf_insn){.code = BPF_JMP | EBPF_EXIT});
}

// mend: prm's instructions, mended, into m->out, which has room. begins[i]: where old i begins.
static void mend(const struct rte_bpf_prm *prm, struct mending *m, uint32_t *begins)
{
    for (uint32_t i = 0; i < prm->nb_ins; i++) {
        begins[i] = m->n;
        put_mended(m, prm->ins[i]);
    }
    begins[prm->nb_ins] = m->n;
    for (uint32_t i = 0; i < prm->nb_ins; i++)
        if (jumps(&prm->ins[i])) {
            const uint32_t from = begins[i + 1], to = begins[(int)i + 1 + prm->ins[i].off];
            m->out[from - 1].off = (int16_t)(to - from);
        }
    put_end(m);
}

// Refuses programs that read memory words before they write them. No compiler produces these.
static struct rte_bpf *convert(struct bpf_insn *insns, uint32_t n, struct err *err)
{
    const struct bpf_program program = {.bf_len = n, .bf_insns = insns};
    struct rte_bpf_prm *prm = rte_bpf_convert(&program);
    if (prm == NULL) {
        err_set(err, "filter: cannot be converted to eBPF: %s", rte_strerror(rte_errno));
        return NULL;
    }
    struct rte_bpf_prm mended = *prm;
    struct mending m = {.out = calloc(prm->nb_ins + 1, MENDED_MAX * sizeof(*m.out))};
    uint32_t *begins = calloc(prm->nb_ins + 1, sizeof(*begins));
    struct rte_bpf *bpf = NULL;
    rte_errno = ENOMEM;
    if (m.out != NULL && begins != NULL) {
        mend(prm, &m, begins);
        mended.ins = m.out;
        mended.nb_ins = m.n;
        bpf = rte_bpf_load(&mended);
    }
    if (bpf == NULL)
        err_set(err, "filter: rte_bpf refuses it: %s", rte_strerror(rte_errno));
    free(begins);
    free(m.out);
    rte_free(prm);
    return bpf;
}

struct capture_filter *capture_filter_new(const char *program, struct err *err)
{
    struct bpf_insn insns[CAPTURE_PROGRAM_MAX];
    const uint32_t n = parse(program, insns, err);
    if (n == 0)
        return NULL;
    struct capture_filter *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        err_set(err, "filter: no memory");
        return NULL;
    }
    f->bpf = convert(insns, n, err);
    if (f->bpf == NULL) {
        free(f);
        return NULL;
    }
    return f;
}

void capture_filter_free(struct capture_filter *f)
{
    if (f == NULL)
        return;
    rte_bpf_destroy(f->bpf);
    free(f);
}
