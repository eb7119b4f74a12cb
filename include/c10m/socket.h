// SPDX-License-Identifier: BSD-3-Clause
// c10m/socket.h: calls for applications that behave as programs with BSD sockets expect. Such an
// application reads when it wants, closes without waiting for the end, and gets errors as errno
// values. Threads as in c10m/app.h: the calls are made from callbacks on the worker, unless a
// comment says otherwise.
//
// An application whose c10m_app has no `data` pulls: received bytes stay queued until c10m_read()
// removes them, and the window closes as they fill the limit. If such an application closes one
// direction only (c10m_shutdown()), the connection lasts as long as its peer wants (RFC 1122
// 4.2.2.13). The connections of other applications end after [tcp] fin_wait2_ms.
#pragma once
#include "c10m/thread.h"

// c10m_name: an address and a port in host order. IPv4 addresses are in the mapped form. Where a
// function accepts "any address", :: stands for any of both families, ::ffff:0.0.0.0 for any of
// IPv4.
struct c10m_name {
    uint8_t addr[16];
    uint16_t port;
};

// c10m_peek: copies up to n received bytes to buf (unless it is NULL), beginning at offset `off` of
// the unread bytes. Returns how many. They stay unread; c10m_receive_queued() is their number.
size_t c10m_peek(const struct c10m_conn *c, size_t off, void *buf, size_t n);

// c10m_read: removes up to n unread bytes from the queue and copies them to buf (unless it is
// NULL). Returns how many. The window may open.
size_t c10m_read(struct c10m_conn *c, void *buf, size_t n);

// c10m_want_writable: calls `writable` as soon as there may be more room, as after a partial send.
void c10m_want_writable(struct c10m_conn *c);

// c10m_end_record: no segment contains both bytes that were sent before this call and bytes that
// are sent after it (MSG_EOR). The bytes before it use a buffer of their own (2 KiB) until they are
// acknowledged.
void c10m_end_record(struct c10m_conn *c);

// c10m_peer_closed: whether the peer's FIN was received. Bytes before it may still be unread.
bool c10m_peer_closed(const struct c10m_conn *c);

// c10m_close: the application is done with the connection. No callback of it follows, not even
// `close`.
// - If bytes are unread, or if more arrive later, the connection is reset (RFC 2525 2.17).
// - Otherwise FIN follows the queued data, and TCP completes the connection, with at most 8
//   retransmissions and at most [tcp] fin_wait2_ms in FIN-WAIT-2.
// - In SYN-SENT the connection ends at once.
// A second call does nothing. c stays valid until the callback returns; other calls on it have no
// effect.
void c10m_close(struct c10m_conn *c);

// c10m_shut_read: the application will not read any more, but still gets the other events. Bytes
// that arrive before c10m_shutdown() stay queued, and queued bytes can still be read. After both
// calls, new bytes reset the connection, and `close` reports ECONNRESET (as Linux after a shutdown
// of both directions). Returns 0, or -ENOBUFS: no extension record is free, nothing has changed.
int c10m_shut_read(struct c10m_conn *c);

// c10m_error: why the connection ended, as Linux's errno: ECONNRESET, EPIPE (a reset after the
// peer's FIN), ETIMEDOUT, ECONNREFUSED... 0: it is open, ended in order, or by c10m_abort(). Use it
// in `close` and in `readable`: an application that pulls can read the bytes that arrived before an
// error, and its `close` is called after it has read them.
int c10m_error(const struct c10m_conn *c);

// c10m_soft_error: the errno of the last ICMP error about data in flight that did not end the
// connection. 0: there was none, or something has been acknowledged since. If nothing more is
// acknowledged, c10m_error() is this value instead of ETIMEDOUT. This is for applications that pull
// (as Linux does it). Their active opens end at once at every ICMP error that makes Linux's
// connect() fail; those of other applications end at hard errors only.
int c10m_soft_error(const struct c10m_conn *c);

// c10m_take_soft_error: returns the same value and clears it, as Linux's getsockopt(SO_ERROR).
int c10m_take_soft_error(struct c10m_conn *c);

// c10m_get_option: the present value of the option, which is the connection's own, or else the
// service's. 0 also if there is no such option.
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

