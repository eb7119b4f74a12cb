// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/http/web_auth.h"

#include <string.h>
#include <strings.h>

#include "base/addr.h"
#include "conf/conf.h"

bool web_token_good(const char *header, const char *token)
{
    static const char scheme[] = "Bearer ";
    if (header == NULL || strncasecmp(header, scheme, sizeof(scheme) - 1) != 0)
        return false;
    const char *got = header + sizeof(scheme) - 1;
    const size_t n = strlen(got), want = strlen(token);
    unsigned differ = n != want || want == 0;
    for (size_t i = 0; i < n; i++)
        differ |= (unsigned char)got[i] ^ (unsigned char)token[i < want ? i : 0];
    return differ == 0;
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
