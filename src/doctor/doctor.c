// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor.h"

#include <string.h>

enum { FINDING_BYTES = 1 << 16 };

const struct doctor_row *doctor_row_find(const char *name)
{
    for (unsigned i = 0; i < doctor_n_rows; i++)
        if (strcmp(doctor_rows[i].name, name) == 0)
            return &doctor_rows[i];
    return NULL;
}

const char *doctor_state_name(enum doctor_state state)
{
    static const char *const names[DOCTOR_STATES] = {"n/a", "ok", "unknown", "warn", "fail"};
    return names[state];
}

void doctor_look(const struct doctor *d, const struct doctor_row *row, struct doctor_finding *f)
{
    f->state = DOCTOR_NONE;
    text_init(&f->value, FINDING_BYTES);
    text_init(&f->by_hand, FINDING_BYTES);
    row->look(d, f);
}

void doctor_finding_free(struct doctor_finding *f)
{
    text_free(&f->value);
    text_free(&f->by_hand);
}

void doctor_say(struct doctor_finding *f, enum doctor_state state, const char *format, ...)
{
    va_list ap;
    if (f->value.len != 0)
        text_printf(&f->value, "; ");
    va_start(ap, format);
    text_vprintf(&f->value, format, ap);
    va_end(ap);
    f->state = MAX(f->state, state);
}

void doctor_advise(struct doctor_finding *f, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    text_vprintf(&f->by_hand, format, ap);
    va_end(ap);
    text_printf(&f->by_hand, "\n");
}
