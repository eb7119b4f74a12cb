// SPDX-License-Identifier: BSD-3-Clause
// The calls of c10m/app.h that an application makes in init, on the control thread.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "sock/sock.h"

int sock_service_init(struct c10m_service *s, struct err *err)
{
    char text[ERR_TEXT_BYTES / 2] = "no reason given";
    if (s->app->init == NULL || s->app->init(s, text, sizeof(text)) == 0)
        return 0;
    return err_set(err, "service %s: %s", s->name, text);
}

void sock_service_fini(struct c10m_service *s)
{
    if (s->app->fini != NULL)
        s->app->fini(s);
    while (s->images != NULL) {
        struct c10m_image *image = s->images;
        s->images = image->next;
        munmap(image->bytes, ALIGN_UP(image->len, 4096));
        free(image);
    }
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
    const uint64_t bytes = ALIGN_UP(len, 4096);
    if (len == 0 || (s->image_bytes_max != 0 && s->image_bytes + bytes > s->image_bytes_max))
        return NULL;
    struct c10m_image *image = calloc(1, sizeof(*image));
    if (image == NULL)
        return NULL;
    image->bytes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image->bytes == MAP_FAILED) {
        free(image);
        return NULL;
    }
    madvise(image->bytes, bytes, MADV_HUGEPAGE);
    image->len = len;
    image->next = s->images;
    s->images = image;
    s->image_bytes += bytes;
    *room = image->bytes;
    return image;
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
