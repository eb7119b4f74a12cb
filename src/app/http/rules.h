// SPDX-License-Identifier: BSD-3-Clause
// rules.h: what the configuration says of paths: fields, times, redirects and error pages, a line
// each (conf/conf_web.h has the grammar and has checked it), and the `host` lines.
#pragma once
#include "app/http/str.h"
#include "c10m/app.h"

enum http_rule_kind {
    HTTP_RULE_FIELD,     // value: "Name: value"
    HTTP_RULE_EXPIRES,   // number: seconds
    HTTP_RULE_REDIRECT,  // number: status; value: target
    HTTP_RULE_PAGE,      // number: status
};

enum { HTTP_RULES_MAX = 1024 };  // of a service; the configuration's room ends before

// http_rule: texts lie in the configuration, but the path.
struct http_rule {
    enum http_rule_kind kind;
    uint32_t number;
    struct http_text host;  // n 0: of all hosts
    struct http_text value;
    char *path;  // a pattern of keys (path.h), * for any text; malloc'd
};

struct http_rules {
    struct http_rule *at;
    unsigned n;
};

// http_rules_read: the service's rules, in the order of the configuration. -1: a line that is none,
// told in err. http_rules_free: also of zeros.
int http_rules_read(struct http_rules *rules, const struct c10m_service *s, char *err,
                    size_t err_bytes);
void http_rules_free(struct http_rules *rules);

// http_glob: whether `pattern` matches all of the text. Time: their product at worst; for the
// control thread.
bool http_glob(const char *pattern, struct http_text text);

// http_line_next: the next line of a value of several.
static inline bool http_line_next(struct http_text *lines, struct http_text *line)
{
    while (http_text_cut(lines, '\n', line))
        if (line->n != 0)
            return true;
    return false;
}

// http_word_next: the next word up to a blank.
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
