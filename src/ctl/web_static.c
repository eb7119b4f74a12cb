#include "ctl/web_static.h"

#include "base/base.h"

static const char start_page[] = "/proc/    what the server shows, as at its mount\n"
                                 "/metrics  the same as Prometheus reads it\n";

const struct web_static web_statics[] = {
    {"/", "text/plain; charset=utf-8", start_page, sizeof(start_page) - 1},
};
const unsigned web_n_statics = ARRAY_LEN(web_statics);
