// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/dump/dump_files.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "c10m/tree.h"
#include "ctl/dump/dump_capture.h"
#include "pkt/port.h"
#include "worker/capture.h"
#include "worker/worker.h"

// named: a capture dump/NAME. node NULL: the entry was removed.
struct named {
    LIST_ENTRY(named) link;
    struct ctl_dump *owner;
    struct tree_node *node;
    struct capture *capture;
    bool has_reader, over;
    uint64_t made_ms;
    char name[DUMP_NAME_BYTES];
};

// of_port: the data of ports/NAME/dump.
struct of_port {
    struct ctl_dump *owner;
    unsigned ix;
};

struct ctl_dump {
    struct ctl_loop *loop;
    struct tree *tree;
    struct server *server;
    uint32_t ring_bytes;
    int timer;
    LIST_HEAD(named_list, named) named;
    uint64_t made, frames;  // number of captures so far; frames of those that have ended
    struct of_port ports[WORKER_PORTS_MAX];
};

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static struct capture *begin(struct ctl_dump *d, const struct capture_params *p)
{
    struct err e;
    struct capture *c = capture_new(d->server, p, &e);
    if (c == NULL)
        tree_refuse(0, "%s", e.text);
    else
        d->made++;
    return c;
}

static void end(struct ctl_dump *d, struct capture *c)
{
    if (c != NULL)
        d->frames += capture_frames(c);
    capture_free(c);
}

// port_mask: bits of the port, and of those on its link, whose frames are on its wire too.
static uint32_t port_mask(const struct server *s, unsigned ix)
{
    const struct server_params *p = server_params_of(s);
    uint32_t mask = 1u << ix;
    for (unsigned i = 0; i < p->n_ports; i++)
        if (server_parent(p, i) == (int)ix)
            mask |= 1u << i;
    return mask;
}

// ---- ports/NAME/dump

static int port_next(struct tree_out *out, void *cursor, void *data)
{
    const struct of_port *of = data;
    struct capture **c = cursor;
    const struct capture_params p = {.snap_bytes = CAPTURE_SNAP_MAX,
                                     .ports = port_mask(of->owner->server, of->ix),
                                     .directions = CAPTURE_IN | CAPTURE_OUT,
                                     .ring_bytes = of->owner->ring_bytes};
    if (*c == NULL)
        *c = begin(of->owner, &p);
    return *c == NULL ? -EBUSY : capture_next(*c, out);
}

static void port_done(void *cursor, void *data)
{
    struct capture **c = cursor;
    end(((const struct of_port *)data)->owner, *c);
}

// ---- dump/NAME

// Only one reader is allowed; its cursor is not zero.
static int named_next(struct tree_out *out, void *cursor, void *data)
{
    struct named *n = data;
    uint64_t *mine = cursor;
    if (n->over)
        return 0;
    if (*mine == 0 && n->has_reader)
        return tree_refuse(EBUSY, "the capture has a reader already");
    n->has_reader = true;
    *mine = 1;
    return capture_next(n->capture, out);
}

static void named_end(struct named *n)
{
    struct tree_node *node = n->node;
    if (n->over)
        return;
    n->over = true;
    LIST_REMOVE(n, link);
    end(n->owner, n->capture);
    n->capture = NULL;
    n->node = NULL;
    if (node != NULL)
        tree_remove_node(node);  // n may have been freed
}

static void named_done(void *cursor, void *data)
{
    if (*(const uint64_t *)cursor != 0)
        named_end(data);
}

static int named_write(const char *buf, size_t n, void *data)
{
    struct named *named = data;
    if (n < 4 || memcmp(buf, "stop", 4) != 0 || (n > 4 && !isspace((unsigned char)buf[4])))
        return tree_refuse(EINVAL, "expected: stop");
    if (!named->over)
        capture_stop(named->capture);
    return 0;
}

static void named_release(void *data)
{
    struct named *n = data;
    n->node = NULL;  // the entry is being removed
    named_end(n);
    free(n);
}

// ---- dump/new

// asked: the parsed request. Its strings point into the copied text.
struct asked {
    const char *name;
    struct capture_params p;
};

static bool number(const char *text, uint64_t min, uint64_t max, uint64_t *to)
{
    char *rest;
    errno = 0;
    const unsigned long long v = strtoull(text, &rest, 10);
    *to = v;
    return isdigit((unsigned char)text[0]) && *rest == '\0' && errno == 0 && v >= min && v <= max;
}

static int parse_port(const struct server *s, const char *name, struct asked *a)
{
    for (unsigned i = 0; i < server_params_of(s)->n_ports; i++)
        if (strcmp(server_port(s, i)->name, name) == 0) {
            a->p.ports |= port_mask(s, i);
            return 0;
        }
    return tree_refuse(EINVAL, "port: there is no \"%.32s\"", name);
}