// c10m_info: the part of Linux's TCP_INFO that this stack knows. Numbers of segments are bytes
// divided by snd_mss, rounded up. Other fields of TCP_INFO are missing because they would need room
// in every connection: bytes sent and received in total (an application can count them, see
// c10m_send_taken()), times of the last data, the largest segment received, the round trip as the
// receiver estimates it, and the degree of reordering.
struct c10m_info {
    uint8_t state;  // Linux's numbers: 1 ESTABLISHED...
    uint8_t ca_state;
    // retransmissions of the oldest segment, unanswered probes, doublings of the timeout
    uint8_t retransmits, probes, backoff;
    uint8_t options;  // enum c10m_info_option
    uint8_t snd_wscale, rcv_wscale;
    uint32_t rto_us, ato_us;
    uint32_t snd_mss, advmss;
    uint32_t unacked, sacked, lost, retrans;  // segments in flight; and of these the others
    uint32_t pmtu;                            // bytes of a full packet
    uint32_t rtt_us, rttvar_us;
    uint32_t min_rtt_us;        // of the data in flight; 0: unknown
    uint32_t snd_ssthresh;      // segments; UINT32_MAX: no loss yet
    uint32_t snd_cwnd;          // segments
    uint32_t rcv_space;         // limit of unread bytes
    uint32_t rcv_wnd, snd_wnd;  // bytes that each side may still send
    uint32_t total_retrans;     // segments, counted from the first loss or own option on
    uint32_t notsent_bytes, unacked_bytes, unread_bytes;
};

void c10m_get_info(const struct c10m_conn *c, struct c10m_info *info);

// c10m_local: the local address and port of the connection (getsockname).
void c10m_local(const struct c10m_conn *c, struct c10m_name *name);

// c10m_time_wait_ms: how long connections stay in TIME-WAIT ([tcp] time_wait_ms). Any thread.
uint32_t c10m_time_wait_ms(const struct c10m_service *s);

// c10m_is_local: whether addr is an address of this server's ports. Any thread, from init on.
bool c10m_is_local(const struct c10m_service *s, const uint8_t addr[16]);

// ---- Listeners that open while the server runs. A listener belongs to this worker alone, but
// connections arrive at all workers: the thread therefore opens it on each of them. A service that
// uses them needs no `port` in its section.

enum { C10M_LISTENING_MAX = 1024 };  // of one worker

// c10m_listening: what a listener accepts. at.addr :: (all zero): all local addresses of both
// families, or with v6only those of IPv6; ::ffff:0.0.0.0: all of IPv4; otherwise this address. If
// several listeners match a connection, an exact address has priority over all addresses of a
// family, and these over both families.
struct c10m_listening {
    struct c10m_name at;
    bool v6only;
    uint8_t syn_retries;  // of the SYN-ACK; 0: [tcp] synack_retries
    uint32_t backlog;     // as in Linux's listen(): backlog + 1 may wait for c10m_accepted()
    uint32_t defer_s;     // as Linux's TCP_DEFER_ACCEPT; 0: off
    // The options of these names, for the SYN-ACK and for the connections. 0: the service's value.
    uint32_t rcv_limit;
    uint16_t maxseg;
    uint8_t ttl, tos;
    // Accepts connections through this device only; 0: any. With the same address, a listener on a
    // device has priority over one on any device.
    unsigned device;
};

// c10m_listen: from now on connections to l->at are opened for s. Returns an id (0 or more), valid
// on this worker; -EINVAL: port 0; -EADDRNOTAVAIL: no local address; -EADDRINUSE: there is such a
// listener already, or a configured service has the port; -ENOBUFS: there are C10M_LISTENING_MAX
// listeners, or no service of the server has a thread.
//
// While more than `backlog` connections wait, SYNs are dropped, and so are the last ACKs of
// handshakes: the half-open connection stays, and its SYN-ACK is sent again (ListenOverflows,
// ListenDrops). While more than `backlog` are half-open, a SYN is answered with a cookie, or
// dropped if cookies are off.
int c10m_listen(struct c10m_core *w, struct c10m_service *s, const struct c10m_listening *l);

// c10m_listen_set: replaces everything but the address, also for half-open connections. Returns 0,
// or -EBADF: no listener has this id.
int c10m_listen_set(struct c10m_core *w, int id, const struct c10m_listening *l);

// c10m_unlisten: closes the listener. Half-open connections are removed silently; later segments of
// their peers are answered with RST. Open connections stay. An unknown id is ignored.
void c10m_unlisten(struct c10m_core *w, int id);

// c10m_listener: in `open` of c: the id of the listener that accepted it. -1: the connection was
// opened from here, or came to a configured port.
int c10m_listener(const struct c10m_conn *c);

// c10m_accepted: a connection of listener `id` does not wait any more. Call it once for each
// connection, also if the connection has ended: as on Linux, one that was reset in the queue counts
// until it is accepted.
void c10m_accepted(struct c10m_core *w, int id);

// ---- Opening connections, from any callback.

// c10m_opening: the two ends of a connection to be opened. from.addr all zero, or ::ffff:0.0.0.0
// for an IPv4 peer: the route decides. from.port 0: a free port is chosen.
struct c10m_opening {
    struct c10m_name from, to;
    unsigned device;  // through which it leaves; 0: the route decides
};

