// SPDX-License-Identifier: BSD-3-Clause
// preface.h: the header of the PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt),
// which a load balancer sends before the first byte of the client. Pure.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_PREFACE_LINE_MAX = 107,    // of version 1, as it says
    HTTP_PREFACE_BYTES_MAX = 1024,  // of version 2 with what it carries beside addresses
};

// http_client: whom the header names. known false: nobody (LOCAL, UNKNOWN, no address of TCP): the
// connection's own peer counts.
struct http_client {
    uint8_t addr[16];  // IPv4 mapped
    uint16_t port;
    bool known;
};

enum http_preface { HTTP_PREFACE_MORE, HTTP_PREFACE_DONE, HTTP_PREFACE_BAD };

// http_preface_read: reads the header that [data, data + len) begins with. DONE: it is *used bytes
// long. MORE: it has no end yet. BAD: it is none, or longer than the limits; that is told by the
// first byte that shows it. The verdict does not depend on how the bytes were cut.
enum http_preface http_preface_read(const uint8_t *data, size_t len, size_t *used,
                                    struct http_client *client);
