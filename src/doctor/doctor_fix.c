// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_fix.h"

#include <stdlib.h>

#include "doctor/doctor_disk.h"

static void tell(const struct doctor_teller *t, enum doctor_event event,
                 const struct doctor_change *c, const char *from, const char *to, const char *why)
{
    t->tell(t->arg, event, c, from, to, why);
}

// write_and_look: *now is what the place has afterwards. -1 with *err: it is not `value`.
static int write_and_look(const struct doctor_host *h, const struct doctor_change *c,
                          const char *value, char **now, struct err *err)
{
    const int rc = doctor_value_write(h, c, value, err);
    *now = doctor_value_read(h, c->kind, c->path);
    if (rc != 0 || doctor_value_same(*now, value))
        return rc;
    return err_set(err, "%s: \"%s\" was written, it has \"%s\" now", c->path,
                   value == NULL ? "" : value, *now == NULL ? "" : *now);
}

// back_out: after a failure: the place gets what it had, as far as it can, and where that is what
// it had at first, the record forgets it. A part that the kernel did give (pages) stays.
static int back_out(struct doctor_record *r, const struct doctor_change *c, const char *had,
                    const char *now, bool refused, struct err *err)
{
    struct err ignored;
    char *after = NULL;
    const struct doctor_change *entry = doctor_record_find(r, c);
    if (refused && !doctor_value_same(now, had)) {
        write_and_look(r->host, c, had, &after, &ignored);
        now = after;
    }
    const bool as_before = entry != NULL && doctor_value_same(now, entry->was);
    const int rc = as_before ? doctor_record_drop(r, c, err) : 0;
    free(after);
    return rc;
}

// turn_down: a change is not begun. 1: it failed.
static int turn_down(const struct doctor_change *c, const char *had,
                     const struct doctor_teller *teller, const char *why)
{
    tell(teller, DOCTOR_FAILED, c, had, had, why);
    return 1;
}

// make: one change whose place has `had`. 0, 1: it failed; -1: the record cannot be written.
static int make(struct doctor_record *r, const struct doctor_change *c, const char *had,
                const struct doctor_teller *teller, struct err *err)
{
    struct doctor_change noted = *c;
    struct err why = {.text = ""};
    char *now = NULL;
    noted.was = (char *)(uintptr_t)had;
    tell(teller, DOCTOR_BEGINS, c, had, c->want, "");
    if (doctor_record_holds(r, &noted, &why) != 0)
        return turn_down(c, had, teller, why.text);
    if (doctor_record_note(r, &noted, err) != 0)
        return -1;
    const bool refused = doctor_value_write(r->host, c, c->want, &why) != 0;
    now = doctor_value_read(r->host, c->kind, c->path);
    int rc = !refused && doctor_value_same(now, c->want) ? 0 : 1;
    if (rc == 0) {
        rc = doctor_record_done(r, c, err);
        tell(teller, DOCTOR_MADE, c, had, now, "");
    } else {
        if (!refused)
            err_set(&why, "it has %s now", now == NULL ? "nothing" : now);
        tell(teller, c->may_refuse ? DOCTOR_REFUSED : DOCTOR_FAILED, c, had, now, why.text);
        if (back_out(r, c, had, now, refused, err) != 0)
            rc = -1;
        else if (c->may_refuse)
            rc = 0;
    }
    free(now);
    return rc;
}

int doctor_fix(struct doctor_record *r, const struct doctor_changes *changes,
               const struct doctor_teller *teller, struct err *err)
{
    int failed = 0;
    for (unsigned i = 0; i < changes->n; i++) {
        const struct doctor_change *c = &changes->at[i];
        char *had = doctor_value_read(r->host, c->kind, c->path);
        const int rc = doctor_value_same(had, c->want) ? 0 : make(r, c, had, teller, err);
        free(had);
        if (rc < 0)
            return -1;
        failed += rc;
    }
    return failed;
}

static int forget_past(struct doctor_record *r, const struct doctor_teller *teller, struct err *err)
{
    for (unsigned i = r->changes.n; i-- > 0;) {
        const struct doctor_change *c = &r->changes.at[i];
        if (doctor_record_past(r, c))
            tell(teller, DOCTOR_PAST, c, NULL, c->was, "");
    }
    return doctor_record_drop_past(r, err);
}

int doctor_fix_finish(struct doctor_record *r, const struct doctor_teller *teller, struct err *err)
{
    int failed = forget_past(r, teller, err);
    for (unsigned i = 0; i < r->changes.n && failed >= 0; i++) {
        const struct doctor_change *c = &r->changes.at[i];
        struct err why;
        char *now = doctor_value_read(r->host, c->kind, c->path);
        if (!c->done && c->restart[0] != '\0' && doctor_value_same(now, c->want)) {
            tell(teller, DOCTOR_BEGINS, c, now, c->want, "");
            const bool bad = doctor_value_write(r->host, c, c->want, &why) != 0;
            tell(teller, bad ? DOCTOR_FAILED : DOCTOR_MADE, c, now, c->want, bad ? why.text : "");
            failed += bad;
            if (!bad && doctor_record_done(r, c, err) != 0)
                failed = -1;
        }
        free(now);
    }
    return failed;
}

// is_gone: the place itself is no longer there: an interrupt, a CPU that is off-line, a device.
static bool is_gone(const struct doctor_change *c, const char *had)
{
    return had == NULL && c->was != NULL && !doctor_kind_on_disk(c->kind) &&
           c->kind != DOCTOR_MODULE;
}

// put_back: 0, 1: it failed; 0 also where nothing can be put back: the place is gone, or a
// directory that the fix made has files of others now.
static int put_back(struct doctor_record *r, const struct doctor_change *c, const char *had,
                    const struct doctor_teller *teller)
{
    struct err why = {.text = ""};
    char *now = NULL;
    tell(teller, DOCTOR_BEGINS, c, had, c->was, "");
    const bool gone = is_gone(c, had);
    const bool ok = !gone && write_and_look(r->host, c, c->was, &now, &why) == 0;
    const bool left = gone || c->kind == DOCTOR_DIR;
    tell(teller,
         ok     ? DOCTOR_MADE
         : left ? DOCTOR_REFUSED
                : DOCTOR_FAILED,
         c, had, now, gone ? "it is not there any more" : why.text);
    free(now);
    return ok || left ? 0 : 1;
}

// restore: one entry. 0, 1: it failed; -1: the record cannot be written.
static int restore(struct doctor_record *r, const struct doctor_change *c,
                   const struct doctor_teller *teller, struct err *err)
{
    char at[DOCTOR_PATH_BYTES];
    if (c->kind == DOCTOR_FILE)
        doctor_disk_clean(doctor_path(r->host, at, "%s", c->path));
    char *had = doctor_value_read(r->host, c->kind, c->path);
    int rc = 0;
    if (!doctor_value_same(had, c->was) || c->restart[0] != '\0')
        rc = put_back(r, c, had, teller);
    free(had);
    if (rc == 0 && doctor_record_drop(r, c, err) != 0)
        rc = -1;
    return rc;
}

int doctor_undo(struct doctor_record *r, const struct doctor_teller *teller, struct err *err)
{
    int failed = 0;
    if (forget_past(r, teller, err) != 0)
        return -1;
    for (unsigned i = r->changes.n; i-- > 0;) {
        const int rc = restore(r, &r->changes.at[i], teller, err);
        if (rc < 0)
            return -1;
        failed += rc;
    }
    return failed;
}
