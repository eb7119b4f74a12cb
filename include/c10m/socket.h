// SPDX-License-Identifier: BSD-3-Clause
// c10m/socket.h: what an application needs that works as programs with BSD sockets expect: it reads
// when it wants, closes without waiting for the end, and learns errors as errno values. Same
// threads as c10m/app.h: all calls from callbacks, on the worker, unless they say otherwise.
//
// An application whose c10m_app has no `data` pulls: bytes stay queued, and the window closes as
// they fill the limit, until c10m_read takes them. Connections of such an application that are
// closed in one direction only (c10m_shutdown) last as long as their peer wants (RFC
// 1122 4.2.2.13); those of others end after [tcp] fin_wait2_ms.
#pragma once
#include "c10m/thread.h"

// c10m_name: an address, IPv4 in the mapped form, and a port in host order. Where it says so, the
// address :: means any of both families, ::ffff:0.0.0.0 any of IPv4.
struct c10m_name {
    uint8_t addr[16];
    uint16_t port;
};

// c10m_peek: copies up to n received bytes to buf, unless that is NULL, from the off-th unread one
// on; returns how many. They stay unread. c10m_receive_queued() says how many there are.
size_t c10m_peek(const struct c10m_conn *c, size_t off, void *buf, size_t n);

// c10m_read: takes up to n unread bytes out of the queue, into buf unless that is NULL; returns how
// many. The window may open.
size_t c10m_read(struct c10m_conn *c, void *buf, size_t n);

// c10m_want_writable: `writable` follows when there may be more room, as after a send that was cut
// short.
void c10m_want_writable(struct c10m_conn *c);

// c10m_end_record: what was sent so far and what is sent from now on share no segment (MSG_EOR).
// The bytes up to here take a buffer of their own (2 KiB) until they are acknowledged.
void c10m_end_record(struct c10m_conn *c);

// c10m_peer_closed: the peer's FIN has come; bytes before it may still be unread.
bool c10m_peer_closed(const struct c10m_conn *c);

// c10m_close: the application is done with the connection: no callback of it follows, not even
// `close`. With bytes unread, or when more come later, it is reset (RFC 2525 2.17); else FIN
// follows what is queued, and TCP sees it through: 8 retransmissions at most, and in FIN-WAIT-2
// [tcp] fin_wait2_ms. In SYN-SENT it is gone. A second time does nothing. c is valid until the
// callback returns; the other calls may still be made and mean nothing.
void c10m_close(struct c10m_conn *c);

// c10m_shut_read: the application reads no more, though it goes on to listen to what becomes of the
// connection. Bytes that come before c10m_shutdown stay queued as ever, and those that were there
// can still be read; after both calls new bytes reset it: `close` comes with ECONNRESET (Linux's
// shutdown of both directions). 0, or -ENOBUFS: there is no extension record, and all is as before.
int c10m_shut_read(struct c10m_conn *c);

// c10m_error: why the connection ended, as Linux's errno: ECONNRESET, EPIPE (a reset after the
// peer's FIN), ETIMEDOUT, ECONNREFUSED...; 0: it lives, or ended in order, or by c10m_abort. To be
// asked in `close`, and in `readable`: an application that pulls may read what came before an
// error, and gets `close` when it has.
int c10m_error(const struct c10m_conn *c);

// c10m_soft_error: errno of the last ICMP error about what is in flight, which did not end the
// connection; 0: none, or something was acknowledged since. If nothing is any more, c10m_error()
// will be this in place of ETIMEDOUT. Of applications that pull; an active open of such a one ends
// by any ICMP error at once. (Both as Linux; services of other applications: by a hard one only.)
int c10m_soft_error(const struct c10m_conn *c);

// c10m_take_soft_error: the same, and it is forgotten, as by Linux's getsockopt(SO_ERROR).
int c10m_take_soft_error(struct c10m_conn *c);

// c10m_get_option: the option's present value: the connection's own, or the service's. 0: there is
// no such option.
uint32_t c10m_get_option(const struct c10m_conn *c, enum c10m_option option);

enum c10m_congestion { C10M_CUBIC, C10M_NEWRENO };  // RFC 9438, RFC 5681 and 6582

enum c10m_info_option {  // Linux's TCPI_OPT_...
    C10M_INFO_TIMESTAMPS = 1,
    C10M_INFO_SACK = 2,
    C10M_INFO_WSCALE = 4,
    C10M_INFO_ECN = 8,
};

enum c10m_ca_state {  // Linux's TCP_CA_...
    C10M_CA_OPEN,
    C10M_CA_DISORDER,  // duplicate acknowledgements, SACKed data
    C10M_CA_CWR,       // the window was lowered for an ECE
    C10M_CA_RECOVERY,
    C10M_CA_LOSS,  // after a timeout
};

