// SPDX-License-Identifier: BSD-3-Clause
// top_sample.c: reads a sample from the tree.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/top_model.h"

// Replaces the contents of `text` by those of a file.
static int read_file(struct top_source *s, const char *path, struct text *text)
{
    text->len = 0;
    text->error = 0;
    if (text->data != NULL)
        text->data[0] = '\0';
    return s->read(s, path, text);
}

// A missing file is not an error: its figures are unknown.
static int read_list(struct top_source *s, const char *path, struct text *text, struct top_list *l)
{
    top_list_clear(l);
    const int rc = read_file(s, path, text);
    if (rc == -ENOENT || rc == -EACCES)
        return 0;
    return rc != 0 ? rc : top_list_parse(l, text_str(text));
}

// The word after `state `, or "-" if it is malformed.
static void parse_state(const char *text, char state[TOP_STATE_BYTES])
{
    static const char head[] = "state ";
    size_t n = 0;
    if (strncmp(text, head, sizeof(head) - 1) == 0)
        for (const char *at = text + sizeof(head) - 1;
             n + 1 < TOP_STATE_BYTES && *at >= 'a' && *at <= 'z'; at++)
            state[n++] = *at;
    if (n == 0)
        state[n++] = '-';
    state[n] = '\0';
}

// The line that says where a worker is stalled.
static void parse_stalled(const char *text, char stalled[TOP_STALLED_BYTES])
{
    const char *line = strstr(text, "\nstalled for ");
    const int n = line == NULL ? 0 : (int)strcspn(line + 1, "\n");
    snprintf(stalled, TOP_STALLED_BYTES, "%.*s", n, line == NULL ? "" : line + 1);
}

static int read_core(struct top_source *s, struct top_core *c, struct text *text)
{
    char path[64];
    const struct {
        const char *file;
        struct top_list *list;
    } files[] = {{"state", &c->status},  {"counters", &c->counters}, {"drops", &c->drops},
                 {"cycles", &c->cycles}, {"latency", &c->latency},   {"queues", &c->queues},
                 {"pools", &c->pools}};
    for (unsigned i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof(path), "cores/%s/%s", c->name, files[i].file);
        const int rc = read_list(s, path, text, files[i].list);
        if (rc != 0)
            return rc;
        if (i == 0) {
            parse_state(files[i].list->present ? text_str(text) : "", c->state);
            parse_stalled(files[i].list->present ? text_str(text) : "", c->stalled);
        }
    }
    return 0;
}

static struct top_core *next_core(struct top_sample *sample)
{
    if (sample->n_cores == sample->room) {
        const unsigned room = sample->room == 0 ? 8 : sample->room * 2;
        struct top_core *cores = realloc(sample->cores, room * sizeof(*cores));
        if (cores == NULL)
            return NULL;
        memset(cores + sample->room, 0, (room - sample->room) * sizeof(*cores));
        sample->cores = cores;
        sample->room = room;
    }
    return &sample->cores[sample->n_cores];
}

// Names are numbers with an optional part after a point: 2 is before 10, and 2.1 after 2.
static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct top_core *)a)->name, ((const struct top_core *)b)->name);
}

static int read_cores(struct top_source *s, struct top_sample *sample, struct text *text)
{
    struct text names;
    text_init(&names, TOP_FILE_BYTES_MAX);
    int rc = s->list(s, "cores", &names);
    char *rest = names.data;
    sample->n_cores = 0;
    for (char *name; rc == 0 && (name = strsep(&rest, "\n")) != NULL;) {
        if (name[0] == '\0' || strlen(name) >= TOP_CORE_BYTES || sample->n_cores == TOP_CORES_MAX)
            continue;
        struct top_core *c = next_core(sample);
        if (c == NULL) {
            rc = -ENOMEM;
            break;
        }
        strcpy(c->name, name);
        rc = read_core(s, c, text);
        sample->n_cores += c->counters.present;
    }
    text_free(&names);
    if (rc == 0 && sample->n_cores > 1)
        qsort(sample->cores, sample->n_cores, sizeof(sample->cores[0]), by_name);
    return rc == -ENOENT ? -EPROTO : rc;
}

