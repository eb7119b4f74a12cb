#include "bench/bench_main.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "bench/measure.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
    (void)sig;
    interrupted = 1;
}

bool bench_interrupted(void)
{
    return interrupted != 0;
}

// The first signal ends the measurement and gives back what was reserved, the second one at once.
// What the caller ignores (a shell's background job) stays ignored.
static void catch_signals(void)
{
    static const int caught[] = {SIGINT, SIGTERM};
    const struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
    for (unsigned i = 0; i < ARRAY_LEN(caught); i++) {
        struct sigaction before;
        if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(caught[i], &act, NULL);
    }
}

static const struct {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} benches[] = {
    {"roofline", "the memory work of a TCP echo and nothing else: the limit of a server",
     bench_roofline},
    {"echo", "the server's echo beside that limit, in the same run", bench_echo},
};

enum { BENCHES = sizeof(benches) / sizeof(benches[0]) };

static int usage(FILE *to, int status)
{
    fprintf(to, "usage: c10m bench BENCHMARK [OPTIONS]   (BENCHMARK --help lists its options)\n");
    for (int i = 0; i < BENCHES; i++)
        fprintf(to, "  %-10s %s\n", benches[i].name, benches[i].help);
    return status;
}

int bench_main(int argc, char **argv)
{
    if (argc < 2)
        return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return usage(stdout, 0);
    for (int i = 0; i < BENCHES; i++)
        if (strcmp(argv[1], benches[i].name) == 0) {
            catch_signals();
            return benches[i].run(argc - 1, argv + 1);
        }
    fprintf(stderr, "c10m bench: no benchmark \"%s\"\n", argv[1]);
    return usage(stderr, 2);
}
