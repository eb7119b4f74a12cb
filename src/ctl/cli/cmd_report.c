// SPDX-License-Identifier: BSD-3-Clause
// cmd_report.c: `c10m report`: a text about the machine, the NIC, the server and a test, for the
// list of tested hardware. It names ports and services by number, and copies only the values listed
// here from the tree, so that it contains nothing private.
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/cli/cmd.h"
#include "ctl/cli/report_machine.h"

enum { TREE_TEXT_BYTES_MAX = 1 << 20, REPORT_BYTES_MAX = 1 << 20, NAME_BYTES = 64, LIST_MAX = 64 };

struct report {
    struct ctl_client client;
    struct text *out;
};

// names of the entries of a directory
struct name_list {
    char names[LIST_MAX][NAME_BYTES];
    unsigned n;
};

static void add_name(void *arg, const struct wire_entry *entry)
{
    struct name_list *list = arg;
    if (list->n < LIST_MAX && entry->name_bytes < NAME_BYTES) {
        memcpy(list->names[list->n], entry->name, entry->name_bytes);
        list->names[list->n++][entry->name_bytes] = '\0';
    }
}

// Copies lines `name value` from a file of the tree: those whose name is listed, or, with listed
// NULL, those whose value is not 0. A missing file adds nothing.
static void copy_lines(struct report *r, const char *path, const char *const *listed)
{
    struct text file;
    struct err e;
    text_init(&file, TREE_TEXT_BYTES_MAX);
    if (ctl_client_get(&r->client, path, &file, &e) == 0 && file.data != NULL) {
        char *rest = file.data;
        for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
            const size_t n = strcspn(line, " ");
            bool wanted = listed == NULL && line[n] == ' ' && strcmp(line + n, " 0") != 0;
            for (unsigned i = 0; listed != NULL && listed[i] != NULL; i++)
                wanted |= strlen(listed[i]) == n && strncmp(line, listed[i], n) == 0;
            if (wanted)
                text_printf(r->out, "%s\n", line);
        }
    }
    text_free(&file);
}

// The value of one line of a file of the tree; "" if it is missing.
static void value_of(struct report *r, const char *path, const char *name, char *out, size_t room)
{
    const char *const only[] = {name, NULL};
    struct text line, *whole = r->out;
    text_init(&line, TREE_TEXT_BYTES_MAX);
    r->out = &line;
    copy_lines(r, path, only);
    r->out = whole;
    const char *blank = strchr(text_str(&line), ' ');
    snprintf(out, room, "%.*s", blank != NULL ? (int)strcspn(blank + 1, "\n") : 0,
             blank != NULL ? blank + 1 : "");
    text_free(&line);
}

static void put_port(struct report *r, const char *name, unsigned number)
{
    static const char *const driver[] = {"driver",     "dpdk_driver", "firmware", "node",
                                         "queues_max", "rx_ring",     "tx_ring",  NULL};
    static const char *const rss[] = {"queues", "spread_by", "table_entries", NULL};
    char path[256], device[NAME_BYTES];
    text_printf(r->out, "\n[port %u]\n", number);
    snprintf(path, sizeof(path), "ports/%s/driver", name);
    copy_lines(r, path, driver);
    value_of(r, path, "device", device, sizeof(device));
    report_nic("/sys", device, r->out);
    snprintf(path, sizeof(path), "ports/%s/link", name);
    copy_lines(r, path, NULL);
    snprintf(path, sizeof(path), "ports/%s/offloads", name);
    copy_lines(r, path, NULL);
    snprintf(path, sizeof(path), "ports/%s/rss", name);
    copy_lines(r, path, rss);
    snprintf(path, sizeof(path), "ports/%s/counters", name);
    copy_lines(r, path, NULL);
    snprintf(path, sizeof(path), "ports/%s/xstats", name);
    copy_lines(r, path, NULL);
}

static void put_core(struct report *r, const char *name)
{
    static const char *const state[] = {"state", "node", "connections_max", NULL};
    static const char *const cycles[] = {
        "handling_cycles_per_packet", "useful_percent", "packets_per_s",
        "headroom_packets",           "tsc_hz",         NULL};
    static const char *const latency[] = {"packets",       "p50_ns",      "p99_ns",
                                          "p99_9_ns",      "max_ns",      "idle_p99_ns",
                                          "idle_p99_9_ns", "idle_max_ns", NULL};
    const struct {
        const char *file;
        const char *const *lines;
    } parts[] = {{"state", state},
                 {"cycles", cycles},
                 {"latency", latency},
                 {"counters", NULL},
                 {"drops", NULL}};
    text_printf(r->out, "\n[core %s]\n", name);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        char path[256];
        snprintf(path, sizeof(path), "cores/%s/%s", name, parts[i].file);
        copy_lines(r, path, parts[i].lines);
    }
}

