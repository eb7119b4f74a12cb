// SPDX-License-Identifier: BSD-3-Clause
// main.c: the command c10m, and c10m_main() for programs with other applications (c10m/main.h).
// Exit status: 0 done, 1 failed, 2 wrong usage or configuration; of serve 75: it ended to be
// started again.
#include "c10m/main.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "app/apps.h"
#include "base/log.h"
#include "base/log_target.h"
#include "base/signals.h"
#include "bench/bench_main.h"
#include "bench/costs.h"
#include "conf/host_list.h"
#include "conf/partial.h"
#include "conf/places.h"
#include "ctl/cli/cmd.h"
#include "ctl/cli/cmd_check.h"
#include "ctl/cli/cmd_clean.h"
#include "ctl/cli/cmd_plan.h"
#include "ctl/cli/cmd_reload.h"
#include "ctl/serve/serve.h"
#include "doctor/doctor_main.h"
#include "load/load_main.h"
#include "prof/prof_files.h"
#include "server/adoption_forecast.h"
#include "server/server_check.h"
#include "server/server_conf.h"
#include "server/server_fit.h"
#include "top/top_main.h"

enum { SETS_MAX = 256 };

// The built-in applications and those of c10m_main(), ended by NULL.
static const struct c10m_app *all_apps[APP_COUNT + C10M_OWN_APPS_MAX + 1];

struct conf_options {
    const char *file;
    char *sets[SETS_MAX];
    unsigned n_sets;
    bool measure, adoption;      // plan
    bool syntax;                 // check
    bool dry;                    // clean
    struct prof_files profiles;  // serve
    struct conf_places *places;
};

static const char conf_usage[] =
    "  -c, --config FILE         read this configuration (default: the defaults of the keys)\n"
    "  -s, --set SECTION.KEY=V   override one key of the configuration; may be repeated\n"
    "  -h, --help                print this text\n";

// adopt_set: the mode as a key of the configuration, of the last --adopt.
static char *adopt_set(const char *mode)
{
    static char set[64];
    snprintf(set, sizeof(set), "control.adopt=%s", mode);
    return set;
}

// Returns 0: continue; 1: print the help; 2: wrong usage.
static int parse_conf_options(int argc, char **argv, struct conf_options *o)
{
    const bool plan = strcmp(argv[0], "plan") == 0, check = strcmp(argv[0], "check") == 0,
               serve = strcmp(argv[0], "serve") == 0, clean = strcmp(argv[0], "clean") == 0;
    const struct option table[] = {{"config", required_argument, NULL, 'c'},
                                   {"set", required_argument, NULL, 's'},
                                   {"help", no_argument, NULL, 'h'},
                                   {"measure", no_argument, NULL, 'm'},
                                   {"syntax", no_argument, NULL, 'n'},
                                   {"dry-run", no_argument, NULL, 'd'},
                                   {"no-host", no_argument, NULL, 'n'},
                                   {"adopt", plan ? no_argument : required_argument, NULL, 'a'},
                                   PROF_FILES_OPTIONS('p'),
                                   {NULL, 0, NULL, 0}};  // --no-host: the former name of --syntax
    int c, index = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, "c:s:h", table, &index)) != -1) {
        if (c == 'c')
            o->file = optarg;
        else if (c == 's' && o->n_sets < SETS_MAX)
            o->sets[o->n_sets++] = optarg;
        else if (c == 'm' && plan)
            o->measure = true;
        else if (c == 'a' && plan)
            o->adoption = true;
        else if (c == 'n' && check)
            o->syntax = true;
        else if (c == 'd' && clean)
            o->dry = true;
        else if (c == 'a' && serve && o->n_sets < SETS_MAX)
            o->sets[o->n_sets++] = adopt_set(optarg);
        else if (c == 'p' && serve)
            o->profiles.paths[prof_files_option(table[index].name)] = optarg;
        else
            return c == 'h' ? 1 : 2;
    }
    if (optind == argc)
        return 0;
    fprintf(stderr, "c10m %s: %s: unexpected argument\n", argv[0], argv[optind]);
    return 2;
}

static void print_keys(void)
{
    struct text text;
    text_init(&text, 1 << 20);
    conf_help(&text);
    printf("\nEvery key, the values that it takes, and its default:\n\n%s", text_str(&text));
    text_free(&text);
}

