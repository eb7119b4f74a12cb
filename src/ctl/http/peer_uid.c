// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/http/peer_uid.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

struct answer {
    struct nlmsghdr head;
    struct inet_diag_msg body;
    uint8_t rest[512];  // unused attributes
};

// end_of: converts address and port for sock_diag. False: neither IPv4 nor IPv6.
static bool end_of(const struct sockaddr *a, __be32 address[4], __be16 *port)
{
    const struct sockaddr_in *v4 = (const void *)a;
    const struct sockaddr_in6 *v6 = (const void *)a;
    if (a->sa_family == AF_INET) {
        memcpy(address, &v4->sin_addr, sizeof(v4->sin_addr));
        *port = v4->sin_port;
        return true;
    }
    if (a->sa_family != AF_INET6)
        return false;
    memcpy(address, &v6->sin6_addr, sizeof(v6->sin6_addr));
    *port = v6->sin6_port;
    return true;
}

static bool ask(const struct question *q, uid_t *uid)
{
    struct answer a = {0};
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    const bool good =
        send(fd, q, sizeof(*q), MSG_DONTWAIT) == (ssize_t)sizeof(*q) &&
        recv(fd, &a, sizeof(a), MSG_DONTWAIT) >= (ssize_t)(sizeof(a.head) + sizeof(a.body)) &&
        a.head.nlmsg_type == SOCK_DIAG_BY_FAMILY &&
        // If there is no such connection, the kernel reports a listener on the port. For a
        // connection that was closed by its process, it reports uid 0 and inode 0.
        a.body.id.idiag_dport == q->body.id.idiag_dport && a.body.idiag_inode != 0;
    close(fd);
    if (good)
        *uid = a.body.idiag_uid;
    return good;
}

bool peer_uid(int fd, const struct sockaddr *peer, uid_t *uid)
{
    struct sockaddr_storage own;
    socklen_t own_bytes = sizeof(own);
    struct question q = {
        .head = {sizeof(q), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0},
        .body = {.sdiag_family = (uint8_t)peer->sa_family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = UINT32_MAX,
                 .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
    };
    struct inet_diag_sockid *id = &q.body.id;  // from the view of the other end
    return getsockname(fd, (struct sockaddr *)&own, &own_bytes) == 0 &&
           own.ss_family == peer->sa_family && end_of(peer, id->idiag_src, &id->idiag_sport) &&
           end_of((const struct sockaddr *)&own, id->idiag_dst, &id->idiag_dport) && ask(&q, uid);
}
