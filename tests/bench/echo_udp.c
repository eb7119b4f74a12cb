// SPDX-License-Identifier: BSD-3-Clause
// echo_udp.c: a UDP echo server on the kernel: up to 64 datagrams a call each way.
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#include "echo_socket.h"

enum { BATCH = 64, BYTES = 2048, BUFFER_BYTES = 4 << 20 };

static char data[BATCH][BYTES];
static struct sockaddr_in from[BATCH];
static struct iovec parts[BATCH];
static struct mmsghdr messages[BATCH];

int main(void)
{
    const int fd = echo_socket(SOCK_DGRAM), bytes = BUFFER_BYTES;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes));
    for (;;) {
        for (int i = 0; i < BATCH; i++) {
            parts[i] = (struct iovec){data[i], BYTES};
            messages[i].msg_hdr = (struct msghdr){
                .msg_name = &from[i],
                .msg_namelen = sizeof(from[i]),
                .msg_iov = &parts[i],
                .msg_iovlen = 1,
            };
        }
        const int n = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);
        for (int i = 0; i < n; i++)
            parts[i].iov_len = messages[i].msg_len;
        for (int sent = 0; sent < n;) {
            const int k = sendmmsg(fd, messages + sent, (unsigned)(n - sent), 0);
            sent += k > 0 ? k : 1;  // one that cannot be sent is lost, as datagrams are
        }
    }
}
