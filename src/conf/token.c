// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"

// read_line: reads the file, without a newline at its end. Returns the bytes read, or -1 with the
// reason in *e.
static ssize_t read_line(int fd, const char *path, char *line, size_t room, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set(e, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, "expected a regular file, got %s", path);
    if ((st.st_mode & S_IROTH) != 0)
        return err_set(e, "expected a file that not everybody may read (chmod o-r), got %s", path);
    if ((st.st_mode & S_IWOTH) != 0)  // otherwise any user could set the token
        return err_set(e, "expected a file that not everybody may write (chmod o-w), got %s", path);
    ssize_t n = read(fd, line, room);
    if (n < 0)
        return err_set(e, "%s: %s", path, strerror(errno));
    return n - (n > 0 && line[n - 1] == '\n');
}

static int token_check(const char *path, const char *line, size_t n, struct err *e)
{
    if (n < CONF_TOKEN_BYTES_MIN || n > CONF_TOKEN_BYTES_MAX)
        return err_set(e, "expected a file with %d to %d characters, got %s%zu in %s",
                       CONF_TOKEN_BYTES_MIN, CONF_TOKEN_BYTES_MAX,
                       n > CONF_TOKEN_BYTES_MAX ? "more than " : "",
                       MIN(n, (size_t)CONF_TOKEN_BYTES_MAX), path);
    for (size_t i = 0; i < n; i++)
        if (line[i] <= ' ' || line[i] > '~')
            return err_set(e, "expected one line of printable characters without blanks in %s",
                           path);
    return 0;
}

int conf_token_read(const char *path, char token[CONF_TOKEN_BYTES_MAX + 1], struct err *e)
{
    char line[CONF_TOKEN_BYTES_MAX + 2];  // the newline, and one byte to detect a longer token
    memset(token, 0, CONF_TOKEN_BYTES_MAX + 1);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(e, "expected a file that can be read, %s: %s", path, strerror(errno));
    const ssize_t n = read_line(fd, path, line, sizeof(line), e);
    const int rc = n < 0 ? -1 : token_check(path, line, (size_t)n, e);
    if (rc == 0)
        memcpy(token, line, (size_t)n);
    explicit_bzero(line, sizeof(line));
    close(fd);
    return rc;
}