// Returns 0, or -1 after printing all errors to stderr; o->places may be set then too.
static int read_conf(struct conf *c, struct conf_options *o)
{
    struct conf_errors errors;
    conf_errors_init(&errors);
    conf_places_free(o->places);
    const int bad = conf_load_parts(c, o->file, o->sets, o->n_sets, &errors, &o->places);
    if (bad != 0)
        fputs(text_str(&errors.lines), stderr);
    conf_errors_free(&errors);
    return bad != 0 ? -1 : 0;
}

// Parses the options into *o and reads the configuration into *c. Returns -1: continue; otherwise
// the exit status.
static int load_conf(int argc, char **argv, const char *what, struct conf *c,
                     struct conf_options *o)
{
    const int rc = parse_conf_options(argc, argv, o);
    if (rc != 0) {
        fprintf(rc == 1 ? stdout : stderr, "usage: c10m %s [OPTIONS]\n\n%s\n\n%s", argv[0], what,
                conf_usage);
        if (strcmp(argv[0], "plan") == 0)
            fputs(
                "      --measure             measure the costs for the packet budget on the first\n"
                "                            worker's CPU, which takes some seconds (default: use\n"
                "                            typical costs)\n"
                "      --adopt               say only which connections the next start would "
                "adopt;\n"
                "                            status 1: it would not adopt them\n",
                rc == 1 ? stdout : stderr);
        if (strcmp(argv[0], "serve") == 0)
            fputs("      --adopt MODE              [control] adopt: never, auto or "
                  "require\n" PROF_FILES_HELP,
                  rc == 1 ? stdout : stderr);
        if (strcmp(argv[0], "clean") == 0)
            fputs("      --dry-run             say what would be removed, and remove nothing\n",
                  rc == 1 ? stdout : stderr);
        if (strcmp(argv[0], "check") == 0)
            fputs(
                "      --syntax              check the text only, as for another machine: ignore "
                "the "
                "files,\n"
                "                            devices, hugepages, directories and addresses of this "
                "one\n",
                rc == 1 ? stdout : stderr);
        if (rc == 1 && strcmp(argv[0], "check") == 0)
            print_keys();
        return rc == 1 ? 0 : 2;
    }
    return read_conf(c, o) != 0 ? 2 : -1;
}

static void print_error(const struct conf_options *o, const char *before, const struct err *err)
{
    struct text place;
    text_init(&place, 2 * CONF_LINE_BYTES);
    conf_place(o->places, err->key, &place);
    fprintf(stderr, "%s%s%s\n", before, text_str(&place), err->text);
    text_free(&place);
}

static int params_of(const struct conf *c, const struct conf_options *o, struct server_params *p)
{
    struct err err;
    if (server_params_from(p, c, all_apps, &err) == 0)
        return 0;
    print_error(o, "", &err);
    return -1;
}

// check_machine: checks this machine and returns the number of errors. parts: the valid parts of
// the configuration; NULL: all.
static unsigned check_machine(const struct conf *c, struct server_params *p,
                              const struct conf_options *o, const struct conf_parts *parts)
{
    struct err err;
    const bool fits = (parts != NULL && !parts->memory) || server_fit_max(p, &err) == 0;
    if (!fits)
        print_error(o, "error: ", &err);
    if (p->connections == 0)
        server_fit_to(p, p->n_workers);
    return !fits + ctl_check(c, p, o->places, parts, stderr);
}

// check_rest: if the text has errors, checks this machine for the valid parts.
static void check_rest(const struct conf_options *o)
{
    static struct conf c;
    static struct server_params p;
    struct conf_parts parts;
    struct text left_out;
    struct err err;
    text_init(&left_out, 1 << 16);
    if (conf_partial(o->places, &c, &parts, &left_out) &&
        server_params_from(&p, &c, all_apps, &err) == 0) {
        check_machine(&c, &p, o, &parts);
        if (left_out.len != 0)
            fprintf(stderr, "warning: this machine was not checked for what depends on%s\n",
                    text_str(&left_out));
    }
    text_free(&left_out);
}

static int check_main(int argc, char **argv)
{
    static struct conf c;
    static struct server_params p;
    struct conf_options o = {0};
    const int rc = load_conf(
        argc, argv,
        "Check a configuration, and whether this machine can run it. Report every error.", &c, &o);
    if (rc == 2 && !o.syntax)
        check_rest(&o);
    if (rc >= 0)
        return rc;
    if (params_of(&c, &o, &p) != 0)
        return 2;
    const unsigned n = o.syntax ? 0 : check_machine(&c, &p, &o, NULL);
    if (n == 0)
        puts("ok");
    return n == 0 ? 0 : 1;
}

