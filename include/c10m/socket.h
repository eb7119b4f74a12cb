// SPDX-License-Identifier: BSD-3-Clause
// c10m/socket.h: calls with the semantics of BSD sockets. An application that uses them reads when
// it wants, closes without waiting for the end of the connection, and gets errors as errno values.
// Threads as in c10m/app.h: the calls are made in callbacks on the worker, unless a comment says
// otherwise.
//
// An application whose c10m_app has no `data` is a pull application: received bytes stay queued
// until c10m_read() removes them, and the window shrinks as the queue fills. If a pull application
// closes one direction only (c10m_shutdown()), the connection lasts until the peer closes it
// (half-close, RFC 1122 4.2.2.13). The connections of other applications end after [tcp]
// fin_wait2_ms in FIN-WAIT-2.
#pragma once
#include "c10m/thread.h"

#ifdef __cplusplus
extern "C" {
#endif

// c10m_name: an address and a port in host order. IPv4 addresses are in the mapped form. Where a
// function accepts "any address", :: means any address of both families, and ::ffff:0.0.0.0 any
// IPv4 address.
struct c10m_name {
    uint8_t addr[16];
    uint16_t port;
};

// c10m_peek: copies up to n received bytes to buf (unless buf is NULL), beginning at offset `off`
// of the unread bytes. Returns how many. The bytes stay unread. c10m_receive_queued() returns the
// number of unread bytes.
size_t c10m_peek(const struct c10m_conn *c, size_t off, void *buf, size_t n);

// c10m_read: removes up to n unread bytes from the queue and copies them to buf (unless buf is
// NULL). Returns how many; 0: the queue is empty. The receive window may grow.
size_t c10m_read(struct c10m_conn *c, void *buf, size_t n);

// c10m_want_writable: requests one call of `writable` when the send queue may have more room, as
// after a partial send.
void c10m_want_writable(struct c10m_conn *c);

// c10m_end_record: no segment contains both bytes that were sent before this call and bytes that
// are sent after it (MSG_EOR). The bytes before it use a buffer of their own (2 KiB) until they are
// acknowledged.
void c10m_end_record(struct c10m_conn *c);

// c10m_peer_closed: whether the peer's FIN was received. Bytes before it may still be unread.
bool c10m_peer_closed(const struct c10m_conn *c);

// c10m_close: closes the connection for the application. No callback for this connection follows,
// not even `close`.
// - If bytes are unread, or if more arrive later, the connection is reset (RFC 2525 2.17).
// - Otherwise FIN follows the queued data, and TCP completes the connection, with at most 8
//   retransmissions and at most [tcp] fin_wait2_ms in FIN-WAIT-2.
// - In SYN-SENT the connection ends at once.
// A second call does nothing. c stays valid until the callback returns; other calls with c have no
// effect.
void c10m_close(struct c10m_conn *c);

// c10m_shut_read: ends the receive direction, as Linux's shutdown(SHUT_RD). Bytes that arrive
// before c10m_shutdown() are queued, and queued bytes can still be read. Other events are still
// reported. After c10m_shut_read() and c10m_shutdown(), new bytes reset the connection, and
// c10m_error() in `close` is ECONNRESET (as on Linux after a shutdown of both directions). Returns
// 0, or -ENOBUFS: no extension record is free, nothing has changed.
int c10m_shut_read(struct c10m_conn *c);

// c10m_error: why the connection ended, as Linux's errno: ECONNRESET, EPIPE (a reset after the
// peer's FIN), ETIMEDOUT, ECONNREFUSED... 0: the connection is open, was closed in order, or was
// ended by c10m_abort(). Use it in `close` and in `readable`: a pull application can read the bytes
// that arrived before an error, and its `close` is called after it has read them.
int c10m_error(const struct c10m_conn *c);

// c10m_soft_error: the errno of the last ICMP error about data in flight that did not end the
// connection. 0: there was no such error, or the peer has acknowledged data since then. If the peer
// acknowledges nothing more, c10m_error() returns this value instead of ETIMEDOUT, as on Linux.
// Pull applications only. Active opens of pull applications end at once at every ICMP error that
// makes Linux's connect() fail; those of other applications end at hard errors only.
int c10m_soft_error(const struct c10m_conn *c);

// c10m_take_soft_error: returns the value of c10m_soft_error() and clears it, as Linux's
// getsockopt(SO_ERROR).
int c10m_take_soft_error(struct c10m_conn *c);

// c10m_get_option: the present value of the option: the value set for the connection, or else the
// service's value. 0 also if the option does not exist.
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
    C10M_CA_DISORDER,  // duplicate acknowledgments, SACKed data
    C10M_CA_CWR,       // the congestion window was reduced after an ECE
    C10M_CA_RECOVERY,
    C10M_CA_LOSS,  // after a retransmission timeout
};

