// sock_internal.h: the connection as a callback sees it.
#pragma once
#include "sock/sock.h"

struct c10m_conn {
    struct sock *k;
    struct block *b;
    uint32_t ix;
    bool resume;  // c10m_resume was called: offer the queue again
};