// The capacity with `connections = max`, independent of the configured number.
static int plan_capacity(const struct conf_options *like, struct text *text)
{
    static struct conf c;
    static struct server_params p;
    char max[] = "memory.connections=max";
    struct conf_options o = *like;
    if (o.n_sets == SETS_MAX)
        return 0;
    o.places = NULL;
    o.sets[o.n_sets++] = max;
    const int rc = read_conf(&c, &o) != 0 || params_of(&c, &o, &p) != 0 ? -1 : 0;
    conf_places_free(o.places);
    if (rc != 0)
        return -1;
    ctl_plan_capacity(&p, "/sys", "/proc", text);
    return 0;
}

// The cycle budget of a packet. Returns 0, or -1 with the reason on stderr.
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
    text_printf(
        text,
        measure
            ? "The costs were measured now, on CPU %u.\n"
            : "The costs are typical of server CPUs; the TSC frequency is that of this machine. "
              "With --measure they are measured on CPU %u.\n",
        p->worker_cpu[0]);
    text_printf(text, "Promised: 200 cycles of packet handling, 1,400 left to the application at 1 "
                      "M/s.\n");
    return 0;
}

// plan_adoption: with connections = max the next start has as many as fit after the present server
// has ended.
static int plan_adoption(struct server_params *p, const struct conf_options *o)
{
    struct err err;
    struct text text;
    if (p->connections == 0 && server_owner(p) != 0) {
        puts("adoption: with connections = max it is known only after the server has ended");
        return 1;
    }
    if (server_fit_max(p, &err) != 0) {
        print_error(o, "", &err);
        return 1;
    }
    text_init(&text, 1 << 16);
    const int adopts = adoption_forecast(p, &text);
    fputs(text_str(&text), stdout);
    text_free(&text);
    return adopts == 0 ? 0 : 1;
}

static int plan_main(int argc, char **argv)
{
    static struct conf c;
    static struct server_params p;
    struct conf_options o = {0};
    struct err err;
    const int rc = load_conf(
        argc, argv,
        "Print the cores, memory, capacity and packet budget of a configuration.\nNeeds no root.",
        &c, &o);
    if (rc >= 0)
        return rc;
    if (params_of(&c, &o, &p) != 0)
        return 2;
    if (o.adoption)
        return plan_adoption(&p, &o);
    struct text text;
    text_init(&text, 1 << 20);
    const int fit = server_fit_max(&p, &err);
    ctl_plan_cores(&p, "/sys", &text);
    text_printf(&text, "\n");
    if (fit != 0)
        server_fit_to(&p, p.n_workers);  // the smallest one
    ctl_plan(&p, &text);
    text_printf(&text, "\n");
    const int need = ctl_plan_need(&p, "/sys", "/proc", &text);
    const int capacity = plan_capacity(&o, &text);
    text_printf(&text, "\n");
    const int budget = plan_budget(&p, o.measure, &text);
    fputs(text_str(&text), stdout);
    text_free(&text);
    if (fit != 0)
        print_error(&o, "", &err);
    return need != 0 || capacity != 0 || budget != 0 ? 1 : 0;
}

// Logs the properties of this machine that will stop the server, before the server changes
// anything. The failing step later logs its own error.
static void log_machine(const struct conf *c, const struct server_params *p)
{
    struct text text;
    text_init(&text, 1 << 16);
    doctor_serve_check(c, p, &text);
    char *save = NULL, *line = text.len == 0 ? NULL : strtok_r(text.data, "\n", &save);
    for (; line != NULL; line = strtok_r(NULL, "\n", &save))
        log_line(LOG_WARN, "this machine: %s", line);
    text_free(&text);
}