// c10m_info: the part of Linux's TCP_INFO that this stack knows. Numbers of segments are bytes
// divided by snd_mss, rounded up. Other fields of TCP_INFO are missing because they would need
// memory in every connection: the total bytes sent and received (an application can count them, see
// c10m_send_taken()), the times of the last data, the largest segment received, the receiver's
// estimate of the round-trip time, and the degree of reordering.
struct c10m_info {
    uint8_t state;  // Linux's numbers: 1 ESTABLISHED...
    uint8_t ca_state;
    // retransmissions of the oldest segment, unanswered probes, doublings of the timeout
    uint8_t retransmits, probes, backoff;
    uint8_t options;  // enum c10m_info_option
    uint8_t snd_wscale, rcv_wscale;
    uint32_t rto_us, ato_us;
    uint32_t snd_mss, advmss;
    // segments in flight, and how many of these are SACKed, lost, retransmitted
    uint32_t unacked, sacked, lost, retrans;
    uint32_t pmtu;  // path MTU, bytes
    uint32_t rtt_us, rttvar_us;
    uint32_t min_rtt_us;        // minimum round-trip time of the data in flight; 0: unknown
    uint32_t snd_ssthresh;      // segments; UINT32_MAX: no loss yet
    uint32_t snd_cwnd;          // segments
    uint32_t rcv_space;         // limit of unread bytes
    uint32_t rcv_wnd, snd_wnd;  // bytes that the peer and this side may still send
    // segments, counted since the first loss or the first option set for this connection
    uint32_t total_retrans;
    uint32_t notsent_bytes, unacked_bytes, unread_bytes;
};

// c10m_get_info: fills *info with the present values of c. Cannot fail.
void c10m_get_info(const struct c10m_conn *c, struct c10m_info *info);

// c10m_local: the local address and port of the connection (getsockname).
void c10m_local(const struct c10m_conn *c, struct c10m_name *name);

// c10m_time_wait_ms: how long connections stay in TIME-WAIT, in ms ([tcp] time_wait_ms). Any
// thread.
uint32_t c10m_time_wait_ms(const struct c10m_service *s);

// c10m_is_local: whether addr (16 bytes; IPv4 in the mapped form) is an address of a port of this
// server. Any thread, from init on.
bool c10m_is_local(const struct c10m_service *s, const uint8_t addr[16]);

// ---- Listeners that open while the server runs. A listener accepts connections of one worker
// only. Connections arrive at all workers, so an application opens the listener on each worker. A
// service that uses such listeners needs no `port` in its section.

enum { C10M_LISTENING_MAX = 1024 };  // for one worker

// c10m_listening: what a listener accepts. at.addr is a local address, or "any": :: (all zero)
// means all local addresses of both families, or with v6only all IPv6 addresses; ::ffff:0.0.0.0
// means all IPv4 addresses. If several listeners match a connection, a listener on its exact
// address has priority, then one on all addresses of its family, then one on both families.
struct c10m_listening {
    struct c10m_name at;
    bool v6only;
    uint8_t syn_retries;  // retransmissions of the SYN-ACK; 0: [tcp] synack_retries
    uint32_t backlog;     // as Linux's listen(): at most backlog + 1 wait for c10m_accepted()
    uint32_t defer_s;     // seconds, as Linux's TCP_DEFER_ACCEPT; 0: off
    // Values of C10M_OPT_RCV_LIMIT, C10M_OPT_MAXSEG, C10M_OPT_TTL and C10M_OPT_TOS for the SYN-ACK
    // and for the connections. 0: the service's value.
    uint32_t rcv_limit;
    uint16_t maxseg;
    uint8_t ttl, tos;
    // Accepts connections through this device only; 0: any. With the same address, a listener on a
    // device has priority over one on any device.
    unsigned device;
};

