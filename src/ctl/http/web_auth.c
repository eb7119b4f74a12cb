// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/http/web_auth.h"

#include <string.h>
#include <strings.h>

#include "base/addr.h"
#include "conf/conf.h"

// credentials_of: the part of the header after the name of the scheme; NULL: it has another one.
static const char *credentials_of(const char *header, const char *scheme)
{
    const size_t n = strlen(scheme);
    return header == NULL || strncasecmp(header, scheme, n) != 0 ? NULL : header + n;
}

static bool is_same(const char *got, const char *token)
{
    const size_t n = strlen(got), want = strlen(token);
    unsigned differ = n != want || want == 0;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)got[i] ^ (unsigned char)token[i < want ? i : 0];
    return differ == 0;
}

bool web_token_good(const char *header, const char *token)
{
    const char *got = credentials_of(header, "Bearer ");
    return got != NULL && is_same(got, token);
}

static int digit_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

// decode: base64 of text to out[0..room), terminated. False: malformed, too long, or with a byte 0.
static bool decode(const char *text, char *out, size_t room)
{
    size_t n = 0;
    unsigned bits = 0, held = 0;
    for (; digit_of(*text) >= 0; text++) {
        held = (held << 6 | (unsigned)digit_of(*text)) & 0xffff;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        if (n + 1 == room)
            return false;
        out[n++] = (char)(held >> bits & 0xff);
    }
    out[n] = '\0';
    return text[strspn(text, "=")] == '\0' && strlen(out) == n;
}

bool web_password_good(const char *header, const char *token)
{
    enum { USER_BYTES = 256 };
    char text[USER_BYTES + CONF_TOKEN_BYTES_MAX + 1];
    const char *got = credentials_of(header, "Basic ");
    if (got == NULL || !decode(got, text, sizeof(text)))
        return false;
    const char *colon = strchr(text, ':');
    const bool good = colon != NULL && is_same(colon + 1, token);
    explicit_bzero(text, sizeof(text));
    return good;
}

static bool is_port(const char *text)
{
    const size_t n = strspn(text, "0123456789");
    return n <= 5 && text[n] == '\0';
}

// split: sets host to the part before the port, without brackets.
static bool split(const char *text, char *host, size_t room, bool *bracket)
{
    *bracket = text[0] == '[';
    const size_t n = strcspn(text + *bracket, *bracket ? "]" : ":");
    const char *end = text + *bracket + n + *bracket;
    if (n == 0 || n >= room || (*bracket && end[-1] != ']') ||
        (*end != '\0' && (*end != ':' || !is_port(end + 1))))
        return false;
    memcpy(host, text + *bracket, n);
    host[n] = '\0';
    return true;
}

bool web_host_good(const char *text, const char *name)
{
    char host[64];
    bool bracket;
    struct ip_addr addr;
    if (text == NULL || !split(text, host, sizeof(host), &bracket))
        return false;
    if (ip_parse(host, &addr))
        return bracket == (strchr(host, ':') != NULL);
    return !bracket && (strcasecmp(host, "localhost") == 0 || strcasecmp(host, name) == 0);
}
