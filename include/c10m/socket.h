// c10m/socket.h: what an application needs that works as programs with BSD sockets expect: it reads
// when it wants, closes without waiting for the end, and learns errors as errno values. Same
// threads as c10m/app.h: all calls from callbacks, on the worker.
//
// An application whose c10m_app has no `data` pulls: bytes stay queued, and the window closes as
// they fill the limit, until c10m_read takes them. Connections of such an application that are
// closed in one direction only (c10m_shutdown) last as long as their peer wants (RFC
// 1122 4.2.2.13); those of others end after [tcp] fin_wait2_ms.
#pragma once
#include "c10m/app.h"

// c10m_peek: copies up to n received bytes to buf, from the off-th unread one on; returns how many.
// They stay unread. c10m_receive_queued() says how many there are.
size_t c10m_peek(const struct c10m_conn *c, size_t off, void *buf, size_t n);

// c10m_read: takes up to n unread bytes out of the queue, into buf unless that is NULL; returns how
// many. The window may open.
size_t c10m_read(struct c10m_conn *c, void *buf, size_t n);

// c10m_peer_closed: the peer's FIN has come; bytes before it may still be unread.
bool c10m_peer_closed(const struct c10m_conn *c);

// c10m_close: the application is done with the connection: no callback of it follows, not even
// `close`. With bytes unread, or when more come later, it is reset (RFC 2525 2.17); else FIN
// follows what is queued, and TCP sees it through: 8 retransmissions at most, and in FIN-WAIT-2
// [tcp] fin_wait2_ms. In SYN-SENT it is gone. A second time does nothing. c is valid until the
// callback returns; the other calls may still be made and mean nothing.
void c10m_close(struct c10m_conn *c);

// c10m_error: why the connection ended, as Linux's errno: ECONNRESET, EPIPE (a reset after the
// peer's FIN), ETIMEDOUT, ECONNREFUSED...; 0: it lives, or ended in order, or by c10m_abort. To be
// asked in `close`, and in `readable`: an application that pulls may read what came before an
// error, and gets `close` when it has.
int c10m_error(const struct c10m_conn *c);
