// SPDX-License-Identifier: BSD-3-Clause
// rules.h: the rules of the configuration for paths: fields, expiry times, redirects and error
// pages, one per line. conf/conf_web.h has their grammar and checks it before. Also helpers for
// `host` lines.
#pragma once
#include "app/http/str.h"
#include "c10m/app.h"

enum http_rule_kind {
    HTTP_RULE_FIELD,     // value: "Name: value"
    HTTP_RULE_EXPIRES,   // number: seconds
    HTTP_RULE_REDIRECT,  // number: status; value: target
    HTTP_RULE_PAGE,      // number: status
};

enum { HTTP_RULES_MAX = 1024 };  // of a service; more than the configuration can hold

// http_rule: one rule. Its texts point into the configuration, except path.
struct http_rule {
    enum http_rule_kind kind;
    uint32_t number;
    struct http_text host;  // n 0: all hosts
    struct http_text value;
    char *path;  // pattern of keys (path.h), * matches any text; allocated by malloc()
};

struct http_rules {
    struct http_rule *at;
    unsigned n;
};

// http_rules_read: reads the service's rules in the order of the configuration. Returns 0, or -1
// with the malformed line in err. http_rules_free: frees them; *rules may be all zero.
int http_rules_read(struct http_rules *rules, const struct c10m_service *s, char *err,
                    size_t err_bytes);
void http_rules_free(struct http_rules *rules);

// http_glob: whether `pattern` matches the whole text. The worst-case time is the product of both
// lengths, so only the control thread may call it.
bool http_glob(const char *pattern, struct http_text text);

// http_line_next: the next line of a value with several lines. False: there are no more.
static inline bool http_line_next(struct http_text *lines, struct http_text *line)
{
    while (http_text_cut(lines, '\n', line))
        if (line->n != 0)
            return true;
    return false;
}

// http_word_next: the next word, which ends at a blank. False: there are no more.
static inline bool http_word_next(struct http_text *rest, struct http_text *word)
{
    size_t n = 0;
    *rest = http_text_trim(*rest);
    while (n < rest->n && !http_is_blank(rest->s[n]))
        n++;
    *word = (struct http_text){rest->s, n};
    *rest = http_text_trim((struct http_text){rest->s + n, rest->n - n});
    return n != 0;
}