// c10m_info: what Linux's TCP_INFO tells and this stack knows. Segments are bytes by snd_mss,
// rounded up. Not known here, as it would take room in each connection: what it sent and received
// in all (an application counts that itself: see c10m_send_taken), when data came or left last, the
// largest segment received, the round trip as the receiver sees it, and how much the path reorders.
struct c10m_info {
    uint8_t state;  // Linux's numbers: 1 ESTABLISHED...
    uint8_t ca_state;
    uint8_t retransmits, probes, backoff;  // of the oldest segment; without answer; of the timeout
    uint8_t options;                       // enum c10m_info_option
    uint8_t snd_wscale, rcv_wscale;
    uint32_t rto_us, ato_us;
    uint32_t snd_mss, advmss;
    uint32_t unacked, sacked, lost, retrans;  // segments: in flight, and of those
    uint32_t pmtu;                            // bytes of a full packet
    uint32_t rtt_us, rttvar_us;
    uint32_t min_rtt_us;        // of what is in flight; 0: not known
    uint32_t snd_ssthresh;      // segments; UINT32_MAX: no loss yet
    uint32_t snd_cwnd;          // segments
    uint32_t rcv_space;         // bytes that may be unread
    uint32_t rcv_wnd, snd_wnd;  // bytes that each side may still send
    uint32_t total_retrans;     // segments, since the connection has options of its own or a loss
    uint32_t notsent_bytes, unacked_bytes, unread_bytes;
};

void c10m_get_info(const struct c10m_conn *c, struct c10m_info *info);

// c10m_local: the connection's own side (getsockname): address, and port.
void c10m_local(const struct c10m_conn *c, struct c10m_name *name);

// c10m_time_wait_ms: how long connections stay in TIME-WAIT ([tcp] time_wait_ms). Any thread.
uint32_t c10m_time_wait_ms(const struct c10m_service *s);

// c10m_is_local: whether addr is an address of this server's ports. Any thread, from init on.
bool c10m_is_local(const struct c10m_service *s, const uint8_t addr[16]);

// ---- Listening while running: on this worker alone. Connections arrive at all workers, so that a
// thread posts to each. A service needs no `port` in its section then.

enum { C10M_LISTENING_MAX = 1024 };  // of one worker

// c10m_listening: what is listened on. at.addr all zero (::): all local addresses of both families,
// with v6only those of IPv6; ::ffff:0.0.0.0: all of IPv4; else that one. Where several fit a
// connection, the exact address goes before all of its family, and those before all of both.
struct c10m_listening {
    struct c10m_name at;
    bool v6only;
    uint8_t syn_retries;  // of the SYN-ACK; 0: [tcp] synack_retries
    uint32_t backlog;     // as Linux's listen(): so many and one more may wait for c10m_accepted()
    uint32_t defer_s;     // as Linux's TCP_DEFER_ACCEPT; 0: off
    // As the options of these names, in the SYN-ACK and in what is opened by it; 0: as the
    // service's other connections.
    uint32_t rcv_limit;
    uint16_t maxseg;
    uint8_t ttl, tos;
    unsigned
        device;  // by which connections come; 0: any. Before one of any, with the same address.
};

// c10m_listen: connections to l->at are opened for s from now on. Returns an id (0 or more) that is
// this worker's own, or -EINVAL (port 0), -EADDRNOTAVAIL (no local address), -EADDRINUSE (the same
// is listened on, or a configured service has that port), -ENOBUFS (C10M_LISTENING_MAX, or no
// service of the server has a thread).
//
// With more than `backlog` waiting, SYNs are dropped, and so are last ACKs of handshakes: the
// half-open connection stays, and its SYN-ACK is sent again (ListenOverflows, ListenDrops). With
// more than `backlog` half-open, a SYN is answered by a cookie, or dropped where those are off.
int c10m_listen(struct c10m_core *w, struct c10m_service *s, const struct c10m_listening *l);

// c10m_listen_set: all but the address anew, for half-open connections too. 0, or -EBADF: there is
// no such id any more.
int c10m_listen_set(struct c10m_core *w, int id, const struct c10m_listening *l);

// c10m_unlisten: no connection comes by it any more. Half-open ones go without a word, and what
// their peers send is answered by RST; those that are open stay. An id that is gone: nothing.
void c10m_unlisten(struct c10m_core *w, int id);

// c10m_listener: in `open` of c: the id by which it came; -1: it was opened from here, or came to a
// configured port.
int c10m_listener(const struct c10m_conn *c);