// c10m_open: begins an active open under s. Returns 0, and unless `made` is NULL sets *made to the
// connection, as c10m_at() returns it: its state is zero and may be filled in, options may be set,
// and bytes may be sent. In a later turn `open` is called, or `close` without it.
//
// If to.addr is a local address, 127.0.0.1, ::1 or "any", the server connects to itself, provided
// that a service of the server has a thread; otherwise the result is -ENETUNREACH.
//
// Errors: -EINVAL (to.port is 0), -ENETUNREACH (no route, a group address, or another family than
// from.addr), -EADDRNOTAVAIL (from.addr is not local; no port is free; this connection exists,
// existed within the last 2 MSL, or belongs to another worker, see c10m_home()), -ENOBUFS (no block
// is free, or C10M_OTHERS_MAX would be exceeded for this event).
int c10m_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_opening *o,
              struct c10m_conn **made);

// c10m_home: the worker that receives the packets of the connection between `from` (here) and `to`,
// names as in c10m_open(). If from.port is fixed, only this worker can open it. 0 also if the
// connection is impossible. Any thread, while the workers run.
unsigned c10m_home(const struct c10m_service *s, const struct c10m_name *from,
                   const struct c10m_name *to);

// c10m_home_by: the same for an opening that may name a device.
unsigned c10m_home_by(const struct c10m_service *s, const struct c10m_opening *o);

// ---- Ending all connections.

// c10m_abort_all: resets every connection of s on this worker, also those that c10m_close() has
// given up. A bounded number is reset in each turn, from the end of this callback on; `close` is
// called as usual. Returns true if there is no connection: call it again in a later message to find
// out.
bool c10m_abort_all(struct c10m_core *w, struct c10m_service *s);

// c10m_forget: removes from this worker what past connections left behind: TIME-WAIT and half-open
// records, expected SYN cookies, the state of rate limits, and known path MTUs. Open connections,
// listeners, neighbours and counters stay. One call removes a bounded number of things; false: call
// it again.
bool c10m_forget(struct c10m_core *w);

// ---- UDP. A port is opened on one worker. With several workers, the addresses and ports of a
// datagram decide which worker receives it: to receive all of them, open the port on each worker. A
// worker has at most C10M_UDP_PORTS_MAX open ports. The ports of services with udp = on are looked
// up first, and cannot be opened. A datagram to any other port is answered by ICMP port
// unreachable.
//
// Datagrams to many receivers are those to a broadcast address (255.255.255.255 included), to
// 224.0.0.1, to ff02::1, to the solicited-node groups of local addresses, and to groups of
// c10m_group_join(). Such a datagram is delivered once: to the port opened for this address, or
// else to one opened for any address. There is no ICMP error if there is none. Datagrams to other
// groups are dropped. The ports of the sender do not receive what it sends to a group.

enum { C10M_UDP_PORTS_MAX = 4096 };

// c10m_packet: a datagram of len bytes (0 is allowed) at data.
struct c10m_packet {
    struct c10m_name from, to;
    uint8_t ttl, tos;  // over IPv6 the hop limit and the traffic class
    bool df;           // IPv4: routers may not fragment it, if it fits into one packet
    const uint8_t *data;
    size_t len;
    int port;         // of a received one: the number that c10m_udp_open() returned
    bool whole;       // to send: do not fragment it here either
    unsigned device;  // through which it came, or is to leave; to send, 0: the route decides
    bool icmp;        // data is an ICMP or ICMPv6 message, from.port is its identifier
};

// c10m_packet_error: an ICMP or ICMPv6 error about a datagram that was sent.
struct c10m_packet_error {
    int error;  // Linux's errno for it
    // Linux reports hard errors to a connected socket. The others may be temporary; Linux reports
    // them only on request (IP_RECVERR).
    bool hard;
    uint8_t type, code;  // of the message
    uint16_t mtu;        // with EMSGSIZE: the path's MTU from now on (c10m_udp_mtu())
};

// c10m_udp_open: from now on `packet` of s is called for datagrams to `at`. at->addr may be any of
// IPv4 (::ffff:0.0.0.0), any of IPv6 (:: with v6only) or any of both (::). An exact address has
// priority over all addresses of its family, and these over both families. Returns the number of
// the port, 0 to C10M_UDP_PORTS_MAX - 1; -EADDRINUSE: the same address and port are open or
// configured (:: with and without v6only are different); -EADDRNOTAVAIL: the address is neither
// local, nor a group, nor "any"; -ENOBUFS: C10M_UDP_PORTS_MAX ports are open; -EINVAL: port 0, or
// the application has no `packet`.
int c10m_udp_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                  bool v6only);

