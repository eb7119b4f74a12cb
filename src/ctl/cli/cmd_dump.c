// SPDX-License-Identifier: BSD-3-Clause
// cmd_dump.c: c10m dump. libpcap compiles the filter in this process, so that the server neither
// parses text nor resolves names. The server verifies the program and runs it.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pcap.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "ctl/cli/cmd.h"
#include "ctl/dump/dump_files.h"
#include "ctl/dump/dump_line.h"
#include "wire/pcapng.h"

enum { INTERFACES_MAX = 64, NEW_BYTES_MAX = 64 * 1024, OPT_DIRECTION = 256, OPT_SOCKET, OPT_TEXT };

struct options {
    const char *socket, *file;  // file NULL: standard output
    const char *direction;
    const char *ports[INTERFACES_MAX];
    unsigned n_ports;
    uint64_t count, snap_bytes;
    bool text;
    char filter[DUMP_FILTER_BYTES_MAX + 1];
};

// reading: the state of the received capture. held[0..n): an incomplete block.
struct reading {
    const struct options *o;
    const char *name;
    int fd;
    bool text, begun;
    unsigned n_interfaces;
    char interfaces[INTERFACES_MAX][64];
    uint64_t captured, received, accepted, dropped;
    bool has_statistics;
    size_t n;
    uint8_t held[PCAPNG_BLOCK_BYTES_MAX];
};

static const char usage[] =
    "usage: c10m dump [-i PORT]... [-w FILE] [-c COUNT] [-s SNAPLEN] [--direction WAY] [FILTER]\n"
    "\n"
    "Capture frames that a running server receives and sends. On a terminal, print one line for\n"
    "each frame; elsewhere, or with -w, write pcapng, which tcpdump and Wireshark read. FILTER "
    "has\n"
    "the syntax of tcpdump (pcap-filter(7)).\n"
    "\n"
    "  -i, --interface PORT      capture on this port; may be repeated (default: all ports)\n"
    "  -w, --write FILE          write pcapng to FILE; -: to standard output\n"
    "  -c, --count COUNT         end after COUNT frames (default: at Ctrl-C)\n"
    "  -s, --snaplen SNAPLEN     capture at most SNAPLEN bytes of each frame (default: all)\n"
    "      --direction WAY       capture frames received (in), sent (out) or both (default)\n"
    "      --text                print lines even if standard output is not a terminal\n"
    "      --socket SOCKET       connect to this socket of the server (default: $C10M_SOCKET, or\n"
    "                            " CTL_SOCKET_DEFAULT ")\n"
    "  -h, --help                print this text\n"
    "\n"
    "Ctrl-C ends the capture and keeps the frames captured so far.\n"
    "Exit status: 0 success, 1 failure, 2 invalid usage or filter.\n";

static int bad(const char *what, const char *value)
{
    fprintf(stderr, "c10m dump: %s: got \"%s\"\n", what, value);
    return 2;
}

static bool number(const char *text, uint64_t max, uint64_t *to)
{
    char *rest;
    errno = 0;
    *to = strtoull(text, &rest, 10);
    return text[0] >= '0' && text[0] <= '9' && *rest == '\0' && errno == 0 && *to >= 1 &&
           *to <= max;
}

// Joins the words after the options, as tcpdump does.
static int filter_get(char **words, struct options *o)
{
    size_t n = 0;
    for (; *words != NULL; words++) {
        const size_t len = strlen(*words);
        if (n + len + 2 > sizeof(o->filter)) {
            fprintf(stderr, "c10m dump: FILTER: expected at most %d characters\n",
                    DUMP_FILTER_BYTES_MAX);
            return 2;
        }
        if (n != 0)
            o->filter[n++] = ' ';
        memcpy(o->filter + n, *words, len + 1);
        n += len;
    }
    for (char *c = o->filter; *c != '\0'; c++)
        if (*c == '\n')  // of a here-document: line ends have no meaning in a filter
            *c = ' ';
    return -1;
}

