// sock_internal.h: the connection as a callback sees it is in sock.h; here is what the files of
// this folder share.
#pragma once
#include "sock/sock.h"

// What a connection is due when the present callback has returned.
enum sock_due {
    DUE_RESUME = 1 << 0,  // c10m_resume was called: offer the queue again
    DUE_OTHERS = 1 << 1,  // its callbacks reached other connections: they are settled after it
    DUE_SETTLE = 1 << 2,  // reached by a callback of another: what may follow is still to be done
};
