// SPDX-License-Identifier: BSD-3-Clause
#include "base/log_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum form { FORM_PLAIN, FORM_TIMED, FORM_JOURNAL, FORM_SYSLOG };
enum { FACILITY_DAEMON = 3 << 3, HEAD_BYTES = 128 };

static const char syslog_word[] = "syslog", syslog_socket[] = "/dev/log";

// The log of this process. A file takes the number of stderr: what is written there by others, also
// by threads that may write nowhere else (seccomp), is then in the file. fd: of the lines, which a
// new file or socket takes over, so that a thread that writes has one of the two. before: stderr as
// it was; -1: no file has taken its place.
static struct {
    char target[LOG_TARGET_BYTES], name[LOG_NAME_BYTES];
    enum form form;
    bool journal;  // stderr is one
    int fd, before;
} to = {.target = "stderr", .fd = STDERR_FILENO, .before = -1};

static const char *const level_words[] = {"error: ", "warning: ", "", "debug: "};
static const int severities[] = {3, 4, 6, 7};  // RFC 5424 6.2.1

// ---- targets

// socket_of: the socket of a target that is a syslog; NULL: it is none.
static const char *socket_of(const char *target)
{
    const size_t n = sizeof(syslog_word) - 1;
    if (strncmp(target, syslog_word, n) != 0)
        return NULL;
    return target[n] == '\0' ? syslog_socket : target[n] == ':' ? target + n + 1 : NULL;
}

bool log_target_check(const char *target)
{
    struct sockaddr_un at;
    const char *path = socket_of(target);
    if (strlen(target) >= LOG_TARGET_BYTES)
        return false;
    if (path != NULL)
        return path[0] == '/' && strlen(path) < sizeof(at.sun_path);
    return target[0] == '/' || strcmp(target, "stderr") == 0;
}