static int option_take(int given, struct options *o)
{
    if (given == 'i' && o->n_ports == INTERFACES_MAX)
        return bad("--interface: too many", optarg);
    if (given == 'i')
        o->ports[o->n_ports++] = optarg;
    else if (given == 'w')
        o->file = optarg;
    else if (given == 'c' && !number(optarg, UINT64_MAX, &o->count))
        return bad("--count: expected a number of frames", optarg);
    else if (given == 's' && !number(optarg, DUMP_SNAP_DEFAULT, &o->snap_bytes))
        return bad("--snaplen: expected 1 to 262144 bytes", optarg);
    else if (given == OPT_DIRECTION) {
        o->direction = optarg;
        if (strcmp(optarg, "in") != 0 && strcmp(optarg, "out") != 0 && strcmp(optarg, "both") != 0)
            return bad("--direction: expected in, out or both", optarg);
    } else if (given == OPT_SOCKET)
        o->socket = optarg;
    else if (given == OPT_TEXT)
        o->text = true;
    else if (given == 'h' || given == '?') {
        fputs(usage, given == 'h' ? stdout : stderr);
        return given == 'h' ? 0 : 2;
    }
    return -1;
}

// options_get: returns -1: continue; otherwise the exit status.
static int options_get(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {{"interface", required_argument, NULL, 'i'},
                                          {"write", required_argument, NULL, 'w'},
                                          {"count", required_argument, NULL, 'c'},
                                          {"snaplen", required_argument, NULL, 's'},
                                          {"direction", required_argument, NULL, OPT_DIRECTION},
                                          {"socket", required_argument, NULL, OPT_SOCKET},
                                          {"text", no_argument, NULL, OPT_TEXT},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int given, rc = -1;
    *o = (struct options){.socket = ctl_cmd_socket(), .direction = "both", .snap_bytes = 262144};
    optind = 1;
    while (rc == -1 && (given = getopt_long(argc, argv, "+i:w:c:s:h", table, NULL)) != -1)
        rc = option_take(given, o);
    if (rc == -1)
        rc = filter_get(argv + optind, o);
    if (rc == -1 && o->file != NULL && o->text) {
        fprintf(stderr, "c10m dump: --text cannot be used with --write\n");
        return 2;
    }
    if (rc == -1 && o->file != NULL && strcmp(o->file, "-") == 0 && isatty(STDOUT_FILENO)) {
        fprintf(stderr, "c10m dump: --write -: standard output is a terminal\n");
        return 2;
    }
    return rc;
}

// ---- the request to the server

static void put_program(struct text *to, const struct bpf_program *b)
{
    text_printf(to, "program %u", b->bf_len);
    for (unsigned i = 0; i < b->bf_len; i++) {
        const struct bpf_insn *in = &b->bf_insns[i];
        text_printf(to, ",%u %u %u %u", in->code, in->jt, in->jf, in->k);
    }
    text_printf(to, "\n");
}

// put_filter: returns -1: continue; otherwise the exit status.
static int put_filter(struct text *to, const struct options *o)
{
    struct bpf_program b;
    if (strspn(o->filter, " \t") == strlen(o->filter))
        return -1;
    pcap_t *p = pcap_open_dead(DLT_EN10MB, (int)o->snap_bytes);
    if (p == NULL || pcap_compile(p, &b, o->filter, 1, PCAP_NETMASK_UNKNOWN) != 0) {
        fprintf(stderr, "c10m dump: FILTER: %s\n", p == NULL ? "no memory" : pcap_geterr(p));
        if (p != NULL)
            pcap_close(p);
        return p == NULL ? 1 : 2;
    }
    put_program(to, &b);
    text_printf(to, "filter %s\n", o->filter);
    pcap_freecode(&b);
    pcap_close(p);
    return -1;
}

static int put_new(struct text *to, const struct options *o, const char *name)
{
    text_printf(to, "name %s\nsnaplen %llu\ncount %llu\ndirection %s\n", name,
                (unsigned long long)o->snap_bytes, (unsigned long long)o->count, o->direction);
    for (unsigned i = 0; i < o->n_ports; i++)
        text_printf(to, "port %s\n", o->ports[i]);
    const int rc = put_filter(to, o);
    if (rc == -1 && to->error != 0) {
        fprintf(stderr, "c10m dump: FILTER: its program is too long\n");
        return 2;
    }
    return rc;
}

// ---- the end: the first signal stops the capture on the server, the second one ends the process

struct ending {
    const char *socket;
    char path[64];
    sigset_t signals;
};

static void *end_on_signal(void *arg)
{
    const struct ending *e = arg;
    struct ctl_client c;
    struct err err;
    int sig;
    if (sigwait(&e->signals, &sig) != 0)
        return NULL;
    if (ctl_client_open(&c, e->socket, CLIENT_TIMEOUT_MS, &err) == 0) {
        ctl_client_write(&c, e->path, "stop\n", 5, &err);
        ctl_client_close(&c);
    }
    if (sigwait(&e->signals, &sig) == 0)
        _exit(128 + sig);
    return NULL;
}

// Signals that the parent process ignores stay ignored: sigwait() would return them otherwise.
static void ending_start(struct ending *e)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    pthread_t thread;
    sigemptyset(&e->signals);
    for (unsigned i = 0; i < ARRAY_LEN(caught); i++) {
        struct sigaction before;
        if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaddset(&e->signals, caught[i]);
    }
    pthread_sigmask(SIG_BLOCK, &e->signals, NULL);
    if (pthread_create(&thread, NULL, end_on_signal, e) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &e->signals, NULL);
}

