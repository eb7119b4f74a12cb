// SPDX-License-Identifier: BSD-3-Clause
// pkt_run: runs packet scripts.
//
//   pkt_run [--verbose] [--coverage] [--self-test] [--first] [--family 4|6] FILE|FOLDER...
//
// A folder stands for all scripts in it and below it but those of folders named use and fail.
// --coverage: every way of the state table has to be taken by some script, and every RFC that the
// stack follows has to be named by one. --self-test: every
// script has to fail, with the text that its first line gives behind "fails:". --first: ends at the
// first one that fails.
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pkt_exec.h"

enum { FILES_MAX = 4096, FAMILIES = 2 };

struct options {
    bool verbose, coverage, self_test, first;
    int family;  // 0: both
};

struct files {
    char *path[FILES_MAX];
    unsigned n;
};

static void add_path(struct files *f, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        CHECK(f->n < FILES_MAX);
        f->path[f->n++] = strdup(path);
        return;
    }
    struct dirent **names;
    const int n = scandir(path, &names, NULL, alphasort);
    CHECK(n >= 0);
    for (int i = 0; i < n; i++) {
        char below[PKT_TEXT_MAX];
        const char *name = names[i]->d_name, *dot = strrchr(name, '.');
        const bool script = dot != NULL && strcmp(dot, ".pkt") == 0;
        snprintf(below, sizeof(below), "%s/%s", path, name);
        const bool folder = stat(below, &st) == 0 && S_ISDIR(st.st_mode) && name[0] != '.' &&
                            strcmp(name, "use") != 0 && strcmp(name, "fail") != 0;
        if (script || folder)
            add_path(f, below);
        free(names[i]);
    }
    free(names);
}

// The stack's own checks abort: say where.
static void on_abort(int sig)
{
    const struct pkt_line *at = pkt_at;
    char text[PKT_TEXT_MAX];
    if (at != NULL) {
        const int n = snprintf(text, sizeof(text), "%s:%u: the stack stopped itself here\n",
                               at->file, at->line);
        (void)!write(STDERR_FILENO, text, (size_t)n);
    }
    signal(sig, SIG_DFL);
    raise(sig);
}

static bool has(const struct pkt_script *s, enum pkt_verb verb, int64_t n)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->lines[i].verb == verb && (n == 0 || s->lines[i].n[0] == n))
            return true;
    return false;
}

// Runs the script in each way that it and the options allow. Returns how often, 0: it failed.
static unsigned run_all_ways(const struct pkt_script *s, const struct options *o, char *error)
{
    static const int families[FAMILIES] = {4, 6};
    unsigned runs = 0;
    for (unsigned i = 0; i < FAMILIES; i++) {
        const int other = families[!i];
        if ((o->family != 0 && o->family != families[i]) || has(s, PKT_FAMILY, other))
            continue;
        for (int ts = 0; ts <= has(s, PKT_VARIANTS, 0); ts++, runs++) {
            const struct pkt_how how = {.family = families[i], .timestamps = ts};
            if (pkt_exec(s, &how, error))
                continue;
            const size_t n = strlen(error);
            snprintf(error + n, PKT_TEXT_MAX, "\n  (IPv%d%s)", how.family,
                     ts ? ", timestamps" : "");
            return 0;
        }
    }
    return runs;
}

// The claim: the first line, into claim[PKT_TEXT_MAX].
static void read_claim(const char *path, char *claim)
{
    FILE *f = fopen(path, "r");
    claim[0] = 0;
    if (f == NULL)
        return;
    if (fgets(claim, PKT_TEXT_MAX, f) == NULL)
        claim[0] = 0;
    fclose(f);
    claim[strcspn(claim, "\n")] = 0;
}

// The text behind "fails:" in the first line.
static bool fails_as_it_says(const char *path, const char *error)
{
    char first[PKT_TEXT_MAX];
    read_claim(path, first);
    const char *text = strstr(first, "fails: ");
    return text != NULL && error[0] != 0 && strstr(error, text + strlen("fails: ")) != NULL;
}

