// SPDX-License-Identifier: BSD-3-Clause
// main.c: the command, also of programs with applications of their own (c10m/main.h). Exit 0 done,
// 1 failed, 2 bad usage or configuration.
#include "c10m/main.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "app/apps.h"
#include "base/log.h"
#include "base/signals.h"
#include "bench/bench_main.h"
#include "bench/costs.h"
#include "conf/host_list.h"
#include "ctl/cli/cmd.h"
#include "ctl/cli/cmd_check.h"
#include "ctl/cli/cmd_clean.h"
#include "ctl/cli/cmd_plan.h"
#include "ctl/serve/serve.h"
#include "load/load_main.h"
#include "server/server_conf.h"
#include "server/server_fit.h"
#include "top/top_main.h"

enum { SETS_MAX = 256, APPS_MAX = 16 };

// The built-in applications and those of the program, ended by NULL.
static const struct c10m_app *all_apps[APPS_MAX + C10M_OWN_APPS_MAX + 1];

struct conf_options {
    const char *file;
    char *sets[SETS_MAX];
    unsigned n_sets;
    bool measure;  // plan
    bool no_host;  // check
};

static const char conf_usage[] =
    "  -c, --config FILE         configuration (see config/default.conf)\n"
    "  -s, --set SECTION.KEY=V   overrides one key; may be repeated\n"
    "  -h, --help                this text\n";

// 0: go on; 1: help was asked for; 2: bad usage.
static int parse_conf_options(int argc, char **argv, struct conf_options *o)
{
    static const struct option table[] = {
        {"config", required_argument, NULL, 'c'}, {"set", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},         {"measure", no_argument, NULL, 'm'},
        {"no-host", no_argument, NULL, 'n'},      {NULL, 0, NULL, 0}};
    const bool plan = strcmp(argv[0], "plan") == 0, check = strcmp(argv[0], "check") == 0;
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "c:s:h", table, NULL)) != -1) {
        if (c == 'c')
            o->file = optarg;
        else if (c == 's' && o->n_sets < SETS_MAX)
            o->sets[o->n_sets++] = optarg;
        else if (c == 'm' && plan)
            o->measure = true;
        else if (c == 'n' && check)
            o->no_host = true;
        else
            return c == 'h' ? 1 : 2;
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "c10m %s: %s: no such argument\n", argv[0], argv[optind]);
    return 2;
}

static void print_keys(void)
{
    struct text text;
    text_init(&text, 1 << 20);
    conf_help(&text);
    printf("\nEvery key, what it takes, and its default:\n\n%s", text_str(&text));
    text_free(&text);
}

// 0, or -1 with every error on stderr.
static int read_conf(struct conf *c, struct conf_options *o)
{
    struct conf_errors errors;
    conf_errors_init(&errors);
    const int bad = conf_load(c, o->file, o->sets, o->n_sets, &errors);
    if (bad != 0)
        fputs(text_str(&errors.lines), stderr);
    conf_errors_free(&errors);
    return bad != 0 ? -1 : 0;
}

// Reads options and configuration; *c is what was asked for. -1: go on; else the exit status.
// `o` keeps the options.
static int load_conf(int argc, char **argv, const char *what, struct conf *c,
                     struct conf_options *o)
{
    const int rc = parse_conf_options(argc, argv, o);
    if (rc != 0) {
        fprintf(rc == 1 ? stdout : stderr, "usage: c10m %s [OPTIONS]   %s\n\n%s", argv[0], what,
                conf_usage);
        if (strcmp(argv[0], "plan") == 0)
            fputs(
                "      --measure             the budget from costs measured on the first worker's "
                "CPU (seconds)\n",
                rc == 1 ? stdout : stderr);
        if (strcmp(argv[0], "check") == 0)
            fputs("      --no-host             the configuration alone, for another machine: no "
                  "files, devices,\n"
                  "                            pages, directories or addresses of this one\n",
                  rc == 1 ? stdout : stderr);
        if (rc == 1 && strcmp(argv[0], "check") == 0)
            print_keys();
        return rc == 1 ? 0 : 2;
    }
    return read_conf(c, o) != 0 ? 2 : -1;
}

static int params_of(const struct conf *c, struct server_params *p)
{
    struct err err;
    if (server_params_from(p, c, all_apps, &err) == 0)
        return 0;
    fprintf(stderr, "c10m: %s\n", err.text);
    return -1;
}

static int check_main(int argc, char **argv)
{
    static struct conf c;
    static struct server_params p;
    struct conf_options o = {0};
    struct err err;
    const int rc = load_conf(
        argc, argv, "checks a configuration, and this machine for it; reports every error", &c, &o);
    if (rc >= 0)
        return rc;
    if (params_of(&c, &p) != 0)
        return 2;
    if (!o.no_host && server_fit_max(&p, &err) != 0) {
        fprintf(stderr, "warning: %s\n", err.text);
        server_fit_to(&p, p.n_workers);
    }
    if (!o.no_host && ctl_check(&c, &p, stderr) != 0)
        return 1;
    puts("ok");
    return 0;
}

// As `connections = max` would have it, whatever the configuration says.
static int plan_capacity(struct conf_options *o, struct text *text)
{
    static struct conf c;
    static struct server_params p;
    char max[] = "memory.connections=max";
    if (o->n_sets == SETS_MAX)
        return 0;
    o->sets[o->n_sets++] = max;
    if (read_conf(&c, o) != 0 || params_of(&c, &p) != 0)
        return -1;
    ctl_plan_capacity(&p, "/sys", "/proc", text);
    return 0;
}

