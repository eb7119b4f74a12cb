// SPDX-License-Identifier: BSD-3-Clause
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor_boot.h"
#include "doctor/doctor_rows.h"

#define THP_FILE  "/sys/kernel/mm/transparent_hugepage/enabled"
#define BOOT_FILE "/etc/tmpfiles.d/c10m-hugepages.conf"

static const char *size_name(size_t page_bytes)
{
    return page_bytes == PAGE_1G ? "1 GiB" : "2 MiB";
}

// Pages that lie on no node in particular are the machine's.
static void pages_path(const struct server_pages *row, char out[DOCTOR_PATH_BYTES])
{
    if (row->node < 0)
        snprintf(out, DOCTOR_PATH_BYTES, "/sys/kernel/mm/hugepages/hugepages-%zukB/nr_hugepages",
                 row->page_bytes / 1024);
    else
        snprintf(out, DOCTOR_PATH_BYTES,
                 "/sys/devices/system/node/node%d/hugepages/hugepages-%zukB/nr_hugepages",
                 row->node, row->page_bytes / 1024);
}

// ---- now

DOCTOR_LOOK(hugepages)
{
    struct server_need need;
    struct text text;
    const long owner = doctor_server_runs(&d->needs, &d->host);
    doctor_memory(&d->needs, &d->host, &need);
    if (need.n_pages == 0) {
        doctor_say(f, DOCTOR_NONE, "hugepage = none");
        return;
    }
    if (owner != 0) {
        doctor_say(f, DOCTOR_OK, "the running server (process %ld) has its pages", owner);
        return;
    }
    text_init(&text, DOCTOR_LINE_BYTES);
    server_need_text(&need, &text);
    doctor_say(f, need.fits == SERVER_FITS_NOW ? DOCTOR_OK : DOCTOR_FAIL, "%s", text_str(&text));
    text_free(&text);
    if (need.fits == SERVER_FITS_NOT)
        doctor_advise(f, "take fewer connections (c10m plan shows how many fit)");
}

// Pages that others hold stay theirs: what is missing is added to what there is.
DOCTOR_PLAN(hugepages)
{
    struct server_need need;
    doctor_memory(&d->needs, &d->host, &need);
    if (need.fits != SERVER_FITS_AFTER || doctor_server_runs(&d->needs, &d->host) != 0)
        return;
    for (unsigned i = 0; i < need.n_pages; i++) {
        const struct server_pages *row = &need.pages[i];
        char path[DOCTOR_PATH_BYTES], value[32];
        if (row->needed <= row->have.free)
            continue;
        pages_path(row, path);
        if (!doctor_exists(&d->host, path))
            continue;  // a kernel without pages of this size
        snprintf(value, sizeof(value), "%" PRIu64, row->have.total + row->needed - row->have.free);
        doctor_changes_add(out, &d->host, DOCTOR_LINE, path, value);
    }
}

// ---- at boot

static uint64_t needed_of(const struct server_need *need, size_t page_bytes)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < need->n_pages; i++)
        if (need->pages[i].page_bytes == page_bytes)
            n += need->pages[i].needed;
    return n;
}

// lacks_at_boot: the next boot reserves too few pages of that size for this server alone.
static bool lacks_at_boot(const struct doctor *d, const struct server_need *need, size_t page_bytes)
{
    char from[DOCTOR_PATH_BYTES];
    return doctor_boot_pages(&d->host, page_bytes, from) < needed_of(need, page_bytes);
}

static void look_at_boot(const struct doctor *d, const struct server_need *memory,
                         size_t page_bytes, struct doctor_finding *f)
{
    char from[DOCTOR_PATH_BYTES];
    const uint64_t need = needed_of(memory, page_bytes);
    const uint64_t have = doctor_boot_pages(&d->host, page_bytes, from);
    if (need == 0)
        return;
    doctor_say(f, have >= need ? DOCTOR_OK : DOCTOR_WARN,
               "%" PRIu64 " of %s needed, %" PRIu64 " reserved by %s", need, size_name(page_bytes),
               have, from);
    if (have < need)
        doctor_advise(f, "or on the boot line: hugepagesz=%s hugepages=%" PRIu64,
                      page_bytes == PAGE_1G ? "1G" : "2M", need);
}

DOCTOR_LOOK(hugepages_boot)
{
    struct server_need need;
    doctor_memory(&d->needs, &d->host, &need);
    if (need.n_pages == 0)
        doctor_say(f, DOCTOR_NONE, "hugepage = none");
    look_at_boot(d, &need, PAGE_2M, f);
    look_at_boot(d, &need, PAGE_1G, f);
}

DOCTOR_PLAN(hugepages_boot)
{
    struct server_need need;
    struct text text;
    doctor_memory(&d->needs, &d->host, &need);
    if (need.fits == SERVER_FITS_NOT ||
        (!lacks_at_boot(d, &need, PAGE_2M) && !lacks_at_boot(d, &need, PAGE_1G)))
        return;
    text_init(&text, DOCTOR_FILE_BYTES_MAX);
    text_printf(&text, "# Pages for c10m (c10m doctor fix hugepages-boot).\n");
    for (unsigned i = 0; i < need.n_pages; i++) {
        char path[DOCTOR_PATH_BYTES];
        pages_path(&need.pages[i], path);
        text_printf(&text, "w %s - - - - %" PRIu64 "\n", path, need.pages[i].needed);
    }
    doctor_changes_add_dir(out, &d->host, "/etc/tmpfiles.d");
    doctor_changes_add(out, &d->host, DOCTOR_FILE, BOOT_FILE, text_str(&text));
    text_free(&text);
}

// ---- transparent hugepages

DOCTOR_LOOK(thp)
{
    char now[32];
    doctor_word(&d->host, THP_FILE, now, sizeof(now));
    if (now[0] == '\0')
        doctor_say(f, DOCTOR_NONE, "this kernel has none");
    else if (strcmp(now, "always") != 0)
        doctor_say(f, DOCTOR_OK, "%s", now);
    else if (d->needs.params->pages == PAGES_NONE)
        doctor_say(f, DOCTOR_OK,
                   "always: the server uses 4 KiB pages (hugepage = none) and gains by them");
    else
        doctor_say(f, DOCTOR_WARN, "always");
}

DOCTOR_PLAN(thp)
{
    char now[32];
    doctor_word(&d->host, THP_FILE, now, sizeof(now));
    if (strcmp(now, "always") == 0 && d->needs.params->pages != PAGES_NONE)
        doctor_changes_add(out, &d->host, DOCTOR_CHOICE, THP_FILE, "madvise");
}
