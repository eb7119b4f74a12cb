// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/cmd_reload.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "ctl/cli/client.h"

enum { REPLY_BYTES = 2 << 20, POLL_MS = 100 };

static bool begins(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

// report: of the lines of ctl/reload, those of the last reload. Returns whether one is an error.
static bool report(const char *lines, struct text *said)
{
    bool failed = false;
    for (const char *at = lines; *at != '\0';) {
        const size_t n = strcspn(at, "\n");
        const bool error = begins(at, "error ");
        if (begins(at, "changed ") || begins(at, "restart ") || begins(at, "files ") || error)
            text_printf(said, "%.*s\n", (int)n, at);
        failed |= error;
        at += n + (at[n] == '\n');
    }
    return failed;
}

// read_report: reads ctl/reload until no service reads files any more, which takes as long as the
// files need.
static int read_report(struct ctl_client *client, struct text *lines, struct err *err)
{
    for (;;) {
        text_free(lines);
        const int rc = ctl_client_get(client, "ctl/reload", lines, err);
        if (rc != 0 || strstr(text_str(lines), " under way\n") == NULL)
            return rc;
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000}, NULL);
    }
}

int ctl_reload(const struct conf *c, struct text *said, struct err *err)
{
    char path[2 * CONF_PATH_BYTES];
    struct ctl_client client;
    struct text lines;
    struct err unread;
    err->text[0] = '\0';
    conf_socket_path(c, path, sizeof(path));
    if (path[0] == '\0')
        return err_set(err, "[control] socket is empty: send SIGHUP instead, and read the log");
    if (ctl_client_open(&client, path, CLIENT_TIMEOUT_MS, err) != 0)
        return -1;
    text_init(&lines, REPLY_BYTES);
    const int rc = ctl_client_write(&client, "ctl/reload", "now\n", 4, err);
    bool failed = false;
    if ((rc == 0 || rc == -EINVAL) && read_report(&client, &lines, rc == 0 ? err : &unread) == 0)
        failed = report(text_str(&lines), said);
    else if (rc == 0)
        failed = true;  // *err says why
    if (rc == 0 && failed && err->text[0] == '\0')
        err_set(err, "not all was reloaded");
    text_free(&lines);
    ctl_client_close(&client);
    return rc == 0 && !failed ? 0 : -1;
}
