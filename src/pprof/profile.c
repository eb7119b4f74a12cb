// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/profile.h"

#include <stdlib.h>
#include <string.h>

#include "pprof/profile_internal.h"

enum { VALUES_FIRST = 64, COMMENT_BYTES_MAX = 64 * 1024 };

// key: of the sample that is being added.
struct key {
    struct packed_sample head;
    uint8_t rest[PROFILE_DEPTH_MAX * sizeof(struct packed_frame) +
                 PROFILE_LABELS_MAX * sizeof(struct packed_label)];
};

static_assert(sizeof(struct packed_sample) % sizeof(uint64_t) == 0 &&
                  sizeof(struct packed_frame) % sizeof(uint64_t) == 0 &&
                  sizeof(struct packed_label) % sizeof(uint64_t) == 0,
              "keys follow each other and stay aligned");

// put: a new key only if there are fewer bytes of keys than the limit.
static uint32_t put(struct intern *t, const void *key, size_t n, size_t bytes_max)
{
    return t->n_bytes + n <= bytes_max ? intern_put(t, key, n) : intern_find(t, key, n);
}

static uint32_t string(struct profile *p, const char *text)
{
    return text == NULL ? 0 : put(&p->strings, text, strlen(text) + 1, PROFILE_STRING_BYTES_MAX);
}

struct profile *profile_new(const struct profile_params *params)
{
    struct profile *p = calloc(1, sizeof(*p));
    CHECK(params->n_types >= 1 && params->n_types <= PROFILE_TYPES_MAX);
    if (p == NULL)
        return NULL;
    p->params = *params;
    text_init(&p->comments, COMMENT_BYTES_MAX);
    bool good = string(p, "") == 0;
    for (unsigned i = 0; i < params->n_types; i++) {
        p->types[i] = string(p, params->types[i].type);
        p->units[i] = string(p, params->types[i].unit);
        good = good && p->types[i] != INTERN_FAILED && p->units[i] != INTERN_FAILED;
    }
    p->period_type = string(p, params->period_type.type);
    p->period_unit = string(p, params->period_type.unit);
    if (good && p->period_type != INTERN_FAILED && p->period_unit != INTERN_FAILED)
        return p;
    profile_free(p);
    return NULL;
}

void profile_free(struct profile *p)
{
    if (p == NULL)
        return;
    intern_free(&p->strings);
    intern_free(&p->samples);
    text_free(&p->comments);
    free(p->values);
    free(p);
}

static bool pack_frame(struct profile *p, const struct profile_frame *f, struct packed_frame *out)
{
    *out = (struct packed_frame){.address = f->address, .line = f->line};
    if (f->address != 0)
        return true;
    out->function = string(p, f->function);
    out->file = string(p, f->file);
    return out->function != INTERN_FAILED && out->file != INTERN_FAILED;
}

static bool pack_label(struct profile *p, const struct profile_label *l, struct packed_label *out)
{
    *out = (struct packed_label){.key = string(p, l->key),
                                 .text = string(p, l->text),
                                 .unit = string(p, l->unit),
                                 .number = l->text == NULL ? l->number : 0};
    return out->key != INTERN_FAILED && out->text != INTERN_FAILED && out->unit != INTERN_FAILED;
}

// pack: bytes of the key; 0: no memory.
static size_t pack(struct profile *p, const struct profile_sample *s, struct key *key)
{
    key->head = (struct packed_sample){.depth = MIN(s->depth, (unsigned)PROFILE_DEPTH_MAX),
                                       .n_labels = MIN(s->n_labels, (unsigned)PROFILE_LABELS_MAX)};
    struct packed_frame *frames = (struct packed_frame *)key->rest;
    struct packed_label *labels = (struct packed_label *)(frames + key->head.depth);
    for (unsigned i = 0; i < key->head.depth; i++)
        if (!pack_frame(p, &s->stack[i], &frames[i]))
            return 0;
    for (unsigned i = 0; i < key->head.n_labels; i++)
        if (!pack_label(p, &s->labels[i], &labels[i]))
            return 0;
    return (size_t)((uint8_t *)(labels + key->head.n_labels) - (uint8_t *)key);
}

static bool room_for_values(struct profile *p)
{
    if (p->samples.n < p->values_room)
        return true;
    const uint32_t room = p->values_room == 0 ? VALUES_FIRST : 2 * p->values_room;
    int64_t *values = realloc(p->values, room * p->params.n_types * sizeof(*values));
    if (values == NULL)
        return false;
    p->values = values;
    p->values_room = room;
    return true;
}

// sample_of: the number of the sample, possibly a new one; INTERN_FAILED: no room.
static uint32_t sample_of(struct profile *p, const struct profile_sample *s)
{
    struct key key;
    const size_t n = pack(p, s, &key);
    if (n == 0 || !room_for_values(p))
        return INTERN_FAILED;
    if (p->samples.n == PROFILE_SAMPLES_MAX)
        return intern_find(&p->samples, &key, n);
    const uint32_t before = p->samples.n;
    const uint32_t at = put(&p->samples, &key, n, PROFILE_KEY_BYTES_MAX);
    if (at == before)
        memset(&p->values[at * p->params.n_types], 0, p->params.n_types * sizeof(*p->values));
    return at;
}

void profile_add(struct profile *p, const struct profile_sample *s)
{
    const uint32_t at = sample_of(p, s);
    if (at == INTERN_FAILED) {
        p->lost++;
        return;
    }
    for (unsigned i = 0; i < p->params.n_types; i++)
        p->values[at * p->params.n_types + i] += s->values[i];
}

void profile_lose(struct profile *p, uint64_t n)
{
    p->lost += n;
}

uint64_t profile_lost(const struct profile *p)
{
    return p->lost;
}

void profile_took(struct profile *p, int64_t duration_ns)
{
    p->params.duration_ns = duration_ns;
}

void profile_comment(struct profile *p, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    text_vprintf(&p->comments, format, ap);
    va_end(ap);
    text_put(&p->comments, "", 1);
}
