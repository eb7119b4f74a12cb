// SPDX-License-Identifier: BSD-3-Clause
// The numbers of fields are those of profile.proto. A message inside a message is written to `part`
// first, because its length comes before it.
#include "pprof/profile_encode.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "pprof/profile_internal.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };  // protobuf's wire types

enum {  // fields of Profile
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
};

// encoder: mappings, functions and locations are numbered from 1; 0 is none. strings begins as the
// profile's table, so that its numbers stay.
struct encoder {
    const struct profile *p;
    struct symbols *symbols;
    struct intern strings, mappings, functions, locations;
    struct text out, part, deep;
    bool failed;
};

static void varint(struct text *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        text_put(out, &(uint8_t){(uint8_t)(v | 0x80)}, 1);
    text_put(out, &(uint8_t){(uint8_t)v}, 1);
}

static void field(struct text *out, unsigned number, uint64_t v)
{
    if (v == 0)  // the default of proto3
        return;
    varint(out, number << 3 | WIRE_VARINT);
    varint(out, v);
}

static void field_bytes(struct text *out, unsigned number, const void *data, size_t n)
{
    varint(out, number << 3 | WIRE_BYTES);
    varint(out, n);
    text_put(out, data, n);
}

// field_text: what was written to `from` is field `number`; `from` is then empty.
static void field_text(struct text *out, unsigned number, struct text *from)
{
    field_bytes(out, number, text_str(from), from->len);
    from->len = 0;
}

static uint64_t number_of(struct encoder *e, struct intern *t, const void *key, size_t n)
{
    const uint32_t i = intern_put(t, key, n);
    e->failed |= i == INTERN_FAILED;
    return i == INTERN_FAILED ? 0 : i;
}

static uint64_t string(struct encoder *e, const char *text)
{
    return text == NULL ? 0 : number_of(e, &e->strings, text, strlen(text) + 1);
}

static void value_type(struct encoder *e, unsigned number, uint64_t type, uint64_t unit)
{
    field(&e->part, 1, type);
    field(&e->part, 2, unit);
    field_text(&e->out, number, &e->part);
}

static void mapping(struct encoder *e, uint64_t id, const struct symbol_mapping *m)
{
    field(&e->part, 1, id);
    field(&e->part, 2, m->start);
    field(&e->part, 3, m->limit);
    field(&e->part, 4, m->offset);
    field(&e->part, 5, string(e, m->file));
    field(&e->part, 6, string(e, m->build_id));
    for (unsigned has = 7; has <= 10; has++)  // functions, files, lines, inlined frames
        field(&e->part, has, 1);
    field_text(&e->out, PROFILE_MAPPING, &e->part);
}

// mapping_id: of the file that is mapped at this address; 0: none.
static uint64_t mapping_id(struct encoder *e, uint64_t address)
{
    struct symbol_mapping m;
    if (e->symbols == NULL || !symbols_mapping(e->symbols, address, &m))
        return 0;
    const uint32_t before = e->mappings.n;
    const uint64_t id = number_of(e, &e->mappings, &m.start, sizeof(m.start)) + 1;
    if (e->mappings.n != before)
        mapping(e, id, &m);
    return id;
}

struct function_key {
    uint64_t name, linked, file, first_line;
};

static uint64_t function_id(struct encoder *e, const struct function_key *f)
{
    const uint32_t before = e->functions.n;
    const uint64_t id = number_of(e, &e->functions, f, sizeof(*f)) + 1;
    if (e->functions.n == before)
        return id;
    struct text *part = &e->deep;
    const size_t at = part->len;  // a line is being written before it
    field(part, 1, id);
    field(part, 2, f->name);
    field(part, 3, f->linked);
    field(part, 4, f->file);
    field(part, 5, f->first_line);
    field_bytes(&e->out, PROFILE_FUNCTION, text_str(part) + at, part->len - at);
    part->len = at;
    return id;
}

static void line(struct encoder *e, const struct function_key *f, unsigned number)
{
    const uint64_t id = function_id(e, f);
    field(&e->deep, 1, id);
    field(&e->deep, 2, number);
    field_text(&e->part, 4, &e->deep);
}

static void lines_of_code(struct encoder *e, uint64_t address)
{
    struct symbol_frame frames[SYMBOL_INLINED_MAX];
    const unsigned n =
        e->symbols == NULL ? 0 : symbols_at(e->symbols, address, frames, SYMBOL_INLINED_MAX);
    for (unsigned i = 0; i < n; i++) {
        const struct symbol_frame *s = &frames[i];
        line(e,
             &(struct function_key){string(e, s->function), string(e, s->linked),
                                    string(e, s->file), s->first_line},
             s->line);
    }
}

