// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tap_mark.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 32768 };  // one interface with all its attributes

static const char HEAD[] = "c10m port ";

// ask: sends a request and receives one answer. Returns its length, or -1 with errno.
static ssize_t ask(const void *request, size_t bytes, void *answer, size_t room)
{
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0)
        return -1;
    ssize_t n = send(fd, request, bytes, 0);
    if (n >= 0)
        n = recv(fd, answer, room, 0);
    const int why = errno;
    close(fd);
    errno = why;
    return n;
}

int tap_mark_set(const char *device, const char *port, struct err *err)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg body;
        struct rtattr attr;
        char mark[TAP_MARK_BYTES];
    } request = {
        .head = {0, RTM_SETLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0},
        .body = {.ifi_family = AF_UNSPEC, .ifi_index = (int)if_nametoindex(device)},
    };
    union {
        struct nlmsghdr head;
        struct {
            struct nlmsghdr head;
            struct nlmsgerr error;
        } said;
        char bytes[512];
    } answer;
    const int n = snprintf(request.mark, sizeof(request.mark), "%s%s, process %ld", HEAD, port,
                           (long)getpid());
    request.attr = (struct rtattr){(unsigned short)RTA_LENGTH((size_t)n), IFLA_IFALIAS};
    request.head.nlmsg_len = NLMSG_LENGTH(sizeof(request.body)) + RTA_ALIGN(request.attr.rta_len);
    const ssize_t got = ask(&request, request.head.nlmsg_len, &answer, sizeof(answer));
    const int why = got < 0                              ? errno
                    : got < (ssize_t)sizeof(answer.said) ? EIO
                                                         : -answer.said.error.error;
    return why == 0
               ? 0
               : err_set(err, "port %s: alias of interface %s: %s", port, device, strerror(why));
}

static void read_attributes(const struct nlmsghdr *head, char mark[TAP_MARK_BYTES], bool *carrier)
{
    const struct ifinfomsg *body = NLMSG_DATA(head);
    int left = (int)IFLA_PAYLOAD(head);
    for (const struct rtattr *a = IFLA_RTA(body); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        if (a->rta_type == IFLA_IFALIAS)
            snprintf(mark, TAP_MARK_BYTES, "%.*s", (int)RTA_PAYLOAD(a), (const char *)RTA_DATA(a));
        else if (a->rta_type == IFLA_CARRIER)
            *carrier = *(const uint8_t *)RTA_DATA(a) != 0;
    }
}

// tap_mark_owner: a TAP interface has a carrier while a process has one of its queues open.
enum tap_owner tap_mark_owner(const char *device, char mark[TAP_MARK_BYTES])
{
    const struct {
        struct nlmsghdr head;
        struct ifinfomsg body;
    } request = {
        .head = {sizeof(request), RTM_GETLINK, NLM_F_REQUEST, 1, 0},
        .body = {.ifi_family = AF_UNSPEC, .ifi_index = (int)if_nametoindex(device)},
    };
    union {
        struct nlmsghdr head;
        char bytes[ANSWER_BYTES];
    } answer;
    bool carrier = true;
    mark[0] = '\0';
    const ssize_t n = ask(&request, sizeof(request), &answer, sizeof(answer));
    if (n < 0 || !NLMSG_OK(&answer.head, (size_t)n) || answer.head.nlmsg_type != RTM_NEWLINK)
        return TAP_STRANGER;
    read_attributes(&answer.head, mark, &carrier);
    if (strncmp(mark, HEAD, sizeof(HEAD) - 1) != 0) {
        mark[0] = '\0';
        return TAP_STRANGER;
    }
    return carrier ? TAP_USED : TAP_ORPHAN;
}
