// SPDX-License-Identifier: BSD-3-Clause
#include "conf/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "conf/conf_web.h"
#include "conf/lists.h"

void got_copy(char got[VALUE_GOT_BYTES], const char *text, size_t n)
{
    n = MIN(n, (size_t)VALUE_GOT_BYTES - 1);
    for (size_t i = 0; i < n; i++)
        got[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
    got[n] = '\0';
}

uint64_t number_get(const void *field, uint32_t width)
{
    uint64_t value = 0;
    memcpy(&value, field, width);  // the low bytes: x86-64 is little-endian
    return value;
}

void number_set(void *field, uint32_t width, uint64_t value)
{
    memcpy(field, &value, width);
}

// digits: parses the decimal number at *at. Returns false if there is none or if it exceeds
// 2^64 - 1.
static bool digits(const char **at, uint64_t *value)
{
    const char *p = *at;
    *value = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*p - '0'), value))
            return false;
    bool found = p != *at;
    *at = p;
    return found;
}

struct suffix {
    const char *text;
    uint64_t factor;
};

// suffixes: the suffixes of a type and their factors. The last suffix is empty.
static const struct suffix *suffixes(enum key_type type)
{
    static const struct suffix none[] = {{"", 1}};
    static const struct suffix count[] = {{"k", 1000}, {"M", 1000000}, {"", 1}};
    static const struct suffix size[] = {{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"", 1}};
    static const struct suffix ms[] = {{"ms", 1}, {"s", 1000}, {"", 1}};
    return type == KEY_COUNT ? count : type == KEY_SIZE ? size : type == KEY_MS ? ms : none;
}

static bool parse_number(const struct key *k, const char *text, uint64_t *value)
{
    if (!digits(&text, value))
        return false;
    const struct suffix *s = suffixes(k->type);
    while (s->text[0] != '\0' && strcmp(s->text, text) != 0)
        s++;
    if (strcmp(s->text, text) != 0 || __builtin_mul_overflow(*value, s->factor, value))
        return false;
    if (k->type == KEY_POWER && (*value & (*value - 1)) != 0)
        return false;
    return *value >= k->min && *value <= k->max;
}

// Parses "12.5" or "12.5%" into millionths of the whole.
static bool parse_percent(const char *text, uint64_t *ppm)
{
    uint64_t whole;
    if (!digits(&text, &whole) || whole > 100)
        return false;
    *ppm = whole * 10000;
    if (*text == '.') {
        text++;
        uint64_t unit = 1000;
        if (*text < '0' || *text > '9')
            return false;
        for (; *text >= '0' && *text <= '9'; text++, unit /= 10) {
            if (unit == 0)
                return false;
            *ppm += (uint64_t)(*text - '0') * unit;
        }
    }
    if (*text == '%')
        text++;
    return *text == '\0' && *ppm <= 1000000;
}

static bool parse_scalar(const struct key *k, const char *text, uint64_t *value)
{
    const bool is_number = k->unlimited == NULL && strcmp(text, "0") == 0;  // else: which of both?
    if (k->zero != NULL && (is_number || strcmp(text, k->zero) == 0)) {
        *value = 0;
        return true;
    }
    if (k->unlimited != NULL && strcmp(text, k->unlimited) == 0) {
        *value = CONF_UNLIMITED;
        return true;
    }
    if (k->type == KEY_PERCENT)
        return parse_percent(text, value);
    if (k->type != KEY_BOOL && k->type != KEY_WORD)
        return parse_number(k, text, value);
    int word = word_index(k->type == KEY_BOOL ? "off|on" : k->words, text);
    *value = (uint64_t)word;
    return word >= 0;
}

bool is_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    return n > 0 && n < CONF_NAME_BYTES && text[n] == '\0';
}

static bool good_text(const struct key *k, const char *text)
{
    size_t len = strlen(text);
    switch (k->type) {
    case KEY_DRIVER:
        return word_index(k->words, text) >= 0;
    case KEY_NAME:
        return is_name(text);
    case KEY_TEXT:
        return len <= k->max && strpbrk(text, " \t") == NULL;
    case KEY_DIR:
        return len <= k->max && text[0] == '/';
    default:
        return len <= k->max;
    }
}

static bool parse_text(const struct key *k, char *field, const char *text)
{
    for (const char *p = text; *p != '\0'; p++)
        if (iscntrl((unsigned char)*p))
            return false;
    if (!good_text(k, text))
        return false;
    value_clear(k, field);
    memcpy(field, text, strlen(text));
    return true;
}

