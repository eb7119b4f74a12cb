// SPDX-License-Identifier: BSD-3-Clause
// site_compare.h: how the files of two sites of a service differ.
#pragma once
#include "app/http/site.h"

// http_site_compare: sets to->changes to those since `from`, made from the same configuration. A
// file has changed if its content, time or additional fields have. Any thread that may use both.
void http_site_compare(const struct http_site *from, struct http_site *to);

// http_site_say: writes "1,204 files (12 new, 3 changed, 1 removed), 34 MiB, in 0.21 s" to text.
void http_site_say(const struct http_site *site, char *text, size_t bytes);
