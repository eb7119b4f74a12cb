// SPDX-License-Identifier: BSD-3-Clause
// path.h: converts request targets and file names to keys in one normal form, which are compared
// byte by byte.
//
// A key is an absolute path with a unique percent-encoding: characters that are allowed in a
// segment (RFC 3986 pchar) are not encoded, every other byte is %XX in upper case. No segment is
// "." or "..", and only the last one may be empty: consecutive slashes become one, as in nginx and
// in file systems. A target that equals a key is therefore valid, so a common request needs only
// one look-up.
#pragma once
#include <stddef.h>
#include <stdint.h>

// http_path: writes the key of a request-target in origin or absolute form (RFC 9112 section 3.2)
// to key[0..HTTP_PATH_ROOM(len)), without the query, and returns its length. -1 (status 400): the
// target is malformed or leaves the root by "..". An encoded slash stays encoded, so it matches no
// file. Bytes allowed without encoding: HTTP_PATH_CHAR and HTTP_QUERY_CHAR (chars.h).
#define HTTP_PATH_ROOM(len) (3 * (len) + 1)
int http_path(const uint8_t *target, size_t len, char *key);

// http_path_encode: writes the key of the file path `name`, at most `room` bytes, and returns its
// length; -1: it does not fit.
int http_path_encode(const char *name, char *key, size_t room);

// http_path_hash: a hash of bytes, used in the table of keys and in entity tags. It is not keyed:
// the site's owner chooses the file names, and they alone, not the requests of clients, determine
// the number of probes of a look-up.
uint64_t http_path_hash(const void *bytes, size_t len);