static int parse_direction(const char *value, struct asked *a)
{
    static const char *const names[] = {[CAPTURE_IN] = "in", [CAPTURE_OUT] = "out", [3] = "both"};
    for (uint8_t i = 1; i < ARRAY_LEN(names); i++)
        if (strcmp(value, names[i]) == 0) {
            a->p.directions = i;
            return 0;
        }
    return tree_refuse(EINVAL, "direction: expected in, out or both, got \"%.32s\"", value);
}

static int parse_name(const char *value, struct asked *a)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const size_t n = strlen(value);
    if (n == 0 || n >= DUMP_NAME_BYTES || strspn(value, letters) != n)
        return tree_refuse(EINVAL, "name: expected 1 to %d letters, digits, - and _",
                           DUMP_NAME_BYTES - 1);
    a->name = value;
    return 0;
}

static int parse_line(const struct server *s, const char *key, const char *value, struct asked *a)
{
    uint64_t v;
    if (strcmp(key, "name") == 0)
        return parse_name(value, a);
    if (strcmp(key, "port") == 0)
        return parse_port(s, value, a);
    if (strcmp(key, "direction") == 0)
        return parse_direction(value, a);
    if (strcmp(key, "snaplen") == 0) {
        if (!number(value, 1, DUMP_SNAP_DEFAULT, &v))
            return tree_refuse(ERANGE, "snaplen: expected 1 to %d bytes", DUMP_SNAP_DEFAULT);
        a->p.snap_bytes = MIN((uint32_t)v, (uint32_t)CAPTURE_SNAP_MAX);
    } else if (strcmp(key, "count") == 0) {
        if (!number(value, 0, UINT64_MAX, &a->p.frames_max))
            return tree_refuse(ERANGE, "count: expected a number of frames, 0: no limit");
    } else if (strcmp(key, "program") == 0) {
        a->p.program = value;
    } else if (strcmp(key, "filter") == 0) {
        if (strlen(value) > DUMP_FILTER_BYTES_MAX)
            return tree_refuse(EINVAL, "filter: longer than %d bytes", DUMP_FILTER_BYTES_MAX);
        a->p.filter = value;
    } else {
        return tree_refuse(EINVAL,
                           "\"%.32s\": expected name, port, direction, snaplen, count, "
                           "program or filter",
                           key);
    }
    return 0;
}

static int parse_lines(const struct server *s, char *text, struct asked *a)
{
    char *save = NULL;
    int rc = 0;
    for (char *line = strtok_r(text, "\n", &save); line != NULL && rc == 0;
         line = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(line, ' ');
        if (value == NULL)
            return tree_refuse(EINVAL, "\"%.32s\": expected KEY VALUE in each line", line);
        *value++ = '\0';
        rc = parse_line(s, line, value, a);
    }
    if (rc == 0 && a->name == NULL)
        return tree_refuse(EINVAL, "name: missing");
    if (rc == 0 && a->p.filter != NULL && a->p.program == NULL)
        return tree_refuse(EINVAL, "filter: requires program");
    if (a->p.ports == 0)
        a->p.ports = (uint32_t)((UINT64_C(1) << server_params_of(s)->n_ports) - 1);
    return rc;
}

static int make(struct ctl_dump *d, const struct asked *a)
{
    static const struct tree_ops ops = {.next = named_next,
                                        .cursor_bytes = sizeof(uint64_t),
                                        .done = named_done,
                                        .write = named_write,
                                        .release = named_release};
    char path[DUMP_NAME_BYTES + 8];
    struct named *n = calloc(1, sizeof(*n));
    if (n == NULL)
        return -ENOMEM;
    n->owner = d;
    n->made_ms = clock_ms();
    strcpy(n->name, a->name);
    snprintf(path, sizeof(path), "dump/%s", n->name);
    n->capture = begin(d, &a->p);
    n->node = n->capture == NULL ? NULL : tree_file(tree_root(d->tree), path, 0600, &ops, n);
    if (n->node != NULL) {
        LIST_INSERT_HEAD(&d->named, n, link);
        return 0;
    }
    const int rc =
        n->capture == NULL ? -EINVAL : tree_refuse(errno, "%s", tree_error(tree_root(d->tree)));
    capture_free(n->capture);
    free(n);
    return rc;
}

static int new_write(const char *buf, size_t n, void *data)
{
    struct ctl_dump *d = data;
    struct asked a = {.p = {.snap_bytes = CAPTURE_SNAP_MAX,
                            .directions = CAPTURE_IN | CAPTURE_OUT,
                            .ring_bytes = d->ring_bytes}};
    if (memchr(buf, '\0', n) != NULL)
        return tree_refuse(EINVAL, "expected text");
    char *text = strndup(buf, n);
    if (text == NULL)
        return -ENOMEM;
    int rc = parse_lines(d->server, text, &a);
    if (rc == 0 && capture_readers_usage(d->server).dumps >= CAPTURE_READERS_MAX) {
        struct err e;
        capture_free(capture_new(d->server, &a.p, &e));  // counts the refusal
        rc = tree_refuse(EBUSY, "%s", e.text);
    }
    if (rc == 0)
        rc = make(d, &a);
    free(text);
    return rc;
}

