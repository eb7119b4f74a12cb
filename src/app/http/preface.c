// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/preface.h"

#include <arpa/inet.h>
#include <string.h>

enum {
    V2_HEAD = 16,
    V2_LOCAL = 0x20,
    V2_PROXY = 0x21,
    V2_TCP4 = 0x11,
    V2_TCP6 = 0x21,
    ADDRS_4 = 12,
    ADDRS_6 = 36,
};

static const uint8_t signature[12] = "\r\n\r\n\0\r\nQUIT\n";
static const char word[] = "PROXY ";

static void set_v4(struct http_client *c, const uint8_t addr[4])
{
    memset(c->addr, 0, 10);
    memset(c->addr + 10, 0xff, 2);
    memcpy(c->addr + 12, addr, 4);
}

// Version 1: one word up to a space, or to the end of the line.
static bool next_word(const char **at, const char *end, char *to, size_t room)
{
    const char *space = memchr(*at, ' ', (size_t)(end - *at));
    const size_t n = (size_t)((space == NULL ? end : space) - *at);
    if (n == 0 || n >= room)
        return false;
    memcpy(to, *at, n);
    to[n] = '\0';
    *at += n + (space != NULL);
    return true;
}

static bool address(int family, const char *text, struct http_client *c)
{
    uint8_t a[16];
    if (inet_pton(family, text, a) != 1)
        return false;
    if (family == AF_INET)
        set_v4(c, a);
    else
        memcpy(c->addr, a, sizeof(a));
    return true;
}

static bool port(const char *text, uint16_t *value)
{
    uint32_t n = 0;
    if (text[0] == '\0' || strlen(text) > 5 || (text[0] == '0' && text[1] != '\0'))
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (uint32_t)(*text - '0');
    *value = (uint16_t)n;
    return *text == '\0' && n <= UINT16_MAX;
}

// Parses "TCP4 SOURCE DESTINATION PORT PORT", strictly as in the specification.
static bool line(const char *at, const char *end, struct http_client *c)
{
    char family[8], from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], from_port[8], to_port[8];
    struct http_client other;
    if (!next_word(&at, end, family, sizeof(family)))
        return false;
    if (strcmp(family, "UNKNOWN") == 0)
        return true;  // the rest of the line is ignored
    const int af = strcmp(family, "TCP4") == 0   ? AF_INET
                   : strcmp(family, "TCP6") == 0 ? AF_INET6
                                                 : -1;
    c->known = af >= 0 && next_word(&at, end, from, sizeof(from)) &&
               next_word(&at, end, to, sizeof(to)) &&
               next_word(&at, end, from_port, sizeof(from_port)) &&
               next_word(&at, end, to_port, sizeof(to_port)) && at == end && end[-1] != ' ' &&
               address(af, from, c) && address(af, to, &other) && port(from_port, &c->port) &&
               port(to_port, &other.port);
    return c->known;
}

static enum http_preface read_1(const uint8_t *data, size_t len, size_t *used,
                                struct http_client *client)
{
    const size_t most = len < HTTP_PREFACE_LINE_MAX ? len : HTTP_PREFACE_LINE_MAX;
    for (size_t i = sizeof(word) - 1; i < most; i++) {
        if (data[i] == '\r' && i + 1 < most) {
            *used = i + 2;
            const char *from = (const char *)data + sizeof(word) - 1, *end = (const char *)data + i;
            return data[i + 1] == '\n' && line(from, end, client) ? HTTP_PREFACE_DONE
                                                                  : HTTP_PREFACE_BAD;
        }
        if (data[i] != '\r' && (data[i] < ' ' || data[i] > '~'))
            return HTTP_PREFACE_BAD;
    }
    return len >= HTTP_PREFACE_LINE_MAX ? HTTP_PREFACE_BAD : HTTP_PREFACE_MORE;
}

// Parses version 2 after its first 16 bytes have arrived. Unix sockets and unspecified families
// have no client address.
static enum http_preface read_2(const uint8_t *data, size_t len, size_t *used,
                                struct http_client *client)
{
    const uint8_t command = data[12], family = data[13];
    const size_t bytes = (size_t)data[14] << 8 | data[15];
    const uint8_t *addrs = data + V2_HEAD;
    const size_t least = family == V2_TCP4 ? ADDRS_4 : family == V2_TCP6 ? ADDRS_6 : 0;
    const bool stream = family == 0x00 || family == V2_TCP4 || family == V2_TCP6 || family == 0x31;
    if ((command != V2_LOCAL && command != V2_PROXY) || bytes > HTTP_PREFACE_BYTES_MAX - V2_HEAD)
        return HTTP_PREFACE_BAD;
    if (command == V2_PROXY && (!stream || bytes < least))
        return HTTP_PREFACE_BAD;
    if (len < V2_HEAD + bytes)
        return HTTP_PREFACE_MORE;
    *used = V2_HEAD + bytes;
    client->known = command == V2_PROXY && least != 0;
    if (client->known && family == V2_TCP4) {
        set_v4(client, addrs);
        client->port = (uint16_t)(addrs[8] << 8 | addrs[9]);
    } else if (client->known) {
        memcpy(client->addr, addrs, sizeof(client->addr));
        client->port = (uint16_t)(addrs[32] << 8 | addrs[33]);
    }
    return HTTP_PREFACE_DONE;
}

enum http_preface http_preface_read(const uint8_t *data, size_t len, size_t *used,
                                    struct http_client *client)
{
    const size_t first = len < sizeof(word) - 1 ? len : sizeof(word) - 1;
    const size_t second = len < sizeof(signature) ? len : sizeof(signature);
    *client = (struct http_client){.known = false};
    if (memcmp(data, word, first) == 0)
        return len < sizeof(word) - 1 ? HTTP_PREFACE_MORE : read_1(data, len, used, client);
    if (memcmp(data, signature, second) != 0)
        return HTTP_PREFACE_BAD;
    return len < V2_HEAD ? HTTP_PREFACE_MORE : read_2(data, len, used, client);
}