static int read_head(struct top_source *s, struct top_sample *sample, struct text *text)
{
    int rc = read_file(s, "version", text);
    if (rc != 0)
        return rc;
    snprintf(sample->version, sizeof(sample->version), "%.*s", (int)strcspn(text_str(text), "\n"),
             text_str(text));
    rc = read_file(s, "uptime", text);
    if (rc != 0)
        return rc == -ENOENT ? -EPROTO : rc;
    char *end;
    sample->uptime_s = strtod(text_str(text), &end);
    return end == text_str(text) || !(sample->uptime_s >= 0) ? -EPROTO : 0;
}

// The word after `NAME ` at the start of a line; "-": there is none.
static void word_of(const char *text, const char *name, char out[TOP_STATE_BYTES])
{
    const size_t n = strlen(name);
    snprintf(out, TOP_STATE_BYTES, "-");
    for (const char *at = text; at != NULL && *at != '\0';) {
        if (strncmp(at, name, n) == 0 && at[n] == ' ')
            snprintf(out, TOP_STATE_BYTES, "%.*s", (int)strcspn(at + n + 1, " \n"), at + n + 1);
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
}

static int read_item_file(struct top_source *s, const char *folder, const char *name,
                          const char *file, struct text *text, struct top_list *l)
{
    char path[2 * TOP_NAME_BYTES + 32];
    snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
    const int rc = read_list(s, path, text, l);
    if (rc == 0 && !l->present && text->data != NULL)
        text->data[0] = '\0';
    return rc;
}

static int read_service(struct top_source *s, struct top_item *it, struct text *text)
{
    int rc = read_item_file(s, "apps", it->name, "state", text, &it->status);
    if (rc == 0)
        word_of(text_str(text), "state", it->word);
    return rc != 0 ? rc : read_item_file(s, "apps", it->name, "counters", text, &it->counters);
}

static int read_port(struct top_source *s, struct top_item *it, struct text *text)
{
    int rc = read_item_file(s, "ports", it->name, "driver", text, &it->status);
    if (rc == 0)
        word_of(text_str(text), "driver", it->word);
    if (rc == 0)
        rc = read_item_file(s, "ports", it->name, "link", text, &it->status);
    if (rc == 0)
        word_of(text_str(text), "status", it->link);
    return rc != 0 ? rc : read_item_file(s, "ports", it->name, "counters", text, &it->counters);
}

static int read_items(struct top_source *s, const char *folder, struct top_items *items,
                      int (*one)(struct top_source *, struct top_item *, struct text *),
                      struct text *text)
{
    struct text names;
    text_init(&names, TOP_FILE_BYTES_MAX);
    int rc = s->list(s, folder, &names);
    char *rest = rc == 0 ? names.data : NULL;
    items->n = 0;
    if (items->at == NULL && rc == 0 &&
        (items->at = calloc(TOP_ITEMS_MAX, sizeof(*items->at))) == NULL)
        rc = -ENOMEM;
    for (char *name; rc == 0 && items->n < TOP_ITEMS_MAX && (name = strsep(&rest, "\n")) != NULL;) {
        struct top_item *it = &items->at[items->n];
        if (name[0] == '\0' || strlen(name) >= TOP_NAME_BYTES)
            continue;
        strcpy(it->name, name);
        rc = one(s, it, text);
        items->n += it->counters.present;
    }
    text_free(&names);
    return rc == -ENOENT ? 0 : rc;
}

static void free_items(struct top_items *items)
{
    for (unsigned i = 0; i < TOP_ITEMS_MAX && items->at != NULL; i++) {
        top_list_free(&items->at[i].status);
        top_list_free(&items->at[i].counters);
    }
    free(items->at);
}

// Terminates the line at *at, moves *at after it and returns the line; NULL at the end.
static char *next_line(char **at)
{
    char *line = strsep(at, "\n");
    return line == NULL || (line[0] == '\0' && *at == NULL) ? NULL : line;
}

// Parses lines SEVERITY SINCE SENTENCE, or a single word.
static void parse_verdicts(char *text, struct top_verdicts *v)
{
    *v = (struct top_verdicts){.told = true};
    for (char *line; (line = next_line(&text)) != NULL;) {
        const char *severity = strsep(&line, " ");
        if (line == NULL) {
            snprintf(v->word, sizeof(v->word), "%s", severity);
            continue;
        }
        strsep(&line, " ");
        if (line == NULL || v->n == TOP_VERDICTS_MAX) {
            v->more++;
            continue;
        }
        snprintf(v->at[v->n].severity, sizeof(v->at[0].severity), "%s", severity);
        snprintf(v->at[v->n++].sentence, sizeof(v->at[0].sentence), "%s", line);
    }
}

static int read_verdicts(struct top_source *s, struct top_sample *sample, struct text *text)
{
    sample->verdicts = (struct top_verdicts){0};
    const int rc = read_file(s, "verdict", text);
    if (rc == 0 && text->len > 0)
        parse_verdicts(text->data, &sample->verdicts);
    return rc == -ENOENT || rc == -EACCES ? 0 : rc;
}

// Reads lines NAME SIDE CAUSE HELP.
static int read_reasons(struct top_source *s, struct top_sample *sample, struct text *text)
{
    sample->n_reasons = 0;
    const int rc = read_file(s, "net/drop_reasons", text);
    if (rc == -ENOENT || rc == -EACCES || (rc == 0 && text->len == 0))
        return 0;
    if (rc == 0 && sample->reasons == NULL)
        sample->reasons = calloc(TOP_REASONS_MAX, sizeof(sample->reasons[0]));
    if (rc == 0 && sample->reasons == NULL)
        return -ENOMEM;
    char *at = rc == 0 ? text->data : NULL;
    for (char *line; (line = next_line(&at)) != NULL && sample->n_reasons < TOP_REASONS_MAX;) {
        struct top_reason *r = &sample->reasons[sample->n_reasons];
        const char *name = strsep(&line, " ");
        strsep(&line, " ");
        strsep(&line, " ");
        if (line == NULL)
            continue;
        snprintf(r->name, sizeof(r->name), "%s", name);
        snprintf(r->help, sizeof(r->help), "%s", line);
        sample->n_reasons++;
    }
    return rc;
}

const char *top_help(const struct top_sample *sample, const char *reason)
{
    for (unsigned i = 0; i < sample->n_reasons; i++)
        if (strcmp(sample->reasons[i].name, reason) == 0)
            return sample->reasons[i].help;
    return "";
}

int top_sample_take(struct top_sample *sample, struct top_source *s)
{
    struct text text;
    text_init(&text, TOP_FILE_BYTES_MAX);
    int rc = read_head(s, sample, &text);
    if (rc == 0)
        rc = read_cores(s, sample, &text);
    if (rc == 0)
        rc = read_list(s, "mem/arenas", &text, &sample->arenas);
    if (rc == 0)
        rc = read_list(s, "mem/pools", &text, &sample->pools);
    if (rc == 0)
        rc = read_verdicts(s, sample, &text);
    if (rc == 0)
        rc = read_reasons(s, sample, &text);
    if (rc == 0)
        rc = read_items(s, "apps", &sample->services, read_service, &text);
    if (rc == 0)
        rc = read_items(s, "ports", &sample->ports, read_port, &text);
    text_free(&text);
    return rc;
}

void top_sample_free(struct top_sample *sample)
{
    for (unsigned i = 0; i < sample->room; i++) {
        struct top_core *c = &sample->cores[i];
        struct top_list *lists[] = {&c->status,  &c->counters, &c->drops, &c->cycles,
                                    &c->latency, &c->queues,   &c->pools};
        for (unsigned k = 0; k < ARRAY_LEN(lists); k++)
            top_list_free(lists[k]);
    }
    free(sample->cores);
    free(sample->reasons);
    free_items(&sample->services);
    free_items(&sample->ports);
    top_list_free(&sample->arenas);
    top_list_free(&sample->pools);
    *sample = (struct top_sample){0};
}
