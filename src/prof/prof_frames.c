// SPDX-License-Identifier: BSD-3-Clause
#include "prof/prof_frames.h"

#include <stdio.h>

#include "server/core_name.h"
#include "sock/sock.h"

void frames_add(struct frames *f, const char *format, ...)
{
    va_list ap;
    CHECK(f->n < FRAMES_MAX);
    va_start(ap, format);
    vsnprintf(f->names[f->n], FRAME_BYTES, format, ap);
    va_end(ap);
    f->n++;
}

void frames_label(struct frames *f, const char *key, const char *format, ...)
{
    va_list ap;
    CHECK(f->n_labels < FRAMES_LABELS_MAX);
    va_start(ap, format);
    vsnprintf(f->label_texts[f->n_labels], FRAME_BYTES, format, ap);
    va_end(ap);
    f->keys[f->n_labels++] = key;
}

void frames_service(struct frames *f, const struct server *s, unsigned ix)
{
    const struct c10m_service *sv = server_service(s, ix);
    frames_add(f, "app %s", sv->app->name);
    frames_add(f, "service %s", sv->name);
    frames_label(f, "app", "%s", sv->app->name);
    frames_label(f, "service", "%s", sv->name);
}

const char *frames_core(struct frames *f, const struct server *s, unsigned worker)
{
    char name[CORE_NAME_BYTES];
    server_core_name(s, worker, name);
    frames_label(f, "core", "c%s", name);
    return f->label_texts[f->n_labels - 1];
}

void frames_put(const struct frames *f, struct profile *p, const int64_t *values)
{
    struct profile_frame stack[FRAMES_MAX];
    struct profile_label labels[FRAMES_LABELS_MAX];
    for (unsigned i = 0; i < f->n; i++)
        stack[i] = (struct profile_frame){.function = f->names[i]};
    for (unsigned i = 0; i < f->n_labels; i++)
        labels[i] = (struct profile_label){.key = f->keys[i], .text = f->label_texts[i]};
    profile_add(p, &(struct profile_sample){stack, f->n, values, labels, f->n_labels});
}