// c10m_accepted: one connection that came by listener `id` waits no more: once for each, whether it
// still lives or not (one that was reset in the queue counts until it is taken, as in Linux).
void c10m_accepted(struct c10m_core *w, int id);

// ---- Opening connections, from any callback.

// c10m_opening: to whom, and from where. from.addr all zero, or ::ffff:0.0.0.0 with an IPv4 peer:
// as the route asks for; from.port 0: one that is chosen.
struct c10m_opening {
    struct c10m_name from, to;
    unsigned device;  // by which it leaves; 0: as the route says
};

// To an address of ours, to 127.0.0.1 or ::1, or to any (::, ::ffff:0.0.0.0): with ourselves, if a
// service of the server has a thread; elsewhere -ENETUNREACH.
//
// c10m_open: an active open under s. 0, and *made, unless NULL, is the connection, as c10m_at()
// gives it: its state, zero now, may be filled in, options set, bytes sent. It gets `open`, or
// `close` without it, in a later turn. Else: -EINVAL (to.port 0), -ENETUNREACH (no way there, a
// group, the other family than from), -EADDRNOTAVAIL (from is not ours; no port is left; the very
// connection exists or has been within 2 MSL, or belongs to another worker: c10m_home), -ENOBUFS
// (no block, or more than C10M_OTHERS_MAX for this event).
int c10m_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_opening *o,
              struct c10m_conn **made);

// c10m_home: the worker at which the packets of a connection arrive that is `from` here and `to`
// there, names as c10m_open() takes them: from where alone it can be opened, if from.port is not to
// be chosen. 0 where it cannot be opened at all. Any thread, while the workers run.
unsigned c10m_home(const struct c10m_service *s, const struct c10m_name *from,
                   const struct c10m_name *to);

// c10m_home_by: the same of one that may have a device.
unsigned c10m_home_by(const struct c10m_service *s, const struct c10m_opening *o);

// ---- The end of many.

// c10m_abort_all: every connection of s on this worker, those c10m_close() has let go included, is
// reset, some a turn, from this callback's end on; `close` is told as always. True: there is none.
// Call it again, in a later message, to know.
bool c10m_abort_all(struct c10m_core *w, struct c10m_service *s);

// c10m_forget: this worker's stack as if it had just begun: no connection in TIME-WAIT or
// half-open, no SYN cookie awaited, all limits of rates as at the start, no path MTU known. Open
// connections, listeners, neighbours and counters stay. It forgets a bounded number of things a
// call; false: call it again.
bool c10m_forget(struct c10m_core *w);

// ---- UDP. A port is opened on one worker; where there are several, a datagram arrives at the
// worker of its addresses and ports: who wants all of them opens the port on each. A worker holds
// C10M_UDP_PORTS_MAX open ports. Ports of services with udp = on are looked up first: what they
// serve cannot be opened. A datagram to a port that is neither is answered by ICMP port
// unreachable.
//
// To a broadcast address of the port's (255.255.255.255 included), to 224.0.0.1, ff02::1, the
// solicited-node groups of our IPv6 addresses and those of c10m_group_join: to the port that is
// open for that address itself, or for any, once, and without ICMP where there is none. Datagrams
// to other groups are dropped. Of what is sent to a group nothing comes back to the sender's own
// ports.

enum { C10M_UDP_PORTS_MAX = 4096 };

// c10m_packet: a datagram: of len bytes at data, 0 among them. ttl is the hop limit over IPv6, tos
// the traffic class; df, over IPv4: no router may cut it, if it fits a packet; whole: it is not to
// be cut here either. port: received ones, as c10m_udp_open gave it.
struct c10m_packet {
    struct c10m_name from, to;
    uint8_t ttl, tos;
    bool df;
    const uint8_t *data;
    size_t len;
    int port;
    bool whole;
    unsigned device;  // by which it came, or is to leave; to send: 0: as the route says
    bool icmp;        // data is a message of ICMP or ICMPv6, from.port its identifier
};

// c10m_packet_error: an ICMP or ICMPv6 error about a datagram that was sent. error: as Linux's
// errno has it. hard: one that Linux tells a connected socket; the others may pass, and Linux tells
// them only to who asks (IP_RECVERR). mtu: of the path from now on (c10m_udp_mtu), with EMSGSIZE.
struct c10m_packet_error {
    int error;
    bool hard;
    uint8_t type, code;  // of the message
    uint16_t mtu;
};