// c10m_listen: opens a listener of s on this worker. Connections to l->at then call `open` of s.
// Returns an id (0 or more), valid on this worker; -EINVAL: the port is 0; -EADDRNOTAVAIL: the
// address is not local; -EADDRINUSE: such a listener exists already, or a configured service uses
// the port; -ENOBUFS: C10M_LISTENING_MAX listeners exist, or no service of the server has a thread.
//
// While more than `backlog` connections wait for c10m_accepted(), SYNs and the last ACKs of
// handshakes are dropped. The half-open connection stays, and its SYN-ACK is retransmitted
// (ListenOverflows, ListenDrops). While more than `backlog` connections are half-open, a SYN is
// answered with a SYN cookie, or dropped if SYN cookies are off.
int c10m_listen(struct c10m_core *w, struct c10m_service *s, const struct c10m_listening *l);

// c10m_listen_set: replaces all values of the listener except its address, also for half-open
// connections. Returns 0, or -EBADF: no listener has this id.
int c10m_listen_set(struct c10m_core *w, int id, const struct c10m_listening *l);

// c10m_unlisten: closes the listener. Half-open connections are removed without a segment to the
// peer; later segments of the peer are answered with RST. Established connections stay. An unknown
// id is ignored.
void c10m_unlisten(struct c10m_core *w, int id);

// c10m_listener: in `open` of c, the id of the listener that accepted c. -1: c is an active open,
// or came to a configured port.
int c10m_listener(const struct c10m_conn *c);

// c10m_accepted: removes one connection from the accept queue of listener `id`. Call it once for
// each connection, also if the connection has ended: as on Linux, a connection that was reset in
// the queue counts until it is accepted.
void c10m_accepted(struct c10m_core *w, int id);

// ---- Active opens, in any callback.

// c10m_opening: the two ends of a connection to be opened. If from.addr is all zero, or
// ::ffff:0.0.0.0 for an IPv4 peer, the route decides the local address. If from.port is 0, the
// server chooses a free port.
struct c10m_opening {
    struct c10m_name from, to;
    unsigned device;  // through which its packets leave; 0: the route decides
};

// c10m_open: begins an active open for s. Returns 0 and, unless `made` is NULL, sets *made to the
// connection, usable as from c10m_at(): its state is zero and may be set, options may be set, and
// bytes may be sent. In a later turn `open` is called, or `close` if the open fails.
//
// If to.addr is a local address, 127.0.0.1, ::1 or "any", the server connects to itself, provided
// that a service of the server has a thread; otherwise the result is -ENETUNREACH.
//
// Errors: -EINVAL (to.port is 0), -ENETUNREACH (there is no route, to.addr is a multicast address,
// or its family differs from that of from.addr), -EADDRNOTAVAIL (from.addr is not local; no port is
// free; a connection with the same addresses and ports exists, or is in TIME-WAIT; or another
// worker receives its packets, see c10m_home()), -ENOBUFS (no block is free, or C10M_OTHERS_MAX
// would be exceeded for this event).
int c10m_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_opening *o,
              struct c10m_conn **made);

// c10m_home: the worker that receives the packets of the connection between `from` (this side) and
// `to`, as in c10m_open(). If from.port is not 0, only this worker can open the connection. 0 also
// if the connection is impossible. Any thread, while the workers run.
unsigned c10m_home(const struct c10m_service *s, const struct c10m_name *from,
                   const struct c10m_name *to);

// c10m_home_by: as c10m_home(), for an active open that may name a device.
unsigned c10m_home_by(const struct c10m_service *s, const struct c10m_opening *o);

// ---- Ending all connections.