static int serve_main(int argc, char **argv)
{
    static struct conf c;
    static struct server_params p;
    struct conf_options o = {0};
    struct err err;
    signals_hold();
    const int rc =
        load_conf(argc, argv, "Run the server until a signal or a drain ends it.", &c, &o);
    if (rc >= 0)
        return rc;
    log_set_level(c.control.log_level);
    if (log_target_set(c.control.log, (enum log_times)c.control.log_time, c.control.name, &err) !=
        0) {
        err_key(&err, "control.log");
        print_error(&o, "error: ", &err);
        return 1;
    }
    if (prof_files_open(&o.profiles, &err) != 0) {
        print_error(&o, "error: ", &err);
        return 2;
    }
    if (params_of(&c, &o, &p) != 0)
        return 2;
    if (server_has_ports(&p, &err) != 0) {
        print_error(&o, "error: ", &err);
        return 2;
    }
    if (server_fit_max(&p, &err) != 0) {
        print_error(&o, "error: ", &err);
        return 1;
    }
    log_machine(&c, &p);
    const struct ctl_conf from = {&c, o.file, o.sets, o.n_sets, o.places, &o.profiles};
    return ctl_serve(&from, &p, C10M_VERSION);
}

static int clean_main(int argc, char **argv)
{
    static struct conf c;
    struct conf_options o = {0};
    struct err err;
    struct text said;
    const int rc = load_conf(
        argc, argv,
        "Remove what a killed server left behind: mounts, files on hugetlbfs and in DPDK's\n"
        "directory, sockets, and locks of devices.",
        &c, &o);
    if (rc >= 0)
        return rc;
    text_init(&said, 1 << 16);
    const int cleaned = ctl_clean(&c, o.dry ? CLEAN_LOOK : CLEAN_ALL, &said, &err);
    fputs(said.len == 0 && cleaned == 0 ? "nothing to remove\n" : text_str(&said), stdout);
    text_free(&said);
    if (cleaned != 0)
        fprintf(stderr, "c10m clean: %s\n", err.text);
    return cleaned != 0 ? 1 : 0;
}

static int reload_main(int argc, char **argv)
{
    static struct conf c;
    struct conf_options o = {0};
    struct err err;
    struct text said;
    const int rc = load_conf(
        argc, argv,
        "Make a running server read its configuration again, and wait for the outcome. FILE names\n"
        "the control socket; an error in it is printed as by c10m check, and nothing changes.",
        &c, &o);
    if (rc >= 0)
        return rc;
    text_init(&said, 1 << 20);
    const int reloaded = ctl_reload(&c, &said, &err);
    fputs(text_str(&said), stdout);
    text_free(&said);
    if (reloaded != 0)
        fprintf(stderr, "c10m reload: %s\n", err.text);
    else
        puts("reloaded");
    return reloaded != 0 ? 1 : 0;
}

static int doctor_with_apps(int argc, char **argv)
{
    return doctor_main(argc, argv, all_apps);
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
    {"load", "generate load and compare every answer: hold, request, stream, rate, syn, udp",
     load_with_echo},
    {"top", "show a live view of a running server, core by core", top_main},
    {"plan", "print the cores, memory, capacity and packet budget of a configuration", plan_main},
    {"check", "check a configuration, and whether this machine can run it", check_main},
    {"doctor", "judge this machine for a configuration: check, fix, undo, explain",
     doctor_with_apps},
    {"reload", "make a running server read its configuration again", reload_main},
    {"clean", "remove what a killed server left behind", clean_main},
    {"bench", "measure this machine, parts of the server, or the whole server", bench_main},
    {"cat", "print entries of a running server's tree", ctl_cat_main},
    {"ls", "list entries of a running server's tree", ctl_ls_main},
    {"write", "write to an entry of a running server's tree", ctl_write_main},
    {"watch", "print entries of a running server's tree at an interval", ctl_watch_main},
    {"dump", "capture frames that a running server receives and sends", ctl_dump_main},
    {"report", "print a report on this machine and a running server, for the list of hardware",
     ctl_report_main},
    {"version", "print the version", version_main},
};

static int usage(FILE *to, int status)
{
    fprintf(to, "usage: c10m COMMAND [OPTIONS]   (c10m COMMAND --help lists its options)\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    return status;
}

// Returns 0, or -1 with the reason on stderr.
static int gather_apps(const struct c10m_app *const *own)
{
    unsigned n = 0;
    for (; n < APP_COUNT; n++)
        all_apps[n] = apps[n];
    for (; *own != NULL; own++) {
        if (n == APP_COUNT + C10M_OWN_APPS_MAX || !conf_apps_add((*own)->name)) {
            fprintf(
                stderr,
                "c10m: application \"%s\": expected at most %d applications with different names\n",
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
