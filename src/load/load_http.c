// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct load_http *load_http_new(const char *path)
{
    struct load_http *h = calloc(1, sizeof(*h));
    if (h == NULL)
        return NULL;
    const int n =
        snprintf(h->request, sizeof(h->request), "GET %s HTTP/1.1\r\nHost: load\r\n\r\n", path);
    CHECK(n > 0 && n < (int)sizeof(h->request));
    h->request_bytes = (uint32_t)n;
    return h;
}

// The value of a field in the head, without leading blanks, *bytes long. NULL: the field is
// missing.
static const char *field(const char *head, const char *name, size_t *bytes)
{
    const size_t len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        const char *value = line + len + 1;
        value += strspn(value, " \t");
        *bytes = strcspn(value, "\r");
        return value;
    }
    return NULL;
}

// Parses the complete head. False: the response cannot be a model.
static bool read_head(struct load_http *h, const char *head)
{
    size_t bytes;
    if (strncmp(head, "HTTP/1.1 200 ", 13) != 0)
        return false;
    const char *length = field(head, "Content-Length", &bytes);
    if (length == NULL || bytes == 0 || strspn(length, "0123456789") != bytes || bytes > 5)
        return false;
    h->answer_bytes = h->head_bytes + (uint32_t)strtoul(length, NULL, 10);
    const char *date = field(head, "Date", &bytes);
    h->date_at = date != NULL ? (uint32_t)(date - head) : 0;
    h->date_bytes = date != NULL ? (uint32_t)bytes : 0;
    return h->answer_bytes <= LOAD_HTTP_ANSWER_MAX;
}

bool load_http_learn(struct load_http *h, uint32_t at, const uint8_t *data, uint32_t n)
{
    if (at == 0)
        h->head_bytes = h->answer_bytes = 0;
    if (at + n > LOAD_HTTP_ANSWER_MAX)
        return false;
    memcpy(h->answer + at, data, n);
    h->answer[at + n] = '\0';
    if (h->head_bytes == 0) {
        char *end = strstr((char *)h->answer, "\r\n\r\n");
        if (end == NULL)
            return memchr(h->answer, '\0', at + n) == NULL;
        h->head_bytes = (uint32_t)(end + 4 - (char *)h->answer);
        const char kept = end[4];
        end[4] = '\0';  // exclude the body from the search for fields
        const bool good = read_head(h, (const char *)h->answer);
        end[4] = kept;
        if (!good)
            return false;
    }
    h->learned = at + n >= h->answer_bytes;
    return at + n <= h->answer_bytes;
}

bool load_http_is_refusal(const uint8_t *data, uint32_t n)
{
    enum { REFUSAL_MAX = 2048 };
    char head[REFUSAL_MAX + 1];
    size_t bytes;
    if (n < 13 || n > REFUSAL_MAX || memcmp(data, "HTTP/1.1 503 ", 13) != 0)
        return false;
    memcpy(head, data, n);
    head[n] = '\0';
    char *end = strstr(head, "\r\n\r\n");
    if (end == NULL)
        return false;
    end[2] = '\0';
    const char *length = field(head, "Content-Length", &bytes);
    return length != NULL && strtoul(length, NULL, 10) == n - (size_t)(end + 4 - head);
}

bool load_http_same(const struct load_http *h, uint32_t at, const uint8_t *data, uint32_t n)
{
    const uint32_t date_end = h->date_at + h->date_bytes, end = at + n;
    const uint32_t before = at < h->date_at ? MIN(h->date_at, end) - at : 0;
    const uint32_t from = MAX(at, date_end);
    return memcmp(data, h->answer + at, before) == 0 &&
           (from >= end || memcmp(data + (from - at), h->answer + from, end - from) == 0);
}
