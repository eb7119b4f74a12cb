// SPDX-License-Identifier: BSD-3-Clause
#include "bench/micro_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_pair.h"
#include "bench/go_text.h"

void micro_label(char out[MICRO_LABEL_BYTES], const struct micro *m, uint32_t size)
{
    const bool millions = size >= 1000000 && size % 1000000 == 0;
    const bool thousands = size >= 1000 && size % 1000 == 0;
    if (m->bytes)
        snprintf(out, MICRO_LABEL_BYTES, "%s/%uB", m->name, size);
    else if (millions)
        snprintf(out, MICRO_LABEL_BYTES, "%s/%uM", m->name, size / 1000000);
    else
        snprintf(out, MICRO_LABEL_BYTES, "%s/%u%s", m->name, thousands ? size / 1000 : size,
                 thousands ? "k" : "");
}

void micro_go_line(char *out, size_t room, const struct micro_result *r,
                   const struct micro_row *row)
{
    char label[MICRO_LABEL_BYTES];
    micro_label(label, r->m, r->size);
    const int n =
        snprintf(out, room, "Benchmark%s-1 \t%9" PRIu64 "\t%12.3f ns/op", label, row->ops, row->ns);
    if (r->counted && n > 0 && (size_t)n < room)
        snprintf(out + n, room - (size_t)n, "\t%8.0f B/op\t%8.0f allocs/op", row->bytes,
                 row->allocations);
}

static void put_head(void)
{
    struct text head;
    text_init(&head, GO_TEXT_BYTES_MAX);
    go_text_head(&head);
    fputs(text_str(&head), stdout);
    text_free(&head);
}

void micro_print_begin(struct micro_print *p, enum micro_format format)
{
    *p = (struct micro_print){.format = format};
    if (format == MICRO_GO) {
        put_head();
    } else if (format == MICRO_JSON) {
        printf("{\"bench\":\"micro\",\"rows\":[");
    } else {
        printf("%-22s %10s %10s %8s %8s %9s  %s\n", "benchmark", "ns/op", "cycles/op", "M ops/s",
               "B/op", "allocs/op", "speed relative to peer");
    }
}

static double ns_of_peer(const struct micro_print *p, const char *peer, uint32_t size)
{
    for (unsigned i = 0; peer != NULL && i < p->n; i++)
        if (p->done[i].size == size && strcmp(p->done[i].name, peer) == 0)
            return p->done[i].ns;
    return 0;
}

static void put_table(const struct micro_result *r, const struct micro_row *row, double ns,
                      double peer_ns)
{
    char label[MICRO_LABEL_BYTES];
    micro_label(label, r->m, r->size);
    printf("%-22s %10.2f %10.1f %8.2f", label, ns, ns * r->tsc_hz / 1e9, 1e3 / ns);
    if (r->counted)
        printf(" %8.2f %9.4f", row->bytes, row->allocations);
    else
        printf(" %8s %9s", "-", "-");
    if (peer_ns > 0)
        printf("  %.2f times %s", peer_ns / ns, r->m->peer);
    printf("\n");
}

static void put_json(const struct micro_result *r, const struct micro_row *row, double ns,
                     double peer_ns, bool first)
{
    char label[MICRO_LABEL_BYTES];
    micro_label(label, r->m, r->size);
    printf("%s{\"name\":\"%s\",\"size\":%u,\"ns_per_op\":%.3f,\"cycles_per_op\":%.2f",
           first ? "" : ",", label, r->size, ns, ns * r->tsc_hz / 1e9);
    if (r->counted)
        printf(",\"bytes_per_op\":%.4f,\"allocs_per_op\":%.6f", row->bytes, row->allocations);
    if (peer_ns > 0)
        printf(",\"peer\":\"%s\",\"times_peer\":%.3f", r->m->peer, peer_ns / ns);
    printf("}");
}

void micro_print_result(struct micro_print *p, const struct micro_result *r)
{
    char line[256];
    double ns[MICRO_COUNT_MAX];
    for (unsigned i = 0; i < r->n; i++) {
        ns[i] = r->rows[i].ns;
        micro_go_line(line, sizeof(line), r, &r->rows[i]);
        if (p->format == MICRO_GO)
            puts(line);
    }
    const double median = bench_median(ns, r->n), peer = ns_of_peer(p, r->m->peer, r->size);
    if (p->format == MICRO_TABLE)
        put_table(r, &r->rows[0], median, peer);
    else if (p->format == MICRO_JSON)
        put_json(r, &r->rows[0], median, peer, p->n == 0);
    CHECK(p->n < MICRO_RESULTS_MAX);
    p->done[p->n].name = r->m->name;
    p->done[p->n].size = r->size;
    p->done[p->n++].ns = median;
    fflush(stdout);
}

void micro_print_end(struct micro_print *p)
{
    if (p->format == MICRO_JSON)
        printf("]}\n");
}
