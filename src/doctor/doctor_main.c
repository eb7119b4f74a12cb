// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_main.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor_options.h"
#include "server/server_conf.h"

// ---- the configuration

// host_below: the CPUs of a made-up machine, and the applications of the program.
static void host_below(const struct doctor_host *h, struct conf_host *out)
{
    char line[DOCTOR_CPUS_TEXT_BYTES];
    struct doctor_cpus online;
    conf_host_read(out);
    doctor_line(h, "/sys/devices/system/cpu/online", line, sizeof(line));
    if (!doctor_cpus_parse_list(&online, line) || doctor_cpus_count(&online) == 0)
        return;
    out->cpus.n = 0;
    for (unsigned cpu = 0; cpu <= CONF_CPU_ID_MAX && out->cpus.n < CONF_CPUS_MAX; cpu++)
        if (doctor_cpus_has(&online, cpu))
            out->cpus.id[out->cpus.n++] = (uint16_t)cpu;
}

static int load_below(struct conf *c, const struct doctor_host *h, struct doctor_options *o,
                      struct conf_errors *errors)
{
    static struct conf_host host;
    struct doctor_host outside;
    char *text = NULL;
    host_below(h, &host);
    doctor_host_init(&outside, "");
    if (o->file != NULL && (text = doctor_file(&outside, o->file)) == NULL) {
        text_printf(&errors->lines, "%s: it cannot be read\n", o->file);
        return -1;
    }
    const int rc =
        conf_load_text(c, &host, o->file == NULL ? "" : o->file, text == NULL ? "" : text,
                       text == NULL ? 0 : strlen(text), o->sets, o->n_sets, errors);
    free(text);
    return rc;
}

// 0, or -1 with every error on stderr.
static int read_conf(struct conf *c, struct server_params *p, const struct doctor_host *h,
                     struct doctor_options *o, const struct c10m_app *const *apps)
{
    struct conf_errors errors;
    struct err err;
    conf_errors_init(&errors);
    const int rc = h->root[0] != '\0' ? load_below(c, h, o, &errors)
                                      : conf_load(c, o->file, o->sets, o->n_sets, &errors);
    if (rc != 0)
        fputs(text_str(&errors.lines), stderr);
    conf_errors_free(&errors);
    if (rc != 0)
        return -1;
    if (server_params_from(p, c, apps, &err) == 0)
        return 0;
    fprintf(stderr, "c10m doctor: %s\n", err.text);
    return -1;
}

// ---- fix and undo

static int say_error(const char *what)
{
    fprintf(stderr, "c10m doctor: %s\n", what);
    return 1;
}

static int ended(int failed, const struct err *err)
{
    if (failed < 0)
        return say_error(err->text);
    return failed != 0 ? 1 : 0;
}

static struct doctor_teller teller_of(const struct doctor_options *o)
{
    return (struct doctor_teller){o->json ? doctor_tell_json : doctor_tell_text, stdout};
}

// plan_row: the changes of one row, as the machine is now. False: no memory.
static bool plan_row(const struct doctor *d, const struct doctor_row *row,
                     struct doctor_changes *changes)
{
    doctor_changes_init(changes);
    changes->row = row->name;
    if (row->plan != NULL && !changes->error)
        row->plan(d, changes);
    return !changes->error;
}

// for_row: row i of those that were asked for, NULL behind the last.
static const struct doctor_row *row_at(const struct doctor_rows_asked *asked, unsigned i)
{
    if (asked->n != 0)
        return i < asked->n ? asked->rows[i] : NULL;
    return i < doctor_n_rows ? &doctor_rows[i] : NULL;
}

static int fix_dry(const struct doctor *d, const struct doctor_options *o)
{
    const struct doctor_teller t = teller_of(o);
    const struct doctor_row *row;
    int rc = 0;
    for (unsigned i = 0; (row = row_at(&o->asked, i)) != NULL && rc == 0; i++) {
        struct doctor_changes changes;
        if (!plan_row(d, row, &changes))
            rc = say_error("no memory, or too many changes");
        for (unsigned k = 0; k < changes.n && rc == 0; k++)
            t.tell(t.arg, DOCTOR_BEGINS, &changes.at[k], changes.at[k].was, changes.at[k].want, "");
        doctor_changes_free(&changes);
    }
    return rc;
}

// fix_rows: each row is planned when those before it are done. How many changes failed; -1.
static int fix_rows(struct doctor *d, const struct doctor_options *o, struct doctor_record *record,
                    struct err *err)
{
    const struct doctor_teller t = teller_of(o);
    const struct doctor_row *row;
    int failed = doctor_fix_finish(record, &t, err);
    for (unsigned i = 0; failed >= 0 && (row = row_at(&o->asked, i)) != NULL; i++) {
        struct doctor_changes changes;
        doctor_needs_online(&d->needs, &d->host);
        const int rc = plan_row(d, row, &changes)
                           ? doctor_fix(record, &changes, &t, err)
                           : err_set(err, "%s: no memory, or too many changes", row->name);
        failed = rc < 0 ? -1 : failed + rc;
        doctor_changes_free(&changes);
    }
    return failed;
}

