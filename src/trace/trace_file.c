// SPDX-License-Identifier: BSD-3-Clause
#include "trace/trace_file.h"

#include <errno.h>
#include <string.h>

#include "trace/trace_format.h"

static const struct {
    const char *name, *type;
    int (*write)(struct trace_reader *r, const struct trace_about *a, struct text *out);
} formats[TRACE_FORMATS] = {
    [TRACE_FORMAT_GO] = {"go", "application/octet-stream", go_trace_write},
    [TRACE_FORMAT_PERFETTO] = {"perfetto", "application/octet-stream", perfetto_write},
    [TRACE_FORMAT_CHROME] = {"chrome", "application/json", chrome_write},
};

int trace_format_find(const char *name)
{
    for (int i = 0; name != NULL && i < TRACE_FORMATS; i++)
        if (strcmp(name, formats[i].name) == 0)
            return i;
    return name == NULL ? TRACE_FORMAT_GO : -1;
}

const char *trace_format_names(void)
{
    return "go, perfetto or chrome";
}

const char *trace_format_type(enum trace_format f)
{
    return formats[f].type;
}

bool trace_next(struct trace_reader *r, const struct text *out, size_t event_bytes, size_t rest,
                struct trace_event *e)
{
    if (out->error != 0)
        return false;
    if (out->limit_bytes - out->len < event_bytes * (1 + trace_reader_ends(r)) + rest)
        trace_reader_cut(r);
    return trace_reader_next(r, e);
}

int trace_file_write(const struct trace_log *l, int64_t from_ns, enum trace_format f,
                     struct text *out)
{
    struct trace_reader *r = trace_reader_new(l, from_ns);
    if (r == NULL)
        return -ENOMEM;
    const int error = formats[f].write(r, &l->about, out);
    trace_reader_free(r);
    return error;
}
