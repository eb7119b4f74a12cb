// SPDX-License-Identifier: BSD-3-Clause
// path.h: request targets and file names as keys of one form, so that one comparison of bytes
// decides.
//
// A key is an absolute path, percent-encoded in one way only: characters that may stand for
// themselves in a segment (RFC 3986 pchar) do, every other byte is %XX in capitals, and no segment
// is "." or ".." or, but the last, empty: slashes that follow each other are one, as nginx and
// every file system read them. A raw target that equals a key is therefore valid as it is: the
// common request needs no more than a look-up.
#pragma once
#include <stddef.h>
#include <stdint.h>

// http_path: writes the key of a request-target in origin or absolute form (RFC 9112 section 3.2)
// to key[0..HTTP_PATH_ROOM(len)) and returns its length; the query is left out. -1: a malformed
// target, or one that climbs above the root: 400. An encoded slash stays encoded, so it matches no
// file. Bytes that stand for themselves: HTTP_PATH_CHAR and HTTP_QUERY_CHAR (chars.h).
#define HTTP_PATH_ROOM(len) (3 * (len) + 1)
int http_path(const uint8_t *target, size_t len, char *key);

// http_path_encode: the key of the path `name` ('/' separates), at most `room` bytes; returns its
// length, or -1 when there is too little room.
int http_path_encode(const char *name, char *key, size_t room);

// http_path_hash: of any bytes; the keys' table and the entity tags use it. Not keyed: the files of
// a site are its owner's, and a look-up's probes are bounded by them, not by what a client asks.
uint64_t http_path_hash(const void *bytes, size_t len);
