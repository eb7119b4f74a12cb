// SPDX-License-Identifier: BSD-3-Clause
// run: seeds of the simulator, each in a process of its own, several at a time; and the shrinking
// of one that fails.
#include <errno.h>
#include <getopt.h>
#include <rte_fbarray.h>
#include <rte_memory.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drivers/eal.h"
#include "sim.h"

enum { JOBS_MAX = 64, SEED_LIMIT_S = 200, SHRINK_LIMIT_S = 120, FAILED_MAX = 8 };

static const char usage[] =
    "run: whole stacks in virtual time, joined by links that lose, delay and change frames.\n"
    "  --seeds A-B      seeds to run (default 1-32)\n"
    "  --seconds S      no new seed after so many seconds\n"
    "  --jobs N         processes at a time (default 2)\n"
    "  --segments N     fails if fewer segments were delivered in all\n"
    "  --cover          prints what was reached, and fails if a cell of the state table or a kind\n"
    "                   of fault was not\n"
    "  --twice          runs each seed twice: both have to send the same frames\n"
    "  --no-shrink      a failing seed is only named\n"
    "  --verbose        a line a seed\n"
    "What is left of a seed (a failing one is shrunk, and says which of these repeat it):\n"
    "  --without LIST   faults that do not happen, by name, with commas\n"
    "  --conns LIST     connections that are opened, e.g. 3,7-9; then all others are not\n"
    "  --until MS       ends after so many virtual milliseconds\n"
    "  --trace FILE     every frame as pcapng, with what became of it\n";

