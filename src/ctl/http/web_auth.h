// SPDX-License-Identifier: BSD-3-Clause
// web_auth.h: checks of the token and of the header Host. No side effects.
#pragma once
#include <stdbool.h>

// web_token_good: whether the header `Authorization: Bearer TOKEN` has the token. The time depends
// only on the length of the header. False if header is NULL.
bool web_token_good(const char *header, const char *token);

// web_password_good: whether the header `Authorization: Basic ...` has the token as the password,
// of any user: go tool pprof sends this header for http://USER:TOKEN@HOST/..., and can send no
// other. The time depends only on the length of the header.
bool web_password_good(const char *header, const char *token);

// web_host_good: whether the header Host (HOST or HOST:PORT) is an address, "localhost" or `name`.
// This detects DNS rebinding: a page whose name resolves to this server sends that name. False if
// host is NULL.
bool web_host_good(const char *host, const char *name);