// ---- received data

static void show_packet(const struct reading *r, const struct pcapng_packet *p, const uint8_t *data)
{
    const time_t s = (time_t)(p->ns / 1000000000);
    struct tm tm;
    struct text line;
    localtime_r(&s, &tm);
    text_init(&line, 1024);
    text_printf(&line, "%02d:%02d:%02d.%06llu %-3s ", tm.tm_hour, tm.tm_min, tm.tm_sec,
                (unsigned long long)(p->ns % 1000000000 / 1000), p->out ? "out" : "in");
    if (r->n_interfaces > 1 && p->interface < r->n_interfaces)
        text_printf(&line, "%s ", r->interfaces[p->interface]);
    dump_line(&line, data, p->bytes);
    if (p->bytes < p->orig_bytes)
        text_printf(&line, " (%u of %u bytes)", p->bytes, p->orig_bytes);
    puts(text_str(&line));
    text_free(&line);
}

static void read_block(struct reading *r, const struct pcapng_block *b)
{
    struct pcapng_packet p;
    struct pcapng_statistics s;
    const uint8_t *data;
    if (pcapng_packet_get(b, &p, &data)) {
        r->captured++;
        if (r->text)
            show_packet(r, &p, data);
    } else if (pcapng_statistics_get(b, &s)) {
        r->has_statistics = true;
        r->received += s.received;
        r->accepted += s.accepted;
        r->dropped += s.dropped;
    } else if (r->n_interfaces < INTERFACES_MAX &&
               pcapng_interface_get(b, r->interfaces[r->n_interfaces], sizeof(r->interfaces[0]))) {
        r->n_interfaces++;
    }
}

// Returns 0, or -EPROTO: the data is not pcapng.
static int read_blocks(struct reading *r)
{
    struct pcapng_block b;
    size_t at = 0;
    int64_t n;
    while ((n = pcapng_block_get(r->held + at, r->n - at, &b)) > 0) {
        read_block(r, &b);
        at += (size_t)n;
    }
    memmove(r->held, r->held + at, r->n - at);
    r->n -= at;
    return n < 0 ? -EPROTO : 0;
}

