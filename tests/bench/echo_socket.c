// SPDX-License-Identifier: BSD-3-Clause
#include "echo_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

int echo_socket(int type)
{
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(ECHO_PORT)};
    struct rlimit files;
    const int one = 1;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        die("RLIMIT_NOFILE");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        die("RLIMIT_NOFILE");
    const int fd = socket(AF_INET, type, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        bind(fd, (const struct sockaddr *)&any, sizeof(any)) != 0)
        die("port 7");
    if ((type & SOCK_STREAM) != 0 &&
        (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
         listen(fd, ECHO_BACKLOG) != 0))
        die("listen");
    return fd;
}