// say_left: the rows that fail all the same. How many.
static unsigned say_left(const struct doctor *d, const struct doctor_options *o)
{
    const struct doctor_row *row;
    unsigned n = 0;
    for (unsigned i = 0; (row = row_at(&o->asked, i)) != NULL; i++) {
        struct doctor_finding f;
        doctor_look(d, row, &f);
        if (f.state == DOCTOR_FAIL) {
            fprintf(stderr, "%s fails: %s\n%s", row->name, text_str(&f.value),
                    text_str(&f.by_hand));
            n++;
        }
        doctor_finding_free(&f);
    }
    return n;
}

static bool needs_root(const struct doctor *d)
{
    if (d->host.root[0] != '\0' || geteuid() == 0)
        return false;
    say_error("only root may change the machine (--dry-run prints the changes)");
    return true;
}

static int fix_main(struct doctor *d, const struct doctor_options *o)
{
    struct doctor_record record;
    struct err err;
    if (o->dry_run)
        return fix_dry(d, o);
    if (needs_root(d))
        return 1;
    if (doctor_record_open(&record, &d->host, true, &err) != 0)
        return say_error(err.text);
    const int failed = fix_rows(d, o, &record, &err);
    const unsigned kept = record.changes.n;
    doctor_record_close(&record);
    if (!o->json && failed >= 0)
        printf(kept == 0 ? "nothing was changed\n"
                         : "%u changes are recorded in " DOCTOR_RECORD_FILE
                           ": c10m doctor undo takes them back\n",
               kept);
    const int rc = ended(failed, &err);
    return say_left(d, o) != 0 ? 1 : rc;
}

static int undo_main(const struct doctor *d, const struct doctor_options *o)
{
    const struct doctor_teller t = teller_of(o);
    struct doctor_record record;
    struct err err;
    int failed = 0;
    if (!o->dry_run && needs_root(d))
        return 1;
    if (doctor_record_open(&record, &d->host, false, &err) != 0)
        return say_error(err.text);
    if (record.changes.n == 0 && !o->json)
        puts("nothing to undo");
    for (unsigned i = record.changes.n; o->dry_run && i-- > 0;) {
        const struct doctor_change *c = &record.changes.at[i];
        char *now = doctor_value_read(&d->host, c->kind, c->path);
        if (doctor_record_past(&record, c))
            t.tell(t.arg, DOCTOR_PAST, c, now, c->was, "");
        else if (!doctor_value_same(now, c->was))
            t.tell(t.arg, DOCTOR_BEGINS, c, now, c->was, "");
        free(now);
    }
    if (!o->dry_run)
        failed = doctor_undo(&record, &t, &err);
    doctor_record_close(&record);
    return ended(failed, &err);
}

// ---- the command

int doctor_main(int argc, char **argv, const struct c10m_app *const *apps)
{
    static struct conf c;
    static struct server_params p;
    static struct doctor_options o;
    static struct doctor d;
    const int rc = doctor_options_parse(argc, argv, &o);
    if (rc != 0)
        return rc == 1 ? 0 : 2;
    doctor_host_init(&d.host, o.root);
    d.force = o.force;
    if (o.command == DOCTOR_UNDO)
        return undo_main(&d, &o);
    if (read_conf(&c, &p, &d.host, &o, apps) != 0)
        return 2;
    doctor_needs_of(&d.needs, &p, &c, &d.host);
    if (o.command == DOCTOR_FIX)
        return fix_main(&d, &o);
    if (o.command == DOCTOR_CHECK)
        return doctor_check(&d, &o.asked, o.json, stdout) != 0 ? 1 : 0;
    doctor_explain(&d, o.asked.rows[0], o.json, stdout);
    return 0;
}

void doctor_serve_check(const struct conf *c, const struct server_params *p, struct text *out)
{
    static struct server_params copy;
    static struct doctor d;
    copy = *p;
    d = (struct doctor){.force = false};
    doctor_host_init(&d.host, "");
    doctor_needs_of(&d.needs, &copy, c, &d.host);
    for (unsigned i = 0; i < doctor_n_rows; i++) {
        struct doctor_finding f;
        if (!doctor_rows[i].stops)
            continue;
        doctor_look(&d, &doctor_rows[i], &f);
        if (f.state == DOCTOR_FAIL)
            text_printf(out, "%s: %s (c10m doctor explain %s)\n", doctor_rows[i].name,
                        text_str(&f.value), doctor_rows[i].name);
        doctor_finding_free(&f);
    }
}