static uint64_t location_id(struct encoder *e, const struct packed_frame *f)
{
    const uint32_t before = e->locations.n;
    const uint64_t id = number_of(e, &e->locations, f, sizeof(*f)) + 1;
    if (e->locations.n == before)
        return id;
    const uint64_t map = f->address == 0 ? 0 : mapping_id(e, f->address);
    field(&e->part, 1, id);
    field(&e->part, 2, map);
    field(&e->part, 3, f->address);
    if (f->address != 0)
        lines_of_code(e, f->address);
    else
        line(e, &(struct function_key){f->function, f->function, f->file, 0}, f->line);
    field_text(&e->out, PROFILE_LOCATION, &e->part);
    return id;
}

static void label(struct encoder *e, const struct packed_label *l)
{
    field(&e->deep, 1, l->key);
    field(&e->deep, 2, l->text);
    field(&e->deep, 3, (uint64_t)l->number);
    field(&e->deep, 4, l->unit);
    field_text(&e->part, 3, &e->deep);
}

static void sample(struct encoder *e, uint32_t i)
{
    const struct profile *p = e->p;
    const struct packed_sample *s = packed_sample(p, i);
    uint64_t ids[PROFILE_DEPTH_MAX];
    for (unsigned k = 0; k < s->depth; k++)
        ids[k] = location_id(e, &packed_frames(s)[k]);
    for (unsigned k = 0; k < s->depth; k++)
        varint(&e->deep, ids[k]);
    field_text(&e->part, 1, &e->deep);
    for (unsigned k = 0; k < p->params.n_types; k++)
        varint(&e->deep, (uint64_t)p->values[i * p->params.n_types + k]);
    field_text(&e->part, 2, &e->deep);
    for (unsigned k = 0; k < s->n_labels; k++)
        label(e, &packed_labels(s)[k]);
    field_text(&e->out, PROFILE_SAMPLE, &e->part);
}

static void comments(struct encoder *e)
{
    const struct text *c = &e->p->comments;
    for (size_t at = 0; at < c->len; at += strlen(c->data + at) + 1)
        field(&e->out, PROFILE_COMMENT, string(e, c->data + at));
}

// main_mapping: pprof takes the first mapping for that of the program.
static void main_mapping(struct encoder *e)
{
    mapping_id(e, (uintptr_t)main_mapping);
}

static void message(struct encoder *e)
{
    const struct profile *p = e->p;
    main_mapping(e);
    for (unsigned i = 0; i < p->params.n_types; i++)
        value_type(e, PROFILE_SAMPLE_TYPE, p->types[i], p->units[i]);
    for (uint32_t i = 0; i < p->samples.n && e->out.error == 0; i++)
        if (!packed_is_zero(p, i))
            sample(e, i);
    field(&e->out, PROFILE_TIME_NANOS, (uint64_t)p->params.time_ns);
    field(&e->out, PROFILE_DURATION_NANOS, (uint64_t)p->params.duration_ns);
    if (p->period_type != 0)
        value_type(e, PROFILE_PERIOD_TYPE, p->period_type, p->period_unit);
    field(&e->out, PROFILE_PERIOD, (uint64_t)p->params.period);
    field(&e->out, PROFILE_DEFAULT_TYPE, p->types[p->params.default_type]);
    comments(e);
    for (uint32_t i = 0; i < e->strings.n; i++) {
        const char *text = intern_get(&e->strings, i, NULL);
        field_bytes(&e->out, PROFILE_STRING, text, strlen(text));
    }
}

static int pack_gzip(const struct text *from, struct text *out)
{
    enum { GZIP = 16 };  // windowBits: with gzip's header
    uint8_t piece[16 * 1024];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)text_str(from), .avail_in = (uInt)from->len};
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS | GZIP, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return out->error = -ENOMEM;
    for (int rc = Z_OK; rc == Z_OK;) {
        z.next_out = piece;
        z.avail_out = sizeof(piece);
        rc = deflate(&z, Z_FINISH);
        text_put(out, piece, sizeof(piece) - z.avail_out);
    }
    deflateEnd(&z);
    return out->error;
}

// copy_strings: the encoder's table begins with the profile's.
static void copy_strings(struct encoder *e)
{
    for (uint32_t i = 0; i < e->p->strings.n; i++)
        string(e, packed_string(e->p, i));
}

int profile_encode(const struct profile *p, struct symbols *symbols, struct text *out)
{
    struct encoder e = {.p = p, .symbols = symbols};
    text_init(&e.out, PROFILE_BYTES_MAX);
    e.out.budget = out->budget;  // it is as large as the result before compression
    text_init(&e.part, PROFILE_BYTES_MAX);
    text_init(&e.deep, PROFILE_BYTES_MAX);
    copy_strings(&e);
    message(&e);
    if (e.failed || e.part.error != 0 || e.deep.error != 0)
        out->error = -ENOMEM;
    else if (e.out.error != 0)
        out->error = e.out.error;
    else
        pack_gzip(&e.out, out);
    struct intern *const interns[] = {&e.strings, &e.mappings, &e.functions, &e.locations};
    for (unsigned i = 0; i < ARRAY_LEN(interns); i++)
        intern_free(interns[i]);
    text_free(&e.out);
    text_free(&e.part);
    text_free(&e.deep);
    return out->error;
}