// is_journal: whether the service manager has connected stderr to the journal.
static bool is_journal(void)
{
    unsigned long long device, inode;
    struct stat st;
    const char *stream = getenv("JOURNAL_STREAM");
    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

static int open_syslog(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%.*s", (int)sizeof(at.sun_path) - 1, path);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const void *)&at, sizeof(at)) == 0)
        return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int open_target(const char *target)
{
    const char *path = socket_of(target);
    return path != NULL ? open_syslog(path)
                        : open(target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
}

// put_in_place: makes the open file or socket fd what `number` is, and closes fd.
static void put_in_place(int fd, int number)
{
    dup3(fd, number, number == STDERR_FILENO ? 0 : O_CLOEXEC);
    close(fd);
}

static void restore_stderr(void)
{
    if (to.before >= 0)
        put_in_place(to.before, STDERR_FILENO);
    to.before = -1;
}

static void take_file(int fd)
{
    if (to.before < 0)
        to.before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    put_in_place(fd, STDERR_FILENO);
    to.fd = STDERR_FILENO;
}

// leave: gives back what the present target has.
static void leave(void)
{
    if (to.form == FORM_SYSLOG)
        close(to.fd);
    to.fd = STDERR_FILENO;
    to.form = FORM_PLAIN;
    restore_stderr();
}

static enum form form_of(const char *target, enum log_times times)
{
    const bool is_stderr = strcmp(target, "stderr") == 0;
    if (socket_of(target) != NULL)
        return FORM_SYSLOG;
    if (is_stderr && is_journal())
        return FORM_JOURNAL;
    return times == LOG_TIMES_ON || (times == LOG_TIMES_AUTO && !is_stderr) ? FORM_TIMED
                                                                            : FORM_PLAIN;
}

int log_target_set(const char *target, enum log_times times, const char *name, struct err *err)
{
    const bool is_stderr = strcmp(target, "stderr") == 0;
    const int fd = is_stderr ? STDERR_FILENO : open_target(target);
    if (fd < 0)
        return err_set(err, "the log %s: %s", target, strerror(errno));
    leave();
    if (socket_of(target) != NULL)
        to.fd = fd;
    else if (!is_stderr)
        take_file(fd);
    snprintf(to.target, sizeof(to.target), "%s", target);
    snprintf(to.name, sizeof(to.name), "%s", name);
    to.form = form_of(target, times);
    to.journal = to.before < 0 && is_journal();
    return 0;
}

// try_file: like open_target(), but creates nothing.
static int try_file(const char *path)
{
    char dir[LOG_TARGET_BYTES];
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path + 1), path);
    return access(dir, W_OK | X_OK) == 0 ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

int log_target_try(const char *target, struct err *err)
{
    if (strcmp(target, "stderr") == 0)
        return 0;
    const char *socket_path = socket_of(target);
    const int fd = socket_path != NULL ? open_syslog(socket_path) : try_file(target);
    if (fd < 0)
        return err_set(err, "the log %s: %s", target, strerror(errno));
    close(fd);
    return 0;
}

int log_target_reopen(struct err *err)
{
    if (to.target[0] != '/')
        return 0;
    const int fd = open_target(to.target);
    if (fd < 0)
        return err_set(err, "the log %s is not opened again: %s", to.target, strerror(errno));
    take_file(fd);
    return 0;
}

// ---- lines

// head: what stands before the text.
static int head(enum form form, enum log_level level, char out[HEAD_BYTES])
{
    char when[32];
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    switch (form) {
    case FORM_JOURNAL:
        return snprintf(out, HEAD_BYTES, "<%d>%s", severities[level], level_words[level]);
    case FORM_SYSLOG:  // local time, as syslog(3) has it
        strftime(when, sizeof(when), "%b %e %T", localtime_r(&now.tv_sec, &tm));
        return snprintf(out, HEAD_BYTES, "<%d>%s %s[%d]: %s", FACILITY_DAEMON | severities[level],
                        when, to.name, (int)getpid(), level_words[level]);
    case FORM_TIMED:
        strftime(when, sizeof(when), "%FT%T", gmtime_r(&now.tv_sec, &tm));
        return snprintf(out, HEAD_BYTES, "%s.%03ldZ c10m: %s", when, now.tv_nsec / 1000000,
                        level_words[level]);
    default:
        return snprintf(out, HEAD_BYTES, "c10m: %s", level_words[level]);
    }
}

static bool put(int fd, enum form form, enum log_level level, const char *text)
{
    char line[HEAD_BYTES + LOG_TEXT_BYTES];
    const int n = head(form, level, line);
    const size_t room = sizeof(line) - (size_t)n - 1, length = strnlen(text, room);
    memcpy(line + n, text, length);
    size_t all = (size_t)n + length;
    if (form == FORM_SYSLOG)
        return send(fd, line, all, MSG_NOSIGNAL) >= 0;
    line[all++] = '\n';
    return write(fd, line, all) == (ssize_t)all;
}

// again: a syslog that was started again has another socket at its path.
static bool again(enum log_level level, const char *text)
{
    const int fd = to.form == FORM_SYSLOG && errno != EAGAIN ? open_target(to.target) : -1;
    if (fd < 0)
        return false;
    put_in_place(fd, to.fd);
    return put(to.fd, to.form, level, text);
}

void log_target_put(enum log_level level, const char *text)
{
    if (put(to.fd, to.form, level, text) || again(level, text))
        return;
    if (to.before >= 0 || to.fd != STDERR_FILENO)  // else there is no other place to report it
        put(to.before >= 0 ? to.before : STDERR_FILENO, to.journal ? FORM_JOURNAL : FORM_PLAIN,
            level, text);
}

void log_target_crash(const char *text)
{
    char line[HEAD_BYTES + LOG_TEXT_BYTES];
    const int n =
        snprintf(line, sizeof(line), "%s%s\n", to.journal ? "<2>error: " : "c10m: error: ", text);
    if (write(STDERR_FILENO, line, MIN((size_t)n, sizeof(line) - 1)) < 0)
        line[0] = '\0';  // nobody reads it: the process ends all the same
}
