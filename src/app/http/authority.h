// SPDX-License-Identifier: BSD-3-Clause
// authority.h: uri-host [ ":" port ] (RFC 9110 section 7.2, RFC 3986 section 3.2), as Host and the
// absolute and authority forms of a target carry it. User information is refused.
#pragma once
#include "app/http/str.h"

// http_authority: whether it is one. *host and *port (either may be empty) get its parts.
bool http_authority(struct http_text t, struct http_text *host, struct http_text *port);