// The budget of a packet: 0, or -1 with the reason on stderr.
static int plan_budget(const struct server_params *p, bool measure, struct text *text)
{
    struct machine_costs costs;
    struct err err;
    if (!measure)
        costs = costs_typical();
    else if (machine_costs_measure(p->worker_cpu[0], p->linux_cpu, &costs, &err) != 0) {
        fprintf(stderr, "c10m plan: --measure: %s\n", err.text);
        return -1;
    }
    costs_budget(&costs, text);
    text_printf(text,
                measure ? "Costs measured now, on CPU %u.\n"
                        : "Costs are typical of server CPUs, the TSC is this machine's; "
                          "--measure measures them on CPU %u.\n",
                p->worker_cpu[0]);
    text_printf(text, "Promised: 200 cycles of packet handling, 1,400 left to the application at 1 "
                      "M/s.\n");
    return 0;
}

static int plan_main(int argc, char **argv)
{
    static struct conf c;
    static struct server_params p;
    struct conf_options o = {0};
    struct err err;
    const int rc =
        load_conf(argc, argv, "cores, memory and budget of a configuration; needs no root", &c, &o);
    if (rc >= 0)
        return rc;
    if (params_of(&c, &p) != 0)
        return 2;
    struct text text;
    text_init(&text, 1 << 20);
    const int fit = server_fit_max(&p, &err);
    ctl_plan_cores(&p, "/sys", &text);
    text_printf(&text, "\n");
    if (fit == 0) {
        ctl_plan(&p, &text);
        text_printf(&text, "\n");
    }
    const int capacity = plan_capacity(&o, &text);
    text_printf(&text, "\n");
    const int budget = plan_budget(&p, o.measure, &text);
    fputs(text_str(&text), stdout);
    text_free(&text);
    if (fit != 0)
        fprintf(stderr, "c10m plan: %s\n", err.text);
    return fit != 0 || capacity != 0 || budget != 0 ? 1 : 0;
}

static int serve_main(int argc, char **argv)
{
    static struct conf c;
    static struct server_params p;
    struct conf_options o = {0};
    struct err err;
    signals_hold();
    const int rc = load_conf(argc, argv, "runs the server", &c, &o);
    if (rc >= 0)
        return rc;
    log_set_level(c.control.log_level);
    if (params_of(&c, &p) != 0)
        return 2;
    if (p.n_ports == 0) {
        fprintf(stderr, "c10m serve: no [port NAME] is configured: begin with -c "
                        "config/quickstart.conf\n");
        return 2;
    }
    if (server_fit_max(&p, &err) != 0) {
        fprintf(stderr, "c10m serve: %s\n", err.text);
        return 1;
    }
    const struct ctl_conf from = {&c, o.file, o.sets, o.n_sets};
    return ctl_serve(&from, &p, C10M_VERSION);
}

static int clean_main(int argc, char **argv)
{
    static struct conf c;
    struct conf_options o = {0};
    struct err err;
    struct text said;
    const int rc =
        load_conf(argc, argv,
                  "removes what a killed server left: mounts, files on hugetlbfs and in DPDK's "
                  "directory, sockets",
                  &c, &o);
    if (rc >= 0)
        return rc;
    text_init(&said, 1 << 16);
    const int cleaned = ctl_clean(&c, &said, &err);
    fputs(said.len == 0 && cleaned == 0 ? "nothing to remove\n" : text_str(&said), stdout);
    text_free(&said);
    if (cleaned != 0)
        fprintf(stderr, "c10m clean: %s\n", err.text);
    return cleaned != 0 ? 1 : 0;
}

static int load_with_echo(int argc, char **argv)
{
    return load_main(argc, argv, all_apps);
}

static int version_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("c10m " C10M_VERSION);
    return 0;
}

static const struct {
    const char *name, *help;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"serve", "run the server", serve_main},
    {"load", "generate load: hold, request, stream, rate, syn, udp", load_with_echo},
    {"top", "live view of a running server, core by core", top_main},
    {"plan", "cores, memory, capacity and packet budget of a configuration", plan_main},
    {"check", "check a configuration", check_main},
    {"clean", "remove what a killed server left behind", clean_main},
    {"bench", "benchmarks: of the machine, of the parts, of the whole", bench_main},
    {"cat", "print entries of a running server's tree", ctl_cat_main},
    {"ls", "list a running server's tree", ctl_ls_main},
    {"write", "write to an entry of a running server's tree", ctl_write_main},
    {"watch", "print entries again and again", ctl_watch_main},
    {"dump", "frames that a running server receives and sends: pcapng", ctl_dump_main},
    {"version", "print the version", version_main},
};

static int usage(FILE *to, int status)
{
    fprintf(to, "usage: c10m COMMAND [OPTIONS]   (c10m COMMAND --help lists its options)\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    return status;
}

// 0, or -1 with the reason on stderr.
static int gather_apps(const struct c10m_app *const *own)
{
    unsigned n = 0;
    for (unsigned i = 0; apps[i] != NULL && n < APPS_MAX; i++)
        all_apps[n++] = apps[i];
    for (const unsigned built_in = n; *own != NULL; own++) {
        if (n == built_in + C10M_OWN_APPS_MAX || !conf_apps_add((*own)->name)) {
            fprintf(stderr, "c10m: application \"%s\": at most %d, each with a name of its own\n",
                    (*own)->name, C10M_OWN_APPS_MAX);
            return -1;
        }
        all_apps[n++] = *own;
    }
    return 0;
}

int c10m_main(int argc, char **argv, const struct c10m_app *const *own)
{
    if (gather_apps(own) != 0)
        return 2;
    if (argc < 2)
        return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return usage(stdout, 0);
    if (strcmp(argv[1], "--version") == 0)
        return version_main(argc, argv);
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "c10m: no command \"%s\"\n", argv[1]);
    return usage(stderr, 2);
}