// c10m_abort_all: resets every connection of s on this worker, also after c10m_close(). The worker
// resets a bounded number of connections in each turn, starting after this callback; `close` is
// called as usual. Returns true if s has no connection on this worker. After false, call it again
// in a later message until it returns true.
bool c10m_abort_all(struct c10m_core *w, struct c10m_service *s);

// c10m_forget: removes the state of past connections from this worker: TIME-WAIT and half-open
// records, expected SYN cookies, the state of rate limits, and known path MTUs. Open connections,
// listeners, neighbors and counters stay. One call removes a bounded number of entries. Returns
// true when nothing is left; after false, call it again.
bool c10m_forget(struct c10m_core *w);

// ---- UDP. A port is opened on one worker. With several workers, the addresses and ports of a
// datagram decide which worker receives it. To receive all datagrams, open the port on each worker.
// A worker has at most C10M_UDP_PORTS_MAX open ports. The ports of services with udp = on have
// priority and cannot be opened. A datagram to a port that is neither configured nor open is
// answered by ICMP port unreachable.
//
// Broadcast and multicast datagrams are received if their destination is a broadcast address
// (255.255.255.255 included), 224.0.0.1, ff02::1, the solicited-node group of a local address, or a
// group of c10m_group_join(). Such a datagram is delivered once: to the port that is open for this
// address, or else to a port that is open for any address. If no port is open for it, no ICMP error
// is sent. Datagrams to other groups are dropped. Multicast datagrams are not looped back to ports
// of this server.

enum { C10M_UDP_PORTS_MAX = 4096 };

// c10m_packet: a datagram of len bytes (0 is allowed) at data.
struct c10m_packet {
    struct c10m_name from, to;
    uint8_t ttl, tos;  // over IPv6 the hop limit and the traffic class
    bool df;           // IPv4: routers may not fragment it, if it fits into one packet
    const uint8_t *data;
    size_t len;
    int port;         // received datagrams: the number that c10m_udp_open() returned
    bool whole;       // sending: do not fragment the datagram on this host
    unsigned device;  // on which it arrived, or through which to send it (0: the route decides)
    bool icmp;        // data is an ICMP or ICMPv6 message, from.port is its identifier
};

// c10m_packet_error: an ICMP or ICMPv6 error about a datagram that was sent.
struct c10m_packet_error {
    int error;  // Linux's errno for it
    // Linux reports hard errors to a connected socket. The others may be temporary; Linux reports
    // them only on request (IP_RECVERR).
    bool hard;
    uint8_t type, code;  // of the ICMP message
    uint16_t mtu;        // with EMSGSIZE: the new path MTU, bytes (c10m_udp_mtu())
};

// c10m_udp_open: opens a port on this worker: `packet` of s is called for each datagram to `at`.
// at->addr may be a local address, a group, any IPv4 address (::ffff:0.0.0.0), any IPv6 address (::
// with v6only) or any address of both families (::). If several ports match, the port of the exact
// address has priority, then that of any address of its family, then that of both families. Returns
// the number of the port, 0 to C10M_UDP_PORTS_MAX - 1; -EADDRINUSE: the same address and port are
// open or configured (:: with and without v6only are different); -EADDRNOTAVAIL: the address is
// neither local, nor a group, nor "any"; -ENOBUFS: C10M_UDP_PORTS_MAX ports are open; -EINVAL: the
// port is 0, or the application has no `packet`.
int c10m_udp_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                  bool v6only);

// c10m_udp_open_on: as c10m_udp_open(), for datagrams that arrive on one device (see below); 0:
// any. With the same address, a port on one device has priority over a port on any device. The same
// address and port may be open on several devices.
int c10m_udp_open_on(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                     bool v6only, unsigned device);

// c10m_echo_open: as c10m_udp_open_on(), for ICMP echo replies with the identifier at->port:
// `packet` gets the whole ICMP message, with `icmp` set and from.port 0. To send echo requests, set
// p->icmp in c10m_udp_send(): data has at least 8 bytes, and c10m_udp_send() fills in the
// identifier and the checksum.
int c10m_echo_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                   unsigned device);

