// SPDX-License-Identifier: BSD-3-Clause
// web_pprof_index.c: the page /debug/pprof/: as Go's, without a script or a style.
#include <inttypes.h>

#include "ctl/http/web_pprof.h"
#include "prof/prof.h"

static void put_escaped(struct text *out, const char *text)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '<':
            text_printf(out, "&lt;");
            break;
        case '&':
            text_printf(out, "&amp;");
            break;
        default:
            text_put(out, text, 1);
        }
}

static void row(struct text *out, const struct prof *prof, const struct prof_kind *kind)
{
    text_printf(out, "<tr><td align=right>");
    if (kind->count != NULL)
        text_printf(out, "%" PRIu64, kind->count(prof_shown_of(prof)));
    text_printf(out, "</td><td><a href=\"%s%s\">%s</a></td></tr>\n", kind->name,
                kind->timed ? "" : "?debug=1", kind->name);
}

static void description(struct text *out, const char *name, const char *help)
{
    text_printf(out, "<dt><a href=\"%s\">%s</a></dt><dd>", name, name);
    put_escaped(out, help);
    text_printf(out, "</dd>\n");
}

void web_pprof_index(const struct prof *prof, struct text *out)
{
    text_printf(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<title>/debug/pprof/</title></head>\n<body>\n<h1>/debug/pprof/</h1>\n"
                     "<p>Parameters: <code>debug=1</code> or <code>2</code> for text, "
                     "<code>seconds=N</code> for the duration of a profile, or for the difference "
                     "over so many seconds.</p>\n"
                     "<table>\n<tr><th>Count</th><th align=left>Profile</th></tr>\n");
    const struct prof_kind *kind;
    for (unsigned i = 0; (kind = prof_kind_at(prof, i)) != NULL; i++)
        row(out, prof, kind);
    text_printf(out, "</table>\n<h2>Descriptions</h2>\n<dl>\n");
    for (unsigned i = 0; (kind = prof_kind_at(prof, i)) != NULL; i++)
        description(out, kind->name, kind->help);
    description(out, "cmdline", "The command line of this program, separated by bytes 0.");
    description(out, "symbol",
                "Names of functions at addresses, given in the query or in the body of a POST, "
                "separated by +.");
    text_printf(out, "</dl>\n</body></html>\n");
}