// c10m_udp_open: datagrams to `at`, port not 0, come to `packet` of s from now on, to the address
// itself before all addresses of its family (::ffff:0.0.0.0, or :: for IPv6), before those of both
// (::, unless v6only). Returns the number of the port, 0..C10M_UDP_PORTS_MAX - 1, or -EADDRINUSE:
// this very address and port are open, or configured (:: v6only and :: of both are two);
// -EADDRNOTAVAIL: the address is none of ours, no group and not "any"; -ENOBUFS: C10M_UDP_PORTS_MAX
// are open; -EINVAL: port 0, or an application without `packet`.
int c10m_udp_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                  bool v6only);

// c10m_udp_open_on: the same of what comes by one device (below), before those of any with the same
// address; 0: any. Those of two devices are two.
int c10m_udp_open_on(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                     bool v6only, unsigned device);

// c10m_echo_open: the same of the answers to pings: echo replies with the identifier at->port, to
// that address, or any of its family, come to `packet` as whole messages, with `icmp`, from port 0.
// c10m_udp_send() with `icmp` sends messages: data is of 8 bytes at least; identifier and checksum
// are filled in.
int c10m_echo_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                   unsigned device);

// c10m_udp_peer: only what `peer` sends comes to the open port from now on, before it comes to any
// other; datagrams of others find the next best port or none, which is told them. NULL: those of
// all come again. Returns 0, or -EINVAL: port 0.
int c10m_udp_peer(struct c10m_core *w, int port, const struct c10m_name *peer);

// c10m_udp_close: of one that is open. No callback of it follows, and its number is given out anew.
void c10m_udp_close(struct c10m_core *w, int port);

// c10m_udp_send: sends p to p->to, from any address and port of ours, open or not; from.addr "any":
// the one that the route to p->to asks for. ttl 0: 64, to a multicast group 1. The bytes are
// copied. Where the neighbour is not known yet some datagrams wait for it, as segments do. 0;
// -EINVAL: a port is 0; -ENETUNREACH: no route, or an address of the other family;
// -EADDRNOTAVAIL: from is not ours; -EMSGSIZE: more than 64 KiB, or with p->whole, or where
// [memory] reassembly is off, more than the link or, as far as routers told, the path takes: what
// is longer leaves in fragments; -ENOBUFS: no packet left or no room for all in this turn, of which
// TCP keeps a part: another turn may have it.
int c10m_udp_send(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);

// c10m_group_join: what is sent to the multicast address `group` comes in by that device (a port's,
// below), on this worker, until c10m_group_leave() was called as often. Over IPv6 the link is told
// (RFC 3810). 0; -EINVAL: no multicast address; -ENODEV: no such device, or it has no address of
// that family; -ENOBUFS: it is in 64 groups of that family already. c10m_group_leave: 0, or
// -EADDRNOTAVAIL.
int c10m_group_join(struct c10m_core *w, unsigned device, const uint8_t group[16]);
int c10m_group_leave(struct c10m_core *w, unsigned device, const uint8_t group[16]);

// ---- Devices: the ports of the server, numbered from 1; 0 stands for any. Any thread, from init
// on.

// c10m_device_find: the port of that name; else the first whose `device` is that; 0: none.
unsigned c10m_device_find(const struct c10m_service *s, const char *name);

// c10m_device_name: of the port; NULL: there is none of that number.
const char *c10m_device_name(const struct c10m_service *s, unsigned device);

// c10m_device_of: that has this address; 0: none.
unsigned c10m_device_of(const struct c10m_service *s, const uint8_t addr[16]);

// c10m_device_to: by which a datagram to `to` leaves that may leave by `device` (0: any), 0: there
// is no way; *from, unless NULL: the address that it leaves from; its port stays. While the workers
// run.
unsigned c10m_device_to(const struct c10m_service *s, const struct c10m_name *to, unsigned device,
                        struct c10m_name *from);

// c10m_udp_source: the address that a datagram to `to` leaves from if its sender leaves that open;
// from->port is not set. 0, or -ENETUNREACH: no way there.
int c10m_udp_source(struct c10m_core *w, const struct c10m_name *to, struct c10m_name *from);

// c10m_is_broadcast: 255.255.255.255, or the broadcast address of a prefix of ours. Any thread.
bool c10m_is_broadcast(const struct c10m_service *s, const uint8_t addr[16]);

// c10m_udp_mtu: bytes of an IP packet to `to` that arrive whole as far as is known; 0: no way
// there.
uint16_t c10m_udp_mtu(struct c10m_core *w, const struct c10m_name *to);

// c10m_udp_way: the same by that device (0: any), and in *from, unless NULL, the address that it
// leaves from; from->port stays.
uint16_t c10m_udp_way(struct c10m_core *w, const struct c10m_name *to, unsigned device,
                      struct c10m_name *from);
