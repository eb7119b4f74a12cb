// SPDX-License-Identifier: BSD-3-Clause
#include "top/top_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void top_list_clear(struct top_list *l)
{
    l->n = 0;
    l->present = false;
}

void top_list_free(struct top_list *l)
{
    free(l->pairs);
    *l = (struct top_list){0};
}

static int grow(struct top_list *l)
{
    const unsigned room = l->room == 0 ? 128 : l->room * 2;
    struct top_pair *pairs = realloc(l->pairs, room * sizeof(*pairs));
    if (pairs == NULL)
        return -ENOMEM;
    l->pairs = pairs;
    l->room = room;
    return 0;
}

// Parses one line [at, end). False: it is not `name value`.
static bool parse_line(const char *at, const char *end, struct top_pair *p)
{
    size_t name = 0;
    while (at + name < end && !isblank((unsigned char)at[name]))
        name++;
    const char *digits = at + name;
    while (digits < end && isblank((unsigned char)*digits))
        digits++;
    if (name == 0 || digits == end || digits == at + name)
        return false;
    uint64_t value = 0;
    for (; digits < end; digits++)
        if (!isdigit((unsigned char)*digits) || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*digits - '0'), &value))
            return false;
    name = MIN(name, sizeof(p->name) - 1);
    memcpy(p->name, at, name);
    p->name[name] = '\0';
    p->value = value;
    return true;
}

int top_list_parse(struct top_list *l, const char *text)
{
    top_list_clear(l);
    while (*text != '\0' && l->n < TOP_PAIRS_MAX) {
        const char *end = strchrnul(text, '\n');
        if (l->n == l->room && grow(l) != 0) {
            top_list_clear(l);
            return -ENOMEM;
        }
        l->n += parse_line(text, end, &l->pairs[l->n]);
        text = *end == '\0' ? end : end + 1;
    }
    l->present = true;
    return 0;
}

const struct top_pair *top_list_same(const struct top_list *l, unsigned at, const char *name)
{
    if (l == NULL)
        return NULL;
    if (at < l->n && strcmp(l->pairs[at].name, name) == 0)
        return &l->pairs[at];
    for (unsigned i = 0; i < l->n; i++)
        if (strcmp(l->pairs[i].name, name) == 0)
            return &l->pairs[i];
    return NULL;
}

bool top_list_find(const struct top_list *l, const char *name, uint64_t *value)
{
    const struct top_pair *p = top_list_same(l, 0, name);
    if (p != NULL)
        *value = p->value;
    return p != NULL;
}

uint64_t top_list_get(const struct top_list *l, const char *name)
{
    uint64_t value = 0;
    top_list_find(l, name, &value);
    return value;
}

uint64_t top_grown(const struct top_list *now, const struct top_list *before, unsigned at)
{
    const struct top_pair *p = &now->pairs[at], *q = top_list_same(before, at, p->name);
    return q == NULL ? p->value : p->value - MIN(p->value, q->value);
}

uint64_t top_grown_name(const struct top_list *now, const struct top_list *before, const char *name)
{
    const struct top_pair *p = top_list_same(now, 0, name);
    return p == NULL ? 0 : top_grown(now, before, (unsigned)(p - now->pairs));
}

// Whether the value may decrease.
static bool is_gauge(const char *name)
{
    const size_t n = strlen(name);
    return (n > 4 && strcmp(name + n - 4, "_now") == 0) || strcmp(name, "balance") == 0;
}

bool top_list_fell(const struct top_list *now, const struct top_list *before)
{
    for (unsigned i = 0; before != NULL && i < now->n; i++) {
        const struct top_pair *q = top_list_same(before, i, now->pairs[i].name);
        if (q != NULL && now->pairs[i].value < q->value && !is_gauge(q->name))
            return true;
    }
    return false;
}