// The first block of a capture arrives when every worker copies frames: all later frames are
// captured.
static int say_begun(struct reading *r)
{
    r->begun = true;
    if (!r->text && r->fd != STDOUT_FILENO && ftruncate(r->fd, 0) != 0 && errno != EINVAL)
        return -errno;
    fprintf(stderr, "c10m dump: capturing on");
    for (unsigned i = 0; i < r->n_interfaces; i++)
        fprintf(stderr, "%s %s", i == 0 ? "" : ",", r->interfaces[i]);
    fprintf(stderr, ", at most %llu bytes of a frame\n", (unsigned long long)r->o->snap_bytes);
    return 0;
}

static int sink(void *arg, const char *data, size_t n)
{
    struct reading *r = arg;
    int rc = 0;
    for (size_t done = 0; done < n && rc == 0;) {
        const size_t part = MIN(n - done, sizeof(r->held) - r->n);
        memcpy(r->held + r->n, data + done, part);
        r->n += part;
        done += part;
        rc = read_blocks(r);
        if (rc == 0 && !r->begun && r->n_interfaces != 0)
            rc = say_begun(r);
    }
    if (rc == 0 && r->text)
        rc = fflush(stdout) == 0 ? 0 : -errno;
    if (rc == 0 && !r->text)
        rc = io_write_all(r->fd, data, n);
    return rc;
}

static void say_end(const struct reading *r)
{
    fprintf(stderr, "%llu packets captured", (unsigned long long)r->captured);
    if (r->has_statistics)
        fprintf(stderr, ", %llu of %llu accepted by the filter, %llu dropped",
                (unsigned long long)r->accepted, (unsigned long long)r->received,
                (unsigned long long)r->dropped);
    fputc('\n', stderr);
}

// An existing file is truncated when the capture begins, not before.
static int file_open(const struct options *o)
{
    if (o->file == NULL || strcmp(o->file, "-") == 0)
        return STDOUT_FILENO;
    const int fd = open(o->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        fprintf(stderr, "c10m dump: %s: %s\n", o->file, strerror(errno));
    return fd;
}

static int capture(struct ctl_client *c, const struct options *o, const char *name, struct err *e)
{
    static struct reading r;
    static struct ending ending;
    r.o = o;
    r.fd = file_open(o);
    r.text = o->text || (o->file == NULL && isatty(STDOUT_FILENO));
    if (r.fd < 0)
        return 1;
    ending.socket = o->socket;
    snprintf(ending.path, sizeof(ending.path), "dump/%s", name);
    ending_start(&ending);
    ctl_client_timeout(c, 0);  // there may be no frames for a long time
    const int rc = ctl_client_read(c, ending.path, 0, 0, sink, &r, e);
    if (rc != 0)
        fprintf(stderr, "c10m dump: %s\n", e->text);
    if (r.begun)
        say_end(&r);
    if (r.fd == STDOUT_FILENO || close(r.fd) == 0)
        return rc == 0 ? 0 : 1;
    fprintf(stderr, "c10m dump: %s: %s\n", o->file, strerror(errno));
    return 1;
}

int ctl_dump_main(int argc, char **argv)
{
    static struct options o;
    struct ctl_client c;
    struct text ask;
    struct err e;
    char name[DUMP_NAME_BYTES];
    int status = options_get(argc, argv, &o);
    if (status != -1)
        return status;
    signal(SIGPIPE, SIG_IGN);  // write() returns EPIPE
    snprintf(name, sizeof(name), "p%d", (int)getpid());
    text_init(&ask, NEW_BYTES_MAX);
    status = put_new(&ask, &o, name);
    if (status == -1 && ctl_client_open(&c, o.socket, CLIENT_TIMEOUT_MS, &e) != 0) {
        fprintf(stderr, "c10m dump: %s\n", e.text);
        status = 1;
    } else if (status == -1) {
        if (ctl_client_write(&c, "dump/new", text_str(&ask), ask.len, &e) != 0) {
            fprintf(stderr, "c10m dump: %s\n", e.text);
            status = 1;
        } else {
            status = capture(&c, &o, name, &e);
        }
        ctl_client_close(&c);
    }
    text_free(&ask);
    return status;
}
