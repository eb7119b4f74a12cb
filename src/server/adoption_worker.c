// SPDX-License-Identifier: BSD-3-Clause
#include "server/adoption_worker.h"

#include <stdio.h>
#include <string.h>

#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(struct worker, name), sizeof(((struct worker *)0)->name)                   \
    }

static const struct {
    const char *name;
    size_t at, bytes;
} fields[] = {
    FIELD(state),      FIELD(at),        FIELD(tcp.now),       FIELD(tcp.touched),
    FIELD(tcp.pruned), FIELD(rx.n_segs), FIELD(sock.n_others), FIELD(sock.others),
    FIELD(found),      FIELD(verdicts),  FIELD(homes.local),
};
_Static_assert(ARRAY_LEN(fields) == WORKER_FIELDS, "worker_places has a place for each");

static const char STRUCT[] = "worker ", OF_FIELD[] = "worker.", VALUES[] = "worker.values ";

// values: what hand_list() reads out of the fields.
static void values(char line[128])
{
    snprintf(line, 128, "%stcp_input %d app %d idle %d verdict %zu conn %zu found %d", VALUES,
             STAGE_tcp_input, STAGE_app, WORKER_IDLE, sizeof(struct tcp_verdict),
             sizeof(struct c10m_conn), FLOW_BLOCK);
}

void adoption_worker_lines(struct text *out)
{
    text_printf(out, "%s%zu\n", STRUCT, sizeof(struct worker));
    for (unsigned i = 0; i < WORKER_FIELDS; i++)
        text_printf(out, "%s%s %zu %zu\n", OF_FIELD, fields[i].name, fields[i].at, fields[i].bytes);
    char line[128];
    values(line);
    text_printf(out, "%s\n", line);
}

bool adoption_worker_line(const char *line)
{
    return strncmp(line, STRUCT, sizeof(STRUCT) - 1) == 0 ||
           strncmp(line, OF_FIELD, sizeof(OF_FIELD) - 1) == 0;
}

static int read_struct(struct worker_places *p, const char *line)
{
    unsigned long long bytes;
    if (p->bytes != 0 || sscanf(line, "worker %llu", &bytes) != 1)
        return -1;
    p->bytes = bytes;
    return 0;
}

static int read_field(struct worker_places *p, const char *name, uint64_t at, uint64_t bytes)
{
    for (unsigned i = 0; i < WORKER_FIELDS; i++) {
        if (strcmp(name, fields[i].name) != 0)
            continue;
        if (bytes != fields[i].bytes || (p->known & 1u << i))
            return -1;
        p->at[i] = at;
        p->known |= 1u << i;
        return 0;
    }
    return 0;  // that process told more than this one asks
}

static int read_values(struct worker_places *p, const char *line)
{
    char own[128];
    values(own);
    p->values = strcmp(line, own) == 0;
    return p->values ? 0 : -1;
}

int adoption_worker_read(struct worker_places *p, const char *line)
{
    char name[32];
    unsigned long long at, bytes;
    if (strncmp(line, STRUCT, sizeof(STRUCT) - 1) == 0)
        return read_struct(p, line);
    if (strncmp(line, VALUES, sizeof(VALUES) - 1) == 0)
        return read_values(p, line);
    if (sscanf(line, "worker.%31s %llu %llu", name, &at, &bytes) != 3)
        return -1;
    return read_field(p, name, at, bytes);
}

// is_place: the struct of this program has one place for each field only.
static bool is_place(const struct worker_places *p, unsigned i)
{
    return p->bytes == sizeof(struct worker)
               ? p->at[i] == fields[i].at
               : fields[i].bytes <= p->bytes && p->at[i] <= p->bytes - fields[i].bytes;
}

bool adoption_worker_complete(const struct worker_places *p, uint64_t bytes)
{
    if (p->bytes > bytes || !p->values || p->known != (1u << WORKER_FIELDS) - 1)
        return false;
    for (unsigned i = 0; i < WORKER_FIELDS; i++)
        if (!is_place(p, i))
            return false;
    return true;
}

void adoption_worker_copy(struct worker *to, const uint8_t *from, const struct worker_places *p)
{
    for (unsigned i = 0; i < WORKER_FIELDS; i++)
        memcpy((uint8_t *)to + fields[i].at, from + p->at[i], fields[i].bytes);
}
