// SPDX-License-Identifier: BSD-3-Clause
#include "conf/conf_web.h"

#include <arpa/inet.h>
#include <string.h>

#include "conf/lists.h"

// Header fields that an http service sets itself. A configured field with such a name could
// contradict it.
static const char reserved[] =
    "accept-ranges|age|connection|content-encoding|content-length|content-range|content-type|date|"
    "etag|keep-alive|last-modified|location|proxy-connection|server|te|trailer|transfer-encoding|"
    "upgrade";

static const char blanks[] = " \t";

struct words {
    const char *at;  // the rest of the line
    char *got;       // the word that is being parsed, for the message
};

// word: copies the next word to to[room] and to got. Returns false if there is none or if it is too
// long.
static bool word(struct words *w, char *to, size_t room)
{
    w->at += strspn(w->at, blanks);
    const size_t n = strcspn(w->at, blanks);
    if (n > 0)
        got_copy(w->got, w->at, n);
    if (n == 0 || n >= room)
        return false;
    memcpy(to, w->at, n);
    to[n] = '\0';
    w->at += n;
    w->at += strspn(w->at, blanks);
    return true;
}

static bool is_literal(const char *name, size_t n)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr a;
    if (n < 4 || name[0] != '[' || name[n - 1] != ']' || n - 2 >= sizeof(text))
        return false;
    memcpy(text, name + 1, n - 2);
    text[n - 2] = '\0';
    return inet_pton(AF_INET6, text, &a) == 1;
}

// example.org, 192.0.2.1, *.example.org, [fd00::1].
static bool is_host_name(const char *name, size_t n)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (n > 2 && memcmp(name, "*.", 2) == 0) {
        name += 2;
        n -= 2;
    }
    if (n == 0 || n > CONF_HOST_NAME_MAX || is_literal(name, n))
        return n != 0 && n <= CONF_HOST_NAME_MAX;
    for (size_t i = 0; i < n; i++)
        if (strchr(chars, name[i]) == NULL || (name[i] == '.' && (i == 0 || name[i - 1] == '.')))
            return false;
    return true;
}

// The last word is the root, and the words before it are names.
static bool is_host(const char *text, char *got)
{
    const char *root = text + strlen(text);
    while (root > text && strchr(blanks, root[-1]) == NULL)
        root--;
    got_copy(got, root, strlen(root));
    if (root == text || strlen(root) >= CONF_PATH_BYTES ||
        (root[0] != '/' && strcmp(root, "-") != 0))
        return false;
    for (const char *p = text; p < root;) {
        p += strspn(p, blanks);
        size_t n = strcspn(p, ", \t");
        got_copy(got, p, n);
        if (!is_host_name(p, n))
            return false;
        p += n;
        p += strspn(p, blanks);
        if (p < root && *p++ != ',')
            return false;
    }
    return true;
}

// A pattern is [HOST]PATH. HOST is the start of the host name, or .NAME, which means *.NAME.
// STARS_ANY allows * everywhere. STARS_LAST allows one * at the end, after a slash.
enum stars { STARS_ANY, STARS_LAST, STARS_NONE };

static bool is_pattern(const char *text, enum stars stars)
{
    const size_t host = strcspn(text, "/*");
    const char *path = text + host, *star = strchr(path, '*');
    const char *name = text[0] == '.' ? text + 1 : text;
    if (path[0] == '\0' ||
        (host != 0 && (path[0] != '/' || !is_host_name(name, host - (size_t)(name - text)))))
        return false;
    for (const char *p = path; *p != '\0'; p++)
        if (*p == '?' || *p == '#' || (unsigned char)*p <= ' ')
            return false;
    if (stars == STARS_ANY || star == NULL)
        return path[0] == '/' || path[0] == '*';
    return stars == STARS_LAST && star > path && star[-1] == '/' && star[1] == '\0';
}

static bool is_field(const char *text, char *got)
{
    static const char tchars[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
    const size_t n = strspn(text, tchars);
    char lower[32] = "";
    got_copy(got, text, strcspn(text, blanks));
    if (n == 0 || text[n] != ':')
        return false;
    for (size_t i = 0; i < n && n < sizeof(lower); i++)
        lower[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] | 0x20 : text[i]);
    return word_index(reserved, lower) < 0;
}