static bool one_file(const char *path, const struct options *o, unsigned *runs)
{
    char error[PKT_TEXT_MAX * 4] = "";
    struct pkt_script s;
    unsigned n = 0;
    if (!pkt_parse(&s, path))
        snprintf(error, sizeof(error), "%s", s.error);
    else
        n = run_all_ways(&s, o, error);
    pkt_script_free(&s);
    *runs += n;
    const bool ok = o->self_test ? fails_as_it_says(path, error) : n != 0 || error[0] == 0;
    if (!ok)
        printf("FAILED %s\n%s\n", path, error[0] != 0 ? error : "ran to its end");
    else if (o->verbose)
        printf("ok %s\n%s%s", path, error, error[0] != 0 ? "\n" : "");
    return ok;
}

// The state table with how often each way was taken. False: one was not.
static bool print_coverage(void)
{
    unsigned taken = 0, all = 0;
    for (unsigned state = 0; state < TCP_STATE_COUNT; state++)
        for (unsigned step = 0; step < STEP_COUNT; step++) {
            const int to = tcp_state_next((enum tcp_state)state, (enum tcp_step)step);
            if (to < 0)
                continue;
            all++;
            taken += pkt_steps[state][step] != 0;
            printf("  %-12s %-12s -> %-12s %llu\n", tcp_state_name((enum tcp_state)state),
                   pkt_step_names[step], tcp_state_name((enum tcp_state)to),
                   (unsigned long long)pkt_steps[state][step]);
        }
    printf("%u of %u ways of the state table taken\n", taken, all);
    return taken == all;
}

// The RFCs of docs/tcp.md with the number of scripts whose claims name them. False: one has none.
static bool print_rfcs(const struct files *files)
{
    static const unsigned rfcs[] = {1122, 1191, 1337, 2018, 2883, 2923, 3042, 3168, 3465, 4987,
                                    5482, 5681, 5927, 5961, 6093, 6191, 6298, 6429, 6528, 6582,
                                    6675, 6691, 6928, 7323, 7661, 8201, 8961, 9293, 4821};
    unsigned count[ARRAY_LEN(rfcs)] = {0}, missing = 0;
    for (unsigned i = 0; i < files->n; i++) {
        char claim[PKT_TEXT_MAX], name[16];
        read_claim(files->path[i], claim);
        for (unsigned k = 0; k < ARRAY_LEN(rfcs); k++) {
            snprintf(name, sizeof(name), "RFC %u", rfcs[k]);
            count[k] += strstr(claim, name) != NULL;
        }
    }
    for (unsigned k = 0; k < ARRAY_LEN(rfcs); k++) {
        printf("  RFC %-4u %u scripts\n", rfcs[k], count[k]);
        missing += count[k] == 0;
    }
    return missing == 0;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: pkt_run [--verbose] [--coverage] [--self-test] [--first] [--family 4|6] "
            "PATH...\n");
    return 2;
}

int main(int argc, char **argv)
{
    static struct files files;
    struct options o = {.family = 0};
    unsigned failed = 0, runs = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0)
            o.verbose = true;
        else if (strcmp(argv[i], "--coverage") == 0)
            o.coverage = true;
        else if (strcmp(argv[i], "--self-test") == 0)
            o.self_test = true;
        else if (strcmp(argv[i], "--first") == 0)
            o.first = true;
        else if (strcmp(argv[i], "--family") == 0 && i + 1 < argc)
            o.family = atoi(argv[++i]);
        else if (argv[i][0] == '-')
            return usage();
        else
            add_path(&files, argv[i]);
    }
    if (files.n == 0)
        return usage();
    signal(SIGABRT, on_abort);
    for (unsigned i = 0; i < files.n && !(o.first && failed != 0); i++)
        failed += !one_file(files.path[i], &o, &runs);
    if (o.coverage)
        failed += !print_coverage() + !print_rfcs(&files);
    printf("%u scripts, %u runs, %u failed\n", files.n, runs, failed);
    for (unsigned i = 0; i < files.n; i++)
        free(files.path[i]);
    return failed != 0;
}
