// SPDX-License-Identifier: BSD-3-Clause
// authority.h: parses uri-host [ ":" port ] (RFC 9110 section 7.2, RFC 3986 section 3.2) in Host
// and in targets of absolute and authority form. User information is an error.
#pragma once
#include "app/http/str.h"

// http_authority: whether t is valid. *host and *port are set to its parts; either may be empty.
bool http_authority(struct http_text t, struct http_text *host, struct http_text *port);