static bool is_header(const char *text, char *got)
{
    char pattern[CONF_PATH_BYTES];
    struct words w = {text, got};
    return word(&w, pattern, sizeof(pattern)) && is_pattern(pattern, STARS_ANY) &&
           is_field(w.at, got);
}

static bool is_expires(const char *text, char *got)
{
    char pattern[CONF_PATH_BYTES], time[16];
    struct words w = {text, got};
    if (!word(&w, pattern, sizeof(pattern)) || !is_pattern(pattern, STARS_ANY) ||
        !word(&w, time, sizeof(time)) || w.at[0] != '\0')
        return false;
    const size_t digits = strspn(time, "0123456789");
    const bool unit = time[digits] != '\0' && strchr("smhd", time[digits]) != NULL;
    return digits > 0 && digits <= (unit && time[digits] != 's' ? 4 : 9) &&
           time[digits + unit] == '\0';
}

// is_target: whether the text is a path or a URL with scheme http or https. star: whether it may
// end with /*.
static bool is_target(const char *target, bool star)
{
    static const char *const schemes[] = {"http://", "https://"};
    const size_t n = strlen(target);
    const char *path = target;
    for (unsigned i = 0; i < 2; i++)
        if (strncmp(target, schemes[i], strlen(schemes[i])) == 0)
            path = target + strlen(schemes[i]);
    if (path != target) {
        const size_t host = strcspn(path, "/?#*");
        if (host == 0 || (path[host] != '/' && path[host] != '\0'))
            return false;
        path += host;
    } else if (path[0] != '/' || path[1] == '/') {
        return false;
    }
    for (const char *p = target; *p != '\0'; p++)
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f || *p == '"' || *p == '\\')
            return false;
    const char *at = strchr(path, '*');
    if (at == NULL)
        return true;
    return star && at == target + n - 1 && at > path && at[-1] == '/' &&
           strpbrk(path, "?#") == NULL;
}

static bool is_redirect(const char *text, char *got)
{
    char pattern[CONF_PATH_BYTES], status[8], target[CONF_TARGET_BYTES];
    struct words w = {text, got};
    return word(&w, pattern, sizeof(pattern)) && is_pattern(pattern, STARS_LAST) &&
           word(&w, status, sizeof(status)) && word_index("301|302|303|307|308", status) >= 0 &&
           word(&w, target, sizeof(target)) && w.at[0] == '\0' &&
           is_target(target, strchr(pattern, '*') != NULL);
}

static bool is_page(const char *text, char *got)
{
    char status[8], pattern[CONF_PATH_BYTES];
    struct words w = {text, got};
    return word(&w, status, sizeof(status)) && word_index(CONF_PAGE_STATUSES, status) >= 0 &&
           word(&w, pattern, sizeof(pattern)) && w.at[0] == '\0' && is_pattern(pattern, STARS_NONE);
}

bool web_parse(const struct key *k, char *field, const char *text, char got[VALUE_GOT_BYTES])
{
    bool (*const good[])(const char *text, char *got) = {
        is_host, is_header, is_expires, is_redirect, is_page,
    };
    for (const char *p = text; *p != '\0'; p++)
        if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
            return false;
    if (!good[k->type - KEY_HOSTS](text, got))
        return false;
    const size_t len = strlen(field), n = strlen(text);
    unsigned lines = 0;
    for (const char *p = field; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    if (k->type == KEY_HOSTS && lines == CONF_HOST_LINES_MAX)
        return false;
    if (len + n + 2 > k->width) {
        got_copy(got, text, n);
        return false;
    }
    memcpy(field + len, text, n);
    memcpy(field + len + n, "\n", 2);
    return true;
}

void web_expected(const struct key *k, struct text *out)
{
    static const char *const lines[] = {
        "NAME[, NAME ...] ROOT, as example.org, *.example.org /srv/example, at most 64 times",
        "PATTERN FIELD: VALUE, as /assets/* Cache-Control: max-age=3600, and no field that the "
        "server sets itself",
        "PATTERN TIME, as *.png 30d (s, m, h, d)",
        "PATTERN STATUS TARGET, as /old/* 301 /new/* (301, 302, 303, 307 or 308; a * only at the "
        "end, behind a slash)",
        "STATUS PATTERN, as 404 /404.html (a status from 400 on that the server gives)",
    };
    text_printf(out, "%s; %u bytes of such lines at most", lines[k->type - KEY_HOSTS],
                k->width - 1);
}
