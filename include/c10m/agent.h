// SPDX-License-Identifier: BSD-3-Clause
// The socket agent's wire format: BSD socket calls on the user-mode stack, driven from another
// process.
//
// The socket is AF_UNIX, SOCK_SEQPACKET. Each request gets one reply, in the order of the requests
// of a client connection. Several client connections may be open at the same time. A request that
// blocks (accept, connect, read, write, poll) does not delay the other client connections. Integers
// have the byte order of the host. Constants (AF_*, SOCK_*, O_NONBLOCK, MSG_*, SOL_*, SO_*, TCP_*,
// POLL*, errno) have the values of Linux. Descriptors are small non-negative integers that the
// agent assigns. All client connections share them.
#pragma once
#include <stdint.h>

enum agent_op {
    AGENT_SOCKET =
        1,          // a[0] domain, a[1] type (SOCK_NONBLOCK may be or-ed in), a[2] protocol -> fd
    AGENT_BIND,     // addr
    AGENT_LISTEN,   // a[0] backlog
    AGENT_ACCEPT,   // -> fd, addr of the peer; blocks unless the listener is O_NONBLOCK (then
                    // EAGAIN)
    AGENT_CONNECT,  // addr; blocks until established or failed; O_NONBLOCK: EINPROGRESS
    AGENT_READ,     // a[0] bytes wanted -> count, data; 0 at the peer's FIN
    AGENT_RECV,     // a[0] bytes wanted, a[1] flags (MSG_PEEK, MSG_DONTWAIT) -> count, data
    AGENT_WRITE,   // data -> count; blocks while the send buffer is full, O_NONBLOCK: what fits, or
                   // EAGAIN
    AGENT_SEND,    // data, a[1] flags -> count
    AGENT_SENDTO,  // data, a[1] flags, addr -> count
    AGENT_RECVFROM,    // a[0] bytes wanted, a[1] flags -> count, data, addr
    AGENT_FCNTL,       // a[0] F_GETFL or F_SETFL, a[1] argument (O_NONBLOCK)
    AGENT_IOCTL,       // a[0] SIOCINQ or SIOCOUTQ -> data: int
    AGENT_CLOSE,       // SO_LINGER {1,0}, or unread data, resets the connection, as Linux does
    AGENT_SHUTDOWN,    // a[0] SHUT_RD, SHUT_WR, SHUT_RDWR
    AGENT_GETSOCKOPT,  // a[0] level, a[1] name, a[2] room -> data
    AGENT_SETSOCKOPT,  // a[0] level, a[1] name, data
    AGENT_POLL,  // a[0] count, a[1] timeout ms (-1: none), data: struct pollfd[count] -> ready
                 // count, same array
    AGENT_EPOLL_CREATE,  // -> fd
    AGENT_EPOLL_CTL,     // fd the epoll descriptor, a[0] EPOLL_CTL_*, a[1] target fd, data: struct
                         // epoll_event
    AGENT_EPOLL_WAIT,    // a[0] events at most, a[1] timeout ms -> count, data: struct
                         // epoll_event[count]
    AGENT_RESET,        // resets (RST) and closes every open socket, listeners included; TIME-WAIT,
                        // half-open records, SYN cookies and path MTUs are removed
    AGENT_GETSOCKNAME,  // -> addr; before bind or connect 0.0.0.0 or ::, port 0
    AGENT_GETPEERNAME,  // -> addr
    AGENT_OPS_END,      // number of operations, plus 1
};

enum { AGENT_DATA_BYTES_MAX = 200 * 1024, AGENT_ADDR_BYTES = 32 };

struct agent_request {
    uint32_t op;
    int32_t fd;  // -1 if the call has no descriptor
    int64_t a[5];
    uint32_t addr_bytes;  // valid bytes of addr (a struct sockaddr_in or sockaddr_in6)
    uint32_t data_bytes;  // bytes that follow the header
    uint8_t addr[AGENT_ADDR_BYTES];
    uint8_t data[];
};

struct agent_reply {
    int64_t ret;    // the return value of the call; -1 on failure
    int32_t error;  // errno if ret is -1
    uint32_t addr_bytes;
    uint32_t data_bytes;
    uint32_t zero;
    uint8_t addr[AGENT_ADDR_BYTES];
    uint8_t data[];
};

_Static_assert(sizeof(struct agent_request) == 88, "header of a request");
_Static_assert(sizeof(struct agent_reply) == 56, "header of a reply");