// address_of: parses an address of the family that the key requires.
static bool address_of(const struct key *k, struct ip_addr *field, const char *text)
{
    struct ip_addr a;
    if (!address_parse(&a, text) || ip_is_v4(&a) != (k->type == KEY_ADDRESS4))
        return false;
    *field = a;
    return true;
}

bool value_parse(const struct key *k, void *field, const char *text, char got[VALUE_GOT_BYTES])
{
    got_copy(got, text, strlen(text));
    if (text[0] == '\0')
        return k->optional;
    switch (k->type) {
    case KEY_CPUS:
        return cpus_parse(field, k->zero, text, got);
    case KEY_ADDRESS:
        return address_parse(field, text);
    case KEY_ADDRESS4:
    case KEY_ADDRESS6:
        return address_of(k, field, text);
    case KEY_PREFIXES:
        return prefixes_parse(field, text, got);
    case KEY_MAC:
        return mac_parse(field, text);
    case KEY_NEIGHBORS:
        return neighbors_parse(field, text, got);
    case KEY_ROUTES:
        return routes_parse(field, text, got);
    case KEY_PORTS:
        return ports_parse(field, text, got);
    case KEY_ENDPOINT:
        return endpoint_parse(field, text);
    case KEY_NAMES:
        return names_parse(field, text, got);
    case KEY_SET:
        return set_parse(k, field, text, got);
    case KEY_DRIVER:
    case KEY_NAME:
    case KEY_TEXT:
    case KEY_DIR:
    case KEY_PATH:
        return parse_text(k, field, text);
    case KEY_HOSTS:
    case KEY_HEADERS:
    case KEY_EXPIRES:
    case KEY_REDIRECTS:
    case KEY_PAGES:
        return web_parse(k, field, text, got);
    default:;
    }
    uint64_t value;
    if (!parse_scalar(k, text, &value))
        return false;
    number_set(field, k->width, value);
    return true;
}

void value_clear(const struct key *k, void *field)
{
    memset(field, 0, k->width);
}

static void print_scalar(const struct key *k, uint64_t value, struct text *out)
{
    if (value == 0 && k->zero != NULL)
        text_printf(out, "%s", k->zero);
    else if (value == CONF_UNLIMITED && k->unlimited != NULL)
        text_printf(out, "%s", k->unlimited);
    else if (k->type == KEY_BOOL)
        text_printf(out, "%s", value ? "on" : "off");
    else if (k->type == KEY_PERCENT && value % 10000 != 0)
        text_printf(out, "%" PRIu64 ".%04" PRIu64, value / 10000, value % 10000);
    else
        text_printf(out, "%" PRIu64, k->type == KEY_PERCENT ? value / 10000 : value);
}

static void print_word(const char *words, uint64_t value, struct text *out)
{
    for (; value > 0; value--)
        words = strchr(words, '|') + 1;
    text_put(out, words, strcspn(words, "|"));
}

void value_print(const struct key *k, const void *field, struct text *out)
{
    switch (k->type) {
    case KEY_CPUS:
        cpus_print(field, k->zero, out);
        return;
    case KEY_ADDRESS:
    case KEY_ADDRESS4:
    case KEY_ADDRESS6:
        address_print(field, out);
        return;
    case KEY_PREFIXES:
        prefixes_print(field, out);
        return;
    case KEY_MAC:
        mac_print(field, out);
        return;
    case KEY_NEIGHBORS:
        neighbors_print(field, out);
        return;
    case KEY_ROUTES:
        routes_print(field, out);
        return;
    case KEY_PORTS:
        ports_print(field, out);
        return;
    case KEY_ENDPOINT:
        endpoint_print(field, out);
        return;
    case KEY_NAMES:
        names_print(field, out);
        return;
    case KEY_SET:
        set_print(k, (uint32_t)number_get(field, k->width), out);
        return;
    case KEY_DRIVER:
    case KEY_NAME:
    case KEY_TEXT:
    case KEY_DIR:
    case KEY_PATH:
    case KEY_HOSTS:
    case KEY_HEADERS:
    case KEY_EXPIRES:
    case KEY_REDIRECTS:
    case KEY_PAGES:
        text_printf(out, "%s", (const char *)field);
        return;
    case KEY_WORD:
        print_word(k->words, number_get(field, k->width), out);
        return;
    default:
        print_scalar(k, number_get(field, k->width), out);
    }
}

