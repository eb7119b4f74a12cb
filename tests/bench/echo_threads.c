// SPDX-License-Identifier: BSD-3-Clause
// echo_threads.c: an echo server on the kernel with a thread for each connection, as Apache was
// when the curve of Robert Graham's talk was drawn.
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "echo_socket.h"

enum { STACK_BYTES = 64 * 1024, BYTES = 16384 };

static bool send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static void *serve(void *arg)
{
    const int fd = (int)(intptr_t)arg;
    char data[BYTES];
    ssize_t n;
    while ((n = recv(fd, data, sizeof(data), 0)) > 0 && send_all(fd, data, (size_t)n)) {
    }
    close(fd);
    return NULL;
}

int main(void)
{
    const int listener = echo_socket(SOCK_STREAM);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (;;) {
        pthread_t thread;
        const int fd = accept(listener, NULL, NULL);
        if (fd >= 0 && pthread_create(&thread, &attr, serve, (void *)(intptr_t)fd) != 0) {
            fprintf(stderr, "no thread for another connection\n");
            close(fd);
        }
    }
}
