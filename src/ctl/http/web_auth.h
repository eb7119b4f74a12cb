// SPDX-License-Identifier: BSD-3-Clause
// web_auth.h: who may ask: the token, and the names under which this server is asked. Pure.
#pragma once
#include <stdbool.h>

// web_token_good: does the header `Authorization: Bearer TOKEN` bring the token? The time it takes
// depends on the length of what was sent only. header NULL: no.
bool web_token_good(const char *header, const char *token);

// web_host_good: is the header Host (HOST or HOST:PORT) an address, "localhost" or `name`? A page
// whose own name was made to point here (DNS rebinding) sends that name. NULL: no.
bool web_host_good(const char *host, const char *name);