static void put_service(struct report *r, const char *name, unsigned number)
{
    static const char *const state[] = {"application", "connections_now", "connections_max", NULL};
    char path[256];
    text_printf(r->out, "\n[service %u]\n", number);
    snprintf(path, sizeof(path), "apps/%s/state", name);
    copy_lines(r, path, state);
    snprintf(path, sizeof(path), "apps/%s/counters", name);
    copy_lines(r, path, NULL);
}

static void put_server(struct report *r)
{
    static const char *const arenas[] = {"total_reserved_bytes", "arena_page_bytes", "connections",
                                         "per_connection_bytes", NULL};
    static struct name_list list;
    struct err e;
    text_printf(r->out, "\n[server]\n");
    copy_lines(r, "version", NULL);
    copy_lines(r, "uptime", NULL);
    copy_lines(r, "mem/arenas", arenas);
    list.n = 0;
    ctl_client_list(&r->client, "ports", add_name, &list, &e);
    for (unsigned i = 0; i < list.n; i++)
        put_port(r, list.names[i], i);
    list.n = 0;
    ctl_client_list(&r->client, "cores", add_name, &list, &e);
    for (unsigned i = 0; i < list.n; i++)
        put_core(r, list.names[i]);
    list.n = 0;
    ctl_client_list(&r->client, "apps", add_name, &list, &e);
    for (unsigned i = 0; i < list.n; i++)
        put_service(r, list.names[i], i);
}

static const char form[] =
    "\n[to fill in]\n"
    "nic_name                  # the vendor's name, and the type of cable or module\n"
    "generator_machine         # CPU and NIC of the load generator\n"
    "generator_tool            # name and version\n"
    "test                      # file of config/pktgen, config/dperf or config/trex\n"
    "generator_sent_per_s\n"
    "generator_received_per_s\n"
    "generator_lost\n"
    "remarks\n";

static void print_usage(FILE *to)
{
    fputs("usage: c10m report [-s SOCKET]\n\n"
          "Print a report on this machine, its NIC and a running server, for the list of tested\n"
          "hardware. It contains no address, name or serial number. Without a server it describes\n"
          "the machine only.\n\n"
          "  -s, --socket SOCKET       connect to this socket of the server (default: "
          "$C10M_SOCKET, or\n"
          "                            " CTL_SOCKET_DEFAULT ")\n"
          "  -h, --help                print this text\n"
          "\nExit status: 0 success, 1 no server answers, 2 invalid usage.\n",
          to);
}

static int options_get(int argc, char **argv, const char **socket)
{
    static const struct option table[] = {{"socket", required_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int given;
    optind = 1;
    while ((given = getopt_long(argc, argv, "+s:h", table, NULL)) != -1) {
        if (given != 's') {
            print_usage(given == 'h' ? stdout : stderr);
            return given == 'h' ? 0 : 2;
        }
        *socket = optarg;
    }
    if (optind == argc)
        return -1;
    fprintf(stderr, "c10m report: %s: unexpected argument\n\n", argv[optind]);
    print_usage(stderr);
    return 2;
}

int ctl_report_main(int argc, char **argv)
{
    const char *socket = ctl_cmd_socket();
    struct report r = {.client = {.fd = -1}};
    struct text out;
    struct err e;
    const int status = options_get(argc, argv, &socket);
    if (status >= 0)
        return status;
    text_init(&out, REPORT_BYTES_MAX);
    r.out = &out;
    text_printf(&out, "# c10m report 1\n\n[machine]\n");
    report_machine("/sys", "/proc", &out);
    const bool answers = ctl_client_open(&r.client, socket, CLIENT_TIMEOUT_MS, &e) == 0;
    if (answers)
        put_server(&r);
    ctl_client_close(&r.client);
    text_printf(&out, "%s", form);
    fputs(text_str(&out), stdout);
    if (!answers)
        fprintf(stderr, "c10m report: %s: the report describes the machine only\n", e.text);
    else if (out.error != 0)
        fprintf(stderr, "c10m report: the report is too long and incomplete\n");
    text_free(&out);
    return answers && out.error == 0 ? 0 : 1;
}
