// SPDX-License-Identifier: BSD-3-Clause
// preface.h: the header of the PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt),
// which a load balancer sends before the first byte of the client. No side effects.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_PREFACE_LINE_MAX = 107,    // version 1, limit of the specification
    HTTP_PREFACE_BYTES_MAX = 1024,  // version 2, with its TLVs
};

// http_client: the client in the header. known false: the header has no TCP address (LOCAL,
// UNKNOWN), and the peer of the connection is the client.
struct http_client {
    uint8_t addr[16];  // IPv4 mapped
    uint16_t port;
    bool known;
};

enum http_preface { HTTP_PREFACE_MORE, HTTP_PREFACE_DONE, HTTP_PREFACE_BAD };

// http_preface_read: parses the header at the start of [data, data + len). DONE: the header has
// *used bytes. MORE: it is incomplete. BAD: it is malformed or longer than the limits, reported at
// the first byte that shows it. The result does not depend on the segments in which the bytes
// arrive.
enum http_preface http_preface_read(const uint8_t *data, size_t len, size_t *used,
                                    struct http_client *client);