struct runner {
    uint64_t first, last;
    uint64_t seconds, segments;
    unsigned jobs;
    bool cover, twice, verbose, no_shrink;
    struct sim_options o;
    struct pkt_pool *pool;
    struct sim_result *shared;  // one a job
    // Sums.
    uint64_t seeds, failed, delivered, frames, opened, conns, cpu_ns;
    struct sim_cover seen;
    const char *self;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// DPDK's memory without hugepages is a file that children would share: each gets a copy of its own.
static int make_private(const struct rte_memseg_list *list, void *arg)
{
    const struct rte_memseg *first = rte_fbarray_get(&list->memseg_arr, 0);
    const int fd = rte_memseg_get_fd_thread_unsafe(first);
    CHECK(mmap(list->base_va, list->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
          list->base_va);
    return 0;
}

static struct sim_result *in_progress;

// A check of the stack, or a fault of memory: what is known is kept.
static void on_signal(int number)
{
    signal(number, SIG_DFL);
    struct sim_world *w = sim_world;
    snprintf(in_progress->message, sizeof(in_progress->message),
             number == SIGALRM ? "at %llu ms: no end after %d s" : "at %llu ms: signal %d",
             w == NULL ? 0ull : (unsigned long long)(w->now_ns / 1000000),
             number == SIGALRM ? SEED_LIMIT_S : number);
    if (w != NULL)
        sim_trace_close(w->trace);
    raise(number);
}

// pool_for: the child's own pool for jumbo frames, where the seed has them.
static struct pkt_pool *pool_for(const struct runner *r, uint64_t seed)
{
    if (!sim_plan_is_jumbo(seed))
        return r->pool;
    struct pkt_pool *jumbo = pkt_pool_create_jumbo("sim_jumbo", SIM_JUMBO_PACKETS, -1);
    CHECK(jumbo != NULL);
    return jumbo;
}

static pid_t start(const struct runner *r, const struct sim_options *o, struct sim_result *result)
{
    memset(result, 0, sizeof(*result));
    fflush(NULL);
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    rte_memseg_list_walk(make_private, NULL);
    in_progress = result;
    const int numbers[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    for (unsigned i = 0; i < ARRAY_LEN(numbers); i++)
        signal(numbers[i], on_signal);
    alarm(SEED_LIMIT_S);
    struct pkt_pool *pool = pool_for(r, o->seed);
    sim_run_seed(o, pool, result);
    if (r->twice) {
        const uint64_t hash = result->hash, frames = result->frames;
        result->done = false;
        result->frames = result->delivered = result->conns = result->conns_opened = 0;
        sim_run_seed(o, pool, result);
        if (result->hash != hash || result->frames != frames) {
            snprintf(result->message, sizeof(result->message),
                     "the second run sent other frames: %llu and %llu", (unsigned long long)frames,
                     (unsigned long long)result->frames);
            _exit(1);
        }
    }
    _exit(0);
}

// Of the same kind: the words are the same, whatever the numbers.
static bool same_words(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a >= '0' && *a <= '9')
            a++;
        while (*b >= '0' && *b <= '9')
            b++;
        if (*a != *b)
            return false;
        if (*a == '\0' || *a == ';')
            return true;
    }
}

// fails: runs o alone; whether it failed as `message` says.
static bool fails(const struct runner *r, const struct sim_options *o, const char *message)
{
    struct sim_result *result = &r->shared[0];
    const pid_t pid = start(r, o, result);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status != 0 && same_words(result->message, message);
}

static bool has_conn(const struct sim_options *o, uint32_t i)
{
    return !(o->conns_off[i / 64] >> i % 64 & 1);
}

static void print_again(const struct runner *r, const struct sim_options *o, const char *trace)
{
    printf("  %s --seeds %llu-%llu", r->self, (unsigned long long)o->seed,
           (unsigned long long)o->seed);
    for (unsigned f = 0, n = 0; f < FAULT_COUNT; f++)
        if (o->faults_off >> f & 1)
            printf("%s%s", n++ == 0 ? " --without " : ",", sim_fault_names[f]);
    bool some = false;
    for (uint32_t i = 0; i < SIM_CONNS_MAX; i++)
        some |= !has_conn(o, i);
    for (uint32_t i = 0, n = 0; some && i < SIM_CONNS_MAX; i++) {
        if (!has_conn(o, i))
            continue;
        uint32_t last = i;
        while (last + 1 < SIM_CONNS_MAX && has_conn(o, last + 1))
            last++;
        printf("%s%u", n++ == 0 ? " --conns " : ",", i);
        if (last != i)
            printf("-%u", last);
        i = last;
    }
    if (o->until_ns != 0)
        printf(" --until %llu", (unsigned long long)((o->until_ns + 999999) / 1000000));
    if (trace != NULL)
        printf(" --trace %s", trace);
    printf("\n");
}

static void cut_faults(const struct runner *r, struct sim_options *o, const char *message,
                       uint64_t end_ns)
{
    for (unsigned f = 0; f < FAULT_COUNT && now_ns() < end_ns; f++) {
        struct sim_options less = *o;
        less.faults_off |= 1u << f;
        if (fails(r, &less, message))
            *o = less;
    }
}

// Halves, quarters... of the connections that are left, as long as it still fails.
static void cut_conns(const struct runner *r, struct sim_options *o, uint32_t n,
                      const char *message, uint64_t end_ns)
{
    for (uint32_t size = n / 2; size != 0; size /= 2)
        for (uint32_t from = 0; from < n && now_ns() < end_ns; from += size) {
            struct sim_options less = *o;
            bool any = false, left = false;
            for (uint32_t i = from; i < from + size && i < n; i++) {
                any |= has_conn(&less, i);
                less.conns_off[i / 64] |= 1ull << i % 64;
            }
            for (uint32_t i = 0; i < n; i++)
                left |= has_conn(&less, i);
            if (any && left && fails(r, &less, message))
                *o = less;
        }
    for (uint32_t i = n; i < SIM_CONNS_MAX; i++)
        o->conns_off[i / 64] |= 1ull << i % 64;
}

static void shrink(const struct runner *r, struct sim_options o, const char *message)
{
    static struct sim_plan plan;
    const uint64_t end_ns = now_ns() + SHRINK_LIMIT_S * 1000000000ull;
    sim_plan_make(&plan, o.seed);
    cut_faults(r, &o, message, end_ns);
    cut_conns(r, &o, plan.n_conns, message, end_ns);
    cut_faults(r, &o, message, end_ns);
    char trace[64];
    snprintf(trace, sizeof(trace), "/tmp/c10m-sim-%llu.pcapng", (unsigned long long)o.seed);
    o.trace = trace;
    const bool again = fails(r, &o, message);
    printf("seed %llu, shrunk%s: %s\n", (unsigned long long)o.seed,
           again ? "" : " (and not failing again)", r->shared[0].message);
    print_again(r, &o, trace);
}

static void add(struct runner *r, const struct sim_result *s)
{
    r->seeds++;
    r->delivered += s->delivered;
    r->frames += s->frames;
    r->conns += s->conns;
    r->opened += s->conns_opened;
    r->cpu_ns += s->wall_ns;
    uint64_t *to = (uint64_t *)&r->seen;
    const uint64_t *from = (const uint64_t *)&s->cover;
    for (size_t i = 0; i < sizeof(r->seen) / sizeof(*to); i++)
        to[i] += from[i];
}

static void report(struct runner *r, uint64_t seed, const struct sim_result *s, bool ok)
{
    add(r, s);
    if (ok && !r->verbose)
        return;
    static struct sim_plan plan;
    sim_plan_make(&plan, seed);
    printf("seed %-6llu %-6s %u hosts %5u connections %9llu segments %8.3f s virtual %6.3f s: "
           "%s%016llx\n",
           (unsigned long long)seed, plan.shape, plan.n_hosts, s->conns,
           (unsigned long long)s->delivered, (double)s->virtual_ns / 1e9, (double)s->wall_ns / 1e9,
           ok ? "" : "FAILED ", (unsigned long long)s->hash);
    if (ok)
        return;
    r->failed++;
    struct sim_options o = r->o;
    o.seed = seed;
    printf("seed %llu: %s\n", (unsigned long long)seed, s->message);
    print_again(r, &o, NULL);
}

static void run_all(struct runner *r)
{
    const uint64_t end_ns = now_ns() + r->seconds * 1000000000ull;
    pid_t pids[JOBS_MAX] = {0};
    uint64_t seeds[JOBS_MAX], next = r->first, failed[FAILED_MAX];
    char messages[FAILED_MAX][sizeof(r->shared->message)];
    unsigned running = 0, n_failed = 0;
    for (;;) {
        for (unsigned j = 0; j < r->jobs; j++) {
            if (pids[j] != 0 || next > r->last || n_failed == FAILED_MAX ||
                (r->seconds != 0 && now_ns() >= end_ns))
                continue;
            struct sim_options o = r->o;
            o.seed = seeds[j] = next++;
            pids[j] = start(r, &o, &r->shared[j]);
            running++;
        }
        if (running == 0)
            break;
        int status;
        const pid_t pid = wait(&status);
        for (unsigned j = 0; j < r->jobs; j++)
            if (pid > 0 && pids[j] == pid) {
                pids[j] = 0;
                running--;
                const bool ok = status == 0 && r->shared[j].done;
                if (!ok && r->shared[j].message[0] == '\0')
                    snprintf(r->shared[j].message, sizeof(r->shared[j].message),
                             "ended with status 0x%x: see above", (unsigned)status);
                report(r, seeds[j], &r->shared[j], ok);
                if (!ok && n_failed < FAILED_MAX) {
                    memcpy(messages[n_failed], r->shared[j].message, sizeof(messages[0]));
                    failed[n_failed++] = seeds[j];
                }
            }
    }
    // One that is watched already is not shrunk.
    for (unsigned i = 0; r->o.trace == NULL && !r->no_shrink && i < MIN(n_failed, 2u); i++) {
        struct sim_options o = r->o;
        o.seed = failed[i];
        shrink(r, o, messages[i]);
    }
}

static const char *const step_names[STEP_COUNT] = {"active",  "passive", "fast",   "syn_ack",
                                                   "syn",     "ack_syn", "close",  "fin",
                                                   "ack_fin", "end",     "release"};
static const char *const kind_names[KIND_COUNT] = {
    "syn",  "synack", "rst!", "rst~", "rst-", "noack",  "ackold", "acksame", "acknew",
    "ack+", "old",    "over", "next", "gap",  "beyond", "fin",    "fingap",  "finold"};

static const char *state_name(unsigned s)
{
    static const char *const more[] = {"LISTEN", "syn record", "tw record"};
    return s < TCP_STATE_COUNT ? tcp_state_name(s) : more[s - TCP_STATE_COUNT];
}

static void print_count(uint64_t n, bool hole)
{
    if (hole)
        printf("%9s", n == 0 ? "." : "!");
    else if (n < 1000000)
        printf("%9llu", (unsigned long long)n);
    else
        printf("%8.1fM", (double)n / 1e6);
}

// Returns how many cells of the table were not reached, but for Fast Open: both ends are this
// stack, whose client has none (tests/pkt/open/fast_open_* take that step).
static unsigned print_steps(const struct sim_cover *c)
{
    unsigned missing = 0, cells = 0;
    printf("state x step (. is a hole of the table)\n%-12s", "");
    for (unsigned k = 0; k < STEP_COUNT; k++)
        printf("%9s", step_names[k]);
    for (unsigned s = 0; s < TCP_STATE_COUNT; s++) {
        if (s == 10)
            continue;
        printf("\n%-12s", tcp_state_name(s));
        for (unsigned k = 0; k < STEP_COUNT; k++) {
            const bool hole = tcp_state_next(s, k) < 0;
            cells += !hole;
            missing += !hole && k != STEP_FAST_OPEN && c->step[s][k] == 0;
            print_count(c->step[s][k], hole);
        }
    }
    printf("\n%u of %u cells of the state table\n", cells - missing, cells);
    return missing;
}

static void print_kinds(const struct sim_cover *c)
{
    unsigned reached = 0, cells = 0;
    printf("state x kind of segment, beside the fast path\n%-12s", "");
    for (unsigned k = 0; k < KIND_COUNT; k++)
        printf("%8s", kind_names[k]);
    for (unsigned s = 1; s < COVER_STATES; s++) {
        if (s == 10)
            continue;
        printf("\n%-12s", state_name(s));
        for (unsigned k = 0; k < KIND_COUNT; k++) {
            cells++;
            reached += c->kind[s][k] != 0;
            printf("%8llu", (unsigned long long)c->kind[s][k]);
        }
    }
    printf("\n%u of %u cells of state x kind\n", reached, cells);
}

static unsigned print_cover(const struct sim_cover *c)
{
    static const char *const whys[] = {"closed",  "reset",       "timed out",
                                       "aborted", "unreachable", "refused"};
    unsigned missing = print_steps(c);
    print_kinds(c);
    printf("faults:");
    for (unsigned f = 0; f < FAULT_COUNT; f++) {
        printf(" %s %llu", sim_fault_names[f], (unsigned long long)c->fault[f]);
        missing += c->fault[f] == 0;
    }
    printf("\nends:");
    for (unsigned i = 0; i < ARRAY_LEN(whys); i++) {
        printf(" %s %llu", whys[i], (unsigned long long)c->closes[i]);
        missing += c->closes[i] == 0;
    }
    printf(" let go %llu", (unsigned long long)c->orphans);
    missing += c->orphans == 0;
    printf("\nrecovery:");
#define X(name)                                                                                    \
    printf(" " #name " %llu", (unsigned long long)c->recovery[COVER_##name]);                      \
    missing += c->recovery[COVER_##name] == 0;
    COVER_RECOVERY(X)
#undef X
    printf("\ndrops:");
    for (unsigned i = 1; i < DROP_COUNT; i++)
        if (c->drops[i] != 0)
            printf(" %s %llu", stat_drop_names[i].name, (unsigned long long)c->drops[i]);
    printf("\n");
    return missing;
}

static int usage_error(const char *what)
{
    fprintf(stderr, "run: %s\n%s", what, usage);
    return 2;
}

static bool parse_range(const char *text, uint64_t *first, uint64_t *last)
{
    char *end;
    *first = *last = strtoull(text, &end, 0);
    if (*end == '-')
        *last = strtoull(end + 1, &end, 0);
    return *end == '\0' && *first <= *last;
}

static bool parse_faults(char *text, uint32_t *off)
{
    for (char *word = strtok(text, ","); word != NULL; word = strtok(NULL, ",")) {
        unsigned f = 0;
        while (f < FAULT_COUNT && strcmp(word, sim_fault_names[f]) != 0)
            f++;
        if (f == FAULT_COUNT)
            return false;
        *off |= 1u << f;
    }
    return true;
}

static bool parse_conns(char *text, uint64_t *off)
{
    memset(off, 0xff, SIM_CONNS_MAX / 8);
    for (char *word = strtok(text, ","); word != NULL; word = strtok(NULL, ",")) {
        uint64_t first, last;
        if (!parse_range(word, &first, &last) || last >= SIM_CONNS_MAX)
            return false;
        for (uint64_t i = first; i <= last; i++)
            off[i / 64] &= ~(1ull << i % 64);
    }
    return true;
}

enum {
    OPT_SEEDS = 1,
    OPT_SECONDS,
    OPT_JOBS,
    OPT_SEGMENTS,
    OPT_COVER,
    OPT_TWICE,
    OPT_VERBOSE,
    OPT_NO_SHRINK,
    OPT_WITHOUT,
    OPT_CONNS,
    OPT_UNTIL,
    OPT_TRACE,
    OPT_HELP
};

static const struct option options[] = {
    {"seeds", 1, NULL, OPT_SEEDS},     {"seconds", 1, NULL, OPT_SECONDS},
    {"jobs", 1, NULL, OPT_JOBS},       {"segments", 1, NULL, OPT_SEGMENTS},
    {"cover", 0, NULL, OPT_COVER},     {"twice", 0, NULL, OPT_TWICE},
    {"verbose", 0, NULL, OPT_VERBOSE}, {"no-shrink", 0, NULL, OPT_NO_SHRINK},
    {"without", 1, NULL, OPT_WITHOUT}, {"conns", 1, NULL, OPT_CONNS},
    {"until", 1, NULL, OPT_UNTIL},     {"trace", 1, NULL, OPT_TRACE},
    {"help", 0, NULL, OPT_HELP},       {NULL, 0, NULL, 0}};

static bool parse_one(struct runner *r, int which)
{
    switch (which) {
    case OPT_SEEDS:
        return parse_range(optarg, &r->first, &r->last);
    case OPT_SECONDS:
        r->seconds = strtoull(optarg, NULL, 0);
        return true;
    case OPT_JOBS:
        r->jobs = (unsigned)strtoul(optarg, NULL, 0);
        return r->jobs >= 1 && r->jobs <= JOBS_MAX;
    case OPT_SEGMENTS:
        r->segments = strtoull(optarg, NULL, 0);
        return true;
    case OPT_COVER:
        return r->cover = true;
    case OPT_TWICE:
        return r->twice = true;
    case OPT_VERBOSE:
        return r->verbose = true;
    case OPT_NO_SHRINK:
        return r->no_shrink = true;
    case OPT_WITHOUT:
        return parse_faults(optarg, &r->o.faults_off);
    case OPT_CONNS:
        return parse_conns(optarg, r->o.conns_off);
    case OPT_UNTIL:
        r->o.until_ns = strtoull(optarg, NULL, 0) * 1000000;
        return true;
    case OPT_TRACE:
        r->o.trace = optarg;
        return true;
    default:
        return false;
    }
}

static void start_dpdk(struct runner *r)
{
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10msim%d", (int)getpid());
    struct eal_params p = {.file_prefix = prefix, .memory_bytes = {128 << 20}};
    struct err e = {.text = ""};
    if (eal_start(&p, &e) != 0) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    r->pool = pkt_pool_create("sim", SIM_PACKETS, -1);
    r->shared = mmap(NULL, r->jobs * sizeof(*r->shared), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(r->pool != NULL && r->shared != MAP_FAILED);
}

int main(int argc, char **argv)
{
    struct runner r = {.first = 1, .last = 32, .jobs = 2, .self = argv[0]};
    for (int which; (which = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (which == OPT_HELP) {
            fputs(usage, stdout);
            return 0;
        }
        if (!parse_one(&r, which))
            return usage_error("bad option");
    }
    if (optind != argc)
        return usage_error("unexpected argument");
    start_dpdk(&r);
    const uint64_t begin = now_ns();
    run_all(&r);
    const double seconds = (double)(now_ns() - begin) / 1e9;
    unsigned missing = 0;
    if (r.cover)
        missing = print_cover(&r.seen);
    printf(
        "%llu seeds, %llu failed; %llu connections (%llu ends of them opened), %llu frames, %llu "
        "segments delivered in %.1f s: %.0f segments/s, %.0f a process\n",
        (unsigned long long)r.seeds, (unsigned long long)r.failed, (unsigned long long)r.conns,
        (unsigned long long)r.opened, (unsigned long long)r.frames, (unsigned long long)r.delivered,
        seconds, (double)r.delivered / seconds, (double)r.delivered / ((double)r.cpu_ns / 1e9));
    if (r.delivered < r.segments)
        printf("FAILED: fewer than %llu segments\n", (unsigned long long)r.segments);
    if (missing != 0)
        printf("FAILED: %u things were never reached\n", missing);
    eal_stop();
    return r.failed == 0 && r.delivered >= r.segments && missing == 0 ? 0 : 1;
}
