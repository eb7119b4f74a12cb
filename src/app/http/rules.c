// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/rules.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/http/chars.h"
#include "app/http/reply.h"

bool http_glob(const char *pattern, struct http_text text)
{
    const char *star = NULL;
    size_t at = 0, after_star = 0;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            after_star = at;
        } else if (at == text.n ? *pattern == '\0' : (uint8_t)*pattern == text.s[at]) {
            if (at == text.n)
                return true;
            pattern++;
            at++;
        } else if (star != NULL && after_star < text.n) {
            pattern = star;  // let the last star match one more byte
            at = ++after_star;
        } else {
            return false;
        }
    }
}

// Converts a path of the configuration to a pattern of keys.
static char *pattern_of(struct http_text t)
{
    char *path = malloc(3 * t.n + 1), *to = path;
    for (size_t i = 0; path != NULL && i < t.n; i++) {
        const uint8_t b = t.s[i];
        const bool escape =
            b == '%' && t.n - i >= 3 && http_hex(t.s[i + 1]) >= 0 && http_hex(t.s[i + 2]) >= 0;
        if (escape) {
            to += sprintf(to, "%%%X%X", (unsigned)http_hex(t.s[i + 1]),
                          (unsigned)http_hex(t.s[i + 2]));
            i += 2;
        } else if (b == '/' || http_is(b, HTTP_PCHAR)) {
            *to++ = (char)b;
        } else {
            to += sprintf(to, "%%%02X", b);
        }
    }
    if (path != NULL)
        *to = '\0';
    return path;
}

static bool number(struct http_text t, uint32_t *value)
{
    *value = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.s[i] < '0' || t.s[i] > '9' || *value > 100000000)
            return false;
        *value = *value * 10 + (uint32_t)(t.s[i] - '0');
    }
    return t.n != 0;
}

static bool seconds(struct http_text t, uint32_t *value)
{
    static const char units[] = "smhd";
    static const uint32_t factors[] = {1, 60, 3600, 86400};
    const char *unit = t.n == 0 ? NULL : memchr(units, t.s[t.n - 1], 4);
    t.n -= unit != NULL;
    if (!number(t, value) ||
        (uint64_t)*value * (unit == NULL ? 1 : factors[unit - units]) > 1u << 30)
        return false;
    *value *= unit == NULL ? 1 : factors[unit - units];
    return true;
}

static bool pattern(struct http_rule *r, struct http_text t)
{
    size_t host = 0;
    while (host < t.n && t.s[host] != '/' && t.s[host] != '*')
        host++;
    r->host = (struct http_text){t.s, host};
    if (host == t.n || t.n - host > HTTP_KEY_BYTES_MAX)
        return false;
    r->path = pattern_of((struct http_text){t.s + host, t.n - host});
    return r->path != NULL;
}

static bool read_rule(struct http_rule *r, struct http_text line)
{
    struct http_text first, second;
    if (!http_word_next(&line, &first))
        return false;
    r->value = line;
    if (r->kind == HTTP_RULE_FIELD)
        return pattern(r, first) && memchr(line.s, ':', line.n) != NULL;
    if (!http_word_next(&line, &second))
        return false;
    r->value = line;
    switch (r->kind) {
    case HTTP_RULE_EXPIRES:
        return pattern(r, first) && seconds(second, &r->number) && line.n == 0;
    case HTTP_RULE_REDIRECT:
        return pattern(r, first) && number(second, &r->number) && r->number >= 301 &&
               r->number <= 308 && line.n != 0;
    default:
        return pattern(r, second) && number(first, &r->number) && line.n == 0;
    }
}

static int read_rules(struct http_rules *rules, enum http_rule_kind kind, const char *key,
                      const char *value, char *err, size_t err_bytes)
{
    struct http_text lines = {(const uint8_t *)value, strlen(value)}, line;
    while (http_line_next(&lines, &line)) {
        struct http_rule *r = &rules->at[rules->n];
        *r = (struct http_rule){.kind = kind};
        if (rules->n == HTTP_RULES_MAX || !read_rule(r, line)) {
            free(r->path);
            snprintf(err, err_bytes, "%s = %.*s: invalid line (see c10m check)", key, (int)line.n,
                     (const char *)line.s);
            return -1;
        }
        rules->n++;
    }
    return 0;
}

int http_rules_read(struct http_rules *rules, const struct c10m_service *s, char *err,
                    size_t err_bytes)
{
    static const char *const keys[] = {
        [HTTP_RULE_FIELD] = "header",
        [HTTP_RULE_EXPIRES] = "expires",
        [HTTP_RULE_REDIRECT] = "redirect",
        [HTTP_RULE_PAGE] = "error_page",
    };
    *rules = (struct http_rules){.at = calloc(HTTP_RULES_MAX + 1, sizeof(*rules->at))};
    if (rules->at == NULL) {
        snprintf(err, err_bytes, "no memory");
        return -1;
    }
    for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *value = c10m_service_param(s, keys[i]);
        if (value != NULL && read_rules(rules, i, keys[i], value, err, err_bytes) != 0)
            return -1;
    }
    return 0;
}

void http_rules_free(struct http_rules *rules)
{
    for (unsigned i = 0; i < rules->n; i++)
        free(rules->at[i].path);
    free(rules->at);
    *rules = (struct http_rules){0};
}