// print_size: prints with the largest unit that divides the value: 65536 as 64K.
static void print_size(uint64_t bytes, struct text *out)
{
    static const char *const suffix[] = {"", "K", "M", "G"};
    unsigned i = 0;
    for (; i < 3 && bytes != 0 && bytes % 1024 == 0; i++)
        bytes /= 1024;
    text_printf(out, "%" PRIu64 "%s", bytes, suffix[i]);
}

static void expected_range(const struct key *k, const char *what, const char *hint,
                           struct text *out)
{
    text_printf(out, "%s from ", what);
    if (k->type == KEY_SIZE) {
        print_size(k->min, out);
        text_printf(out, " to ");
        print_size(k->max, out);
    } else {
        text_printf(out, "%" PRIu64 " to %" PRIu64, k->min, k->max);
    }
    text_printf(out, "%s", hint);
}

static void expected_number(const struct key *k, struct text *out)
{
    if (k->zero != NULL)
        text_printf(out, "%s%s", k->zero, k->unlimited != NULL ? ", " : " or ");
    if (k->unlimited != NULL)
        text_printf(out, "%s or ", k->unlimited);
    switch (k->type) {
    case KEY_POWER:
        expected_range(k, "a power of two", "", out);
        return;
    case KEY_COUNT:
        expected_range(k, "a whole number", " (k: thousands, M: millions)", out);
        return;
    case KEY_SIZE:
        expected_range(k, "bytes", " (K, M, G: powers of 1024)", out);
        return;
    case KEY_MS:
        expected_range(k, "milliseconds", " (or seconds, as 2s)", out);
        return;
    default:
        expected_range(k, "a whole number", "", out);
    }
}

void value_expected(const struct key *k, struct text *out)
{
    switch (k->type) {
    case KEY_PERCENT:
        text_printf(out, "a percentage from 0 to 100, as 0.5 (at most four decimals)");
        return;
    case KEY_BOOL:
        text_printf(out, "on or off");
        return;
    case KEY_WORD:
    case KEY_DRIVER:
        words_list(k->words, out);
        return;
    case KEY_SET:
        text_printf(out, "%s, none or a list of ", k->zero);
        words_list(k->words, out);
        return;
    case KEY_CPUS:
        text_printf(out, "%s or a list of core numbers, as 0-1,4", k->zero);
        return;
    case KEY_ADDRESS:
        text_printf(out, "an address, as 10.0.0.1 or fd00::1");
        return;
    case KEY_ADDRESS4:
        text_printf(out, "an IPv4 address, as 10.0.0.1");
        return;
    case KEY_ADDRESS6:
        text_printf(out, "an IPv6 address, as fd00::1");
        return;
    case KEY_PREFIXES:
        text_printf(out, "at most %d addresses and prefixes, as 10.0.0.2/24, fd00::2/64",
                    CONF_ADDRESSES_MAX);
        return;
    case KEY_MAC:
        text_printf(out, "a unicast MAC address, as 02:00:00:00:00:01");
        return;
    case KEY_NEIGHBORS:
        text_printf(out, "at most %d neighbors, ADDRESS MAC, as 10.0.0.1 02:00:00:00:00:01",
                    CONF_NEIGHBORS_MAX);
        return;
    case KEY_ROUTES:
        text_printf(out, "at most %d routes, PREFIX via ADDRESS, as 10.1.0.0/16 via 10.0.0.9",
                    CONF_ROUTES_MAX);
        return;
    case KEY_PORTS:
        text_printf(out, "at most %d TCP ports from 1 to 65535, as 80, 8080",
                    CONF_SERVICE_PORTS_MAX);
        return;
    case KEY_ENDPOINT:
        text_printf(out, "an address and a port, as 10.0.0.1:80 or [fd00::1]:80");
        return;
    case KEY_NAMES:
        text_printf(out, "at most %d different names, as p0, p1", CONF_MEMBERS_MAX);
        return;
    case KEY_NAME:
        text_printf(out, "a name of 1 to %d letters, digits, - and _", CONF_NAME_BYTES - 1);
        return;
    case KEY_TEXT:
        text_printf(out, "at most %" PRIu64 " characters without blanks", k->max);
        return;
    case KEY_DIR:
        text_printf(out, "an absolute path of at most %" PRIu64 " characters", k->max);
        return;
    case KEY_PATH:
        text_printf(out, "a path of at most %" PRIu64 " characters", k->max);
        return;
    case KEY_HOSTS:
    case KEY_HEADERS:
    case KEY_EXPIRES:
    case KEY_REDIRECTS:
    case KEY_PAGES:
        web_expected(k, out);
        return;
    default:
        expected_number(k, out);
    }
}