static int new_read(struct tree_out *out, void *data)
{
    (void)data;
    return tree_printf(
        out,
        "# A write creates dump/NAME: a capture in pcapng for one reader. One KEY VALUE per "
        "line:\n"
        "#   name NAME          letters, digits, - and _; required\n"
        "#   port PORT          may be repeated (default: all ports)\n"
        "#   direction WAY      in, out or both (default)\n"
        "#   snaplen BYTES      most bytes of each frame (default %d)\n"
        "#   count FRAMES       number of frames (default 0: no limit)\n"
        "#   program N,CODE JT JF K,...   classic BPF, in the format of tcpdump -ddd\n"
        "#   filter TEXT        source of the program; only copied into the capture\n"
        "# Writing \"stop\" to dump/NAME ends the capture. c10m dump does all of this.\n",
        DUMP_SNAP_DEFAULT);
}

static int status_read(struct tree_out *out, void *data)
{
    const struct ctl_dump *d = data;
    const struct capture_readers_usage u = capture_readers_usage(d->server);
    const struct named *n;
    tree_printf(out,
                "captures_now %u\ncaptures_max %d\ncaptures_refused %llu\ncaptures_made %llu\n"
                "captures_held_by_a_worker_now %u\nring_bytes_now %llu\nframes_handed_over %llu\n",
                u.dumps, CAPTURE_READERS_MAX, (unsigned long long)u.refused,
                (unsigned long long)d->made, u.waiting, (unsigned long long)u.ring_bytes,
                (unsigned long long)d->frames);
    LIST_FOREACH(n, &d->named, link)
    {
        const struct capture_ring_counts c = capture_counts(n->capture);
        tree_printf(out, "%s_seen %llu\n%s_matched %llu\n%s_dropped %llu\n", n->name,
                    (unsigned long long)c.seen, n->name, (unsigned long long)c.matched, n->name,
                    (unsigned long long)c.dropped);
    }
    return 0;
}

// ---- start and stop

static void on_check(void *arg, uint64_t periods)
{
    struct ctl_dump *d = arg;
    (void)periods;
    capture_readers_reap(d->server);
    for (struct named *n = LIST_FIRST(&d->named), *next; n != NULL; n = next) {
        next = LIST_NEXT(n, link);
        if (!n->has_reader && clock_ms() - n->made_ms >= DUMP_UNREAD_MS)
            named_end(n);
    }
}

static int fill(struct ctl_dump *d)
{
    struct tree_node *root = tree_root(d->tree);
    const struct tree_ops of_new = {.read = new_read, .write = new_write};
    const struct tree_ops of_status = {.read = status_read};
    const struct tree_ops of_port = {
        .next = port_next, .done = port_done, .cursor_bytes = sizeof(struct capture *)};
    int rc = tree_file(root, "dump/new", 0600, &of_new, d) == NULL ||
             tree_file(root, "dump/status", 0444, &of_status, d) == NULL;
    for (unsigned i = 0; i < server_params_of(d->server)->n_ports && rc == 0; i++) {
        char path[PORT_NAME_BYTES + 16];
        d->ports[i] = (struct of_port){d, i};
        snprintf(path, sizeof(path), "ports/%s/dump", server_port(d->server, i)->name);
        rc = tree_file(root, path, 0400, &of_port, &d->ports[i]) == NULL;
    }
    return rc;
}

struct ctl_dump *ctl_dump_start(struct ctl_loop *loop, struct tree *t, struct server *s,
                                uint32_t ring_bytes, struct err *e)
{
    struct ctl_dump *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        err_set(e, "no memory");
        return NULL;
    }
    d->loop = loop;
    d->tree = t;
    d->server = s;
    d->ring_bytes = ring_bytes;
    LIST_INIT(&d->named);
    if (fill(d) != 0) {
        err_set(e, "control tree: %s", tree_error(tree_root(t)));
        free(d);
        return NULL;
    }
    d->timer = ctl_loop_timer(loop, DUMP_CHECK_MS, on_check, d, e);
    if (d->timer >= 0)
        return d;
    free(d);
    return NULL;
}

void ctl_dump_stop(struct ctl_dump *d)
{
    if (d == NULL)
        return;
    ctl_loop_remove(d->loop, d->timer);
    while (!LIST_EMPTY(&d->named))
        named_end(LIST_FIRST(&d->named));
    tree_remove(tree_root(d->tree), "dump");
    for (unsigned i = 0; i < server_params_of(d->server)->n_ports; i++) {
        char path[PORT_NAME_BYTES + 16];
        snprintf(path, sizeof(path), "ports/%s/dump", server_port(d->server, i)->name);
        tree_remove(tree_root(d->tree), path);
    }
    free(d);
}
