// SPDX-License-Identifier: BSD-3-Clause
// The calls of c10m/app.h that an application makes in init, on the control thread.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sock/sock.h"

int sock_service_init(struct c10m_service *s, struct err *err)
{
    char text[ERR_TEXT_BYTES / 2] = "no reason given";
    const int rc = s->app->init == NULL ? 0 : s->app->init(s, text, sizeof(text));
    s->started = true;
    return rc == 0 ? 0 : err_set(err, "service %s: %s", s->name, text);
}

void sock_service_fini(struct c10m_service *s)
{
    if (s->app->fini != NULL)
        s->app->fini(s);
    c10m_images_free(s->images);
    s->images = NULL;
}

bool c10m_reload_stopping(const struct c10m_service *s)
{
    return shared_bool_load(&s->reload_stops);
}

void *c10m_service_data(const struct c10m_service *s)
{
    return s->data;
}

void c10m_service_set_data(struct c10m_service *s, void *data)
{
    s->data = data;
}

const char *c10m_service_param(const struct c10m_service *s, const char *key)
{
    return s->param == NULL ? NULL : s->param(s->conf, key);
}

void c10m_warn(const struct c10m_service *s, const char *format, ...)
{
    char text[ERR_TEXT_BYTES];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    log_line(LOG_WARN, "service %s: %s", s->name, text);
}

const struct c10m_image *c10m_image_reserve(struct c10m_service *s, uint64_t len, uint8_t **room)
{
    if (s->images == NULL)
        s->images = c10m_images_new(s);
    return s->images == NULL ? NULL : c10m_images_reserve(s->images, len, room);
}

const struct c10m_image *c10m_image_create(struct c10m_service *s, const void *data, uint64_t len)
{
    uint8_t *room;
    const struct c10m_image *image = c10m_image_reserve(s, len, &room);
    if (image != NULL)
        memcpy(room, data, len);
    return image;
}

const uint8_t *c10m_image_bytes(const struct c10m_image *image, uint64_t *len)
{
    *len = image->len;
    return image->bytes;
}

int c10m_counter(struct c10m_service *s, const char *name, const char *help)
{
    if (s->n_counters == SOCK_COUNTERS_MAX)
        return -1;
    snprintf(s->counters[s->n_counters].name, sizeof(s->counters[0].name), "%s", name);
    snprintf(s->counters[s->n_counters].help, sizeof(s->counters[0].help), "%s", help);
    return s->n_counters++;
}