// c10m_udp_open_on: the same for datagrams that arrive through one device (see below); 0: any. With
// the same address it has priority over a port on any device. Different devices do not conflict.
int c10m_udp_open_on(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                     bool v6only, unsigned device);

// c10m_echo_open: the same for echo replies with the identifier at->port: `packet` gets the whole
// ICMP message, with `icmp` set and from.port 0. To send such messages, set `icmp` in
// c10m_udp_send(): data has at least 8 bytes, and identifier and checksum are filled in.
int c10m_echo_open(struct c10m_core *w, struct c10m_service *s, const struct c10m_name *at,
                   unsigned device);

// c10m_udp_peer: from now on the open port receives only datagrams from `peer`, and has priority
// over other ports for these. Datagrams from others go to the next matching port, or are answered
// by ICMP port unreachable. NULL: it receives datagrams from all again. Returns 0, or -EINVAL:
// port 0.
int c10m_udp_peer(struct c10m_core *w, int port, const struct c10m_name *peer);

// c10m_udp_close: closes an open port. No callback of it follows, and its number is used again.
void c10m_udp_close(struct c10m_core *w, int port);

// c10m_udp_send: sends p to p->to from any local address and port, whether open or not. from.addr
// "any": the route decides. ttl 0: 64, or 1 to a multicast group. The bytes are copied. While the
// neighbour is unknown some datagrams wait for it, as segments do. Datagrams larger than the MTU
// are fragmented. Returns
// - 0;
// - -EINVAL: a port is 0;
// - -ENETUNREACH: there is no route, or the address has another family;
// - -EADDRNOTAVAIL: from.addr is not local;
// - -EMSGSIZE: more than 64 KiB; or more than the link or the known path MTU, if p->whole is set or
//   [memory] reassembly is off;
// - -ENOBUFS: no packet is free, or no room in this turn, of which a part is reserved for TCP. A
//   later turn may have room.
int c10m_udp_send(struct c10m_core *w, struct c10m_service *s, const struct c10m_packet *p);

// c10m_group_join: this worker receives what arrives through the device (see below) for the
// multicast address `group`, until c10m_group_leave() was called as often as c10m_group_join().
// Over IPv6 a report announces it on the link (RFC 3810). Returns 0; -EINVAL: not a multicast
// address; -ENODEV: there is no such device, or it has no address of that family; -ENOBUFS: the
// device is in 64 groups of that family already. c10m_group_leave: returns 0, or -EADDRNOTAVAIL.
int c10m_group_join(struct c10m_core *w, unsigned device, const uint8_t group[16]);
int c10m_group_leave(struct c10m_core *w, unsigned device, const uint8_t group[16]);

// ---- Devices: the ports of the server, numbered from 1; 0 stands for any. Any thread, from init
// on.

// c10m_device_find: the port with this name; if there is none, the first one whose `device` is
// `name`. 0: none.
unsigned c10m_device_find(const struct c10m_service *s, const char *name);

// c10m_device_name: the name of the port. NULL: no port has this number.
const char *c10m_device_name(const struct c10m_service *s, unsigned device);

// c10m_device_of: the port that has this address. 0: none.
unsigned c10m_device_of(const struct c10m_service *s, const uint8_t addr[16]);

// c10m_device_to: the device through which a datagram to `to` leaves if it may leave through
// `device` (0: any). 0: there is no route. Unless `from` is NULL, from->addr becomes its source
// address; from->port stays. While the workers run.
unsigned c10m_device_to(const struct c10m_service *s, const struct c10m_name *to, unsigned device,
                        struct c10m_name *from);

// c10m_udp_source: sets from->addr to the source address of datagrams to `to` whose sender has
// chosen none; from->port stays. Returns 0, or -ENETUNREACH: there is no route.
int c10m_udp_source(struct c10m_core *w, const struct c10m_name *to, struct c10m_name *from);

// c10m_is_broadcast: 255.255.255.255, or the broadcast address of a prefix of ours. Any thread.
bool c10m_is_broadcast(const struct c10m_service *s, const uint8_t addr[16]);

// c10m_udp_mtu: the largest IP packet, in bytes, that reaches `to` unfragmented as far as is known.
// 0: there is no route to `to`.
uint16_t c10m_udp_mtu(struct c10m_core *w, const struct c10m_name *to);

// c10m_udp_path: the same through `device` (0: any). Unless `from` is NULL, from->addr becomes the
// source address of such packets; from->port stays.
uint16_t c10m_udp_path(struct c10m_core *w, const struct c10m_name *to, unsigned device,
                       struct c10m_name *from);