// c10m_udp_peer: connects the open port to `peer`: it receives only datagrams from `peer`, and has
// priority over other ports for these. Datagrams from other senders go to the next matching port,
// or are answered by ICMP port unreachable. With peer NULL the port receives datagrams from all
// senders again. Returns 0, or -EINVAL: peer->port is 0.
int c10m_udp_peer(struct c10m_core *w, int port, const struct c10m_name *peer);

// c10m_udp_close: closes an open port. No callback for this port follows, and a later
// c10m_udp_open() may return its number.
void c10m_udp_close(struct c10m_core *w, int port);

// c10m_udp_send: sends p to p->to from p->from: any local address and any port, open or not. If
// from.addr is "any", the route decides. ttl 0 means 64, or 1 to a multicast group. The bytes are
// copied. While the link-layer address of the neighbor is unknown, a bounded number of datagrams
// wait for it, as TCP segments do. Datagrams larger than the MTU are fragmented. Returns
// - 0;
// - -EINVAL: a port is 0;
// - -ENETUNREACH: there is no route, or the address has another family;
// - -EADDRNOTAVAIL: p->from.addr is not local;
// - -EMSGSIZE: more than 64 KiB; or more than the link or the known path MTU, if p->whole is set or
//   [memory] reassembly is off;
// - -ENOBUFS: no packet is free, or the packets of this turn that are not reserved for TCP are
//   used. A later turn may have room.
int c10m_udp_send(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);

// c10m_group_join: this worker accepts datagrams to the multicast address `group` that arrive on
// the device (see below), until c10m_group_leave() was called as often as c10m_group_join(). For an
// IPv6 group, an MLDv2 report is sent (RFC 3810). Returns 0; -EINVAL: `group` is not a multicast
// address; -ENODEV: the device does not exist, or has no address of that family; -ENOBUFS: the
// device has joined 64 groups of that family already. c10m_group_leave: undoes one
// c10m_group_join(). Returns 0, or -EADDRNOTAVAIL: the worker has not joined the group on this
// device.
int c10m_group_join(struct c10m_core *w, unsigned device, const uint8_t group[16]);
int c10m_group_leave(struct c10m_core *w, unsigned device, const uint8_t group[16]);

// ---- Devices: the ports of the server, numbered from 1; 0 means any device. Any thread, from init
// on.

// c10m_device_find: the number of the port [port NAME] with this name, or else of the first port
// whose key `device` is `name`. 0: there is none.
unsigned c10m_device_find(const struct c10m_service *s, const char *name);

// c10m_device_name: the name of the port. NULL: no port has this number.
const char *c10m_device_name(const struct c10m_service *s, unsigned device);

// c10m_device_of: the number of the port that has this address. 0: no port has it.
unsigned c10m_device_of(const struct c10m_service *s, const uint8_t addr[16]);

// c10m_device_to: the device through which a datagram to `to` leaves, if it may only use `device`
// (0: any). 0: there is no route. Unless `from` is NULL, from->addr is set to its source address;
// from->port is not changed. Any thread, while the workers run.
unsigned c10m_device_to(const struct c10m_service *s, const struct c10m_name *to, unsigned device,
                        struct c10m_name *from);

// c10m_udp_source: sets from->addr to the source address of datagrams to `to` that are sent from
// "any"; from->port is not changed. Returns 0, or -ENETUNREACH: there is no route.
int c10m_udp_source(struct c10m_core *w, const struct c10m_name *to, struct c10m_name *from);

// c10m_is_broadcast: whether addr is 255.255.255.255, or the broadcast address of a prefix of this
// server. Any thread.
bool c10m_is_broadcast(const struct c10m_service *s, const uint8_t addr[16]);

// c10m_udp_mtu: the known path MTU to `to`, in bytes of the IP packet. 0: there is no route to
// `to`.
uint16_t c10m_udp_mtu(struct c10m_core *w, const struct c10m_name *to);

// c10m_udp_path: as c10m_udp_mtu(), through `device` (0: any). Unless `from` is NULL, from->addr is
// set to the source address of such packets; from->port is not changed.
uint16_t c10m_udp_path(struct c10m_core *w, const struct c10m_name *to, unsigned device,
                       struct c10m_name *from);

#ifdef __cplusplus
}
#endif
