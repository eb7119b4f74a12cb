// SPDX-License-Identifier: BSD-3-Clause
// agent.h: the agent on its thread: BSD sockets of the user-mode stack for other processes, which
// send a request of c10m/agent.h for each call.
//
//   client --request--> call_start --> op (agent_call.c) --+-> call_end --reply--> client
//                                       |                  |
//                                       +-> post() a verb --+ done at the worker
//                                       +-> call_block() on a file: again when that changes, or
//                                           its deadline comes
//
// Nothing here waits but the loop itself (agent_server.c). Every structure is the thread's alone;
// what workers hold is in agent_msg.h. Errors are numbers of errno, negative where a function
// returns values too.
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/agent/agent_worker.h"
#include "c10m/agent.h"

enum {
    AGENT_CLIENTS_MAX = 512,  // connected at once; more wait to be accepted
    AGENT_SOCKETS_DEFAULT = 1024,
    AGENT_SOCKETS_MAX = 65536,
    AGENT_GHOSTS_MAX = 4096,
    AGENT_DEVICE_BYTES = 16,      // of a device's name, with the NUL: IFNAMSIZ
    AGENT_MEMBERSHIPS_MAX = 20,   // of a socket, in groups of one family: igmp_max_memberships
    AGENT_SOMAXCONN = 4096,       // net.core.somaxconn
    AGENT_EPOLL_DEPTH_MAX = 5,    // epolls in epolls: Linux's limit
    AGENT_EPOLL_WAYS_MAX = 1000,  // from one to another by one that is added
    AGENT_TAKE_MAX = 64,          // answers of a worker in a turn
    EPHEMERAL_FIRST = 32768,      // net.ipv4.ip_local_port_range
    EPHEMERAL_LAST = 60999,
};

#define NEVER UINT64_MAX

struct call;
struct client;
struct corked;
struct group;
struct membership;

enum file_kind { FILE_TCP, FILE_UDP, FILE_EPOLL };

// file: an open file description. It lives as long as a descriptor or a call uses it, or a worker
// has a message of its; what it stands for ends with the last use.
struct file {
    enum file_kind kind;
    unsigned users, lent;
    bool nonblock, released, busy;  // busy: a call changes its state at the workers
    struct call *first_waiting, *last_waiting;
    struct epoll_item *items;  // of epolls that watch it
    struct file *all_next, **all_link;
};

enum socket_state {
    TCP_IDLE,  // Linux's TCP_CLOSE
    TCP_LISTENING,
    TCP_ATTACHED,  // a worker has a connection for it
};

enum connect_state { UNCONNECTED, CONNECTING, CONNECTED, DISCONNECTING };  // Linux's SS_*

// each: something that all workers do alike: a listener, a UDP port.
struct each {
    struct agent_msg *msgs;  // one for each worker
    int *ids;                // its number there, -1: none
    unsigned left;           // answers that are still to come
    int error;               // the first, as errno has it
    void (*then)(struct agent *a, struct each *e);
    void *owner;
    struct call *call;  // that waits for it, or NULL
};

// tcp_port: a name on which the workers listen, for all sockets that do.
struct tcp_port {
    struct tcp_port *next;
    int domain;
    struct c10m_listening at;
    struct agent_options options;
    unsigned users;
    int error;  // why it is closed again
    struct each *each;
    struct each *renewal;  // what the sockets that are left ask for, when one has gone
    bool stale;            // one more went before all workers knew that
};

// socket_options: as setsockopt got them.
struct socket_options {
    bool reuse_addr, reuse_port, broadcast, oob_inline, keepalive, nodelay, cork, quickack, linger,
        v6only;
    bool rcvbuf_set, sndbuf_set;
    bool mc_loop, mc6_all;  // of datagrams to groups, by their family: mc6 is IPv6's
    int mc6_loop, mc_all;
    int mc_ttl, mc6_hops, mc_device, mc6_device;
    uint8_t mc_addr[4];  // of IP_MULTICAST_IF
    int linger_s, lowat, rcvbuf, sndbuf;
    int maxseg, keep_idle_s, keep_interval_s, keep_count, syn_count, defer_s, linger2_s;
    int window_clamp, ttl, tos, hops, tclass, mtu_discover, mtu_discover6;
    uint32_t user_timeout_ms, notsent_lowat;
    uint8_t congestion;
    uint32_t quickack_turn, nodelay_turn;     // times that it was set
    uint64_t rcv_timeout_us, snd_timeout_us;  // 0: none
};

struct socket {
    struct file f;  // first
    int domain;     // AF_INET or AF_INET6
    struct socket_options o;
    bool bound, port_chosen;  // bound: has a local port; port_chosen: by a bind
    bool addr_given;          // by bind
    struct c10m_name local, peer;
    struct c10m_name was;  // local, when its connection was given up
    uint16_t port_told;    // of TCP: the port that it had, which getsockname goes on to tell
    struct socket *next_bound;

    // TCP
    enum socket_state state;
    enum connect_state connect;
    int error;               // sk_err while no worker has the socket
    bool shut_in, shut_out;  // likewise
    unsigned disconnects;    // times that its connection was given up
    struct end *end;
    unsigned worker;
    uint32_t mask;             // poll's, as the worker said last
    enum end_state end_state;  // likewise
    struct agent_msg watch;
    struct agent_msg *bye;     // for its VERB_CLOSE
    struct tcp_port *listens;  // or NULL
    unsigned backlog, n_arrived;
    struct socket *first_arrived, *last_arrived, *next_arrived;

    // UDP
    bool icmp;  // no UDP, but echo requests out and replies in: the port is their identifier
    struct received *first_received, *last_received;
    uint32_t received_bytes;  // with what each costs besides
    struct udp_port *port;
    bool is_connected;
    bool told;              // of a datagram for several
    struct corked *corked;  // the datagram that MSG_MORE began, or NULL
    struct membership *members;
    unsigned n_members;

    unsigned device;  // SO_BINDTODEVICE: c10m_device_find()'s; 0: any
    char device_name[AGENT_DEVICE_BYTES];
};

// group_request: what a socket asks to join or leave, and where.
struct group_request {
    struct c10m_name group;
    struct c10m_name interface;  // 0.0.0.0, ::: not given
    int device;                  // likewise 0
    bool is_v6;
};

// call: a request in work, one a client at most.
struct call {
    struct client *client;
    const struct agent_request *r;
    struct file *file;                              // used by it
    void (*step)(struct agent *a, struct call *c);  // when what it waits for may have come
    struct file *waits_for;
    struct call *prev_waiting, *next_waiting;
    struct call *prev_blocked, *next_blocked;
    bool blocked, due, timed_out, fenced, gone;
    uint64_t deadline_us;
    unsigned lent;  // messages of it at workers
    struct agent_msg msg;
    struct agent_msg *fences;   // one for each worker
    struct socket *socket;      // of its descriptor, or NULL
    struct agent_msg *waiting;  // close: that of the lingering connection
    unsigned disconnects;       // of the socket when the call began
    bool nonblock;
    int flags;                  // MSG_*
    int64_t got, want, target;  // bytes: so far, in all, enough to return
    struct c10m_name name;
    unsigned scope;  // the device of a datagram's address
    void (*opened)(struct agent *a, struct call *c, int rc);
    unsigned tries;         // of a datagram for which there was no room
    struct corked *corked;  // that it sends
    struct file **polled;   // poll: used by it
    unsigned n_polled;
    struct agent_reply *reply;
    bool to_epoll;  // wants every change: poll, epoll_wait
};

// taken: answers of one worker, in their order; those from `next` on are still to be looked at.
struct taken {
    void *msgs[AGENT_TAKE_MAX];
    unsigned n, next;
};

struct agent {
    struct c10m_service *s;
    unsigned n_workers;
    struct agent_worker **workers;
    struct agent_options defaults;
    int rcvbuf, sndbuf;  // of a new TCP socket
    char path[108];
    bool path_made;
    int door, epoll;  // AF_UNIX; the thread's own epoll
    unsigned clients_max, n_clients;
    struct client *clients;
    unsigned sockets_max;
    struct file **fds;
    struct file *all;
    struct socket *bound;  // all sockets with a port
    struct udp_port *udp_ports;
    struct tcp_port *tcp_ports;
    struct group *groups;
    struct ghost_name *ghosts;
    unsigned n_ghosts;
    struct agent_msg **unsent_first, **unsent_last;  // for each worker whose ring was full
    struct taken *taken;                             // for each worker
    struct agent_msg nudge;  // VERB_NUDGE: never changes, and may be on its way several times
    unsigned n_lent;         // that come back at once: all but watches and lingering closes
    unsigned n_listening;    // sockets to which something may come unasked
    struct call *first_blocked;
    struct call *resetter;
    uint64_t now_us;
    uint32_t not_chance;  // not 0: what a fuzz target has in place of chance, and then the next
    unsigned turn;        // which worker opens the next connection
};

// agent_of: what init made.
struct agent *agent_of(const struct c10m_service *s);

// agent_new: by the service's parameters, without a door to it; NULL: err says why. agent_free:
// when the workers have stopped.
struct agent *agent_new(struct c10m_service *s, char *err, size_t err_bytes);
void agent_free(struct agent *a);

// ---- agent_server.c: the thread, the clients
void agent_thread(struct c10m_service *s);
// agent_door_open: the socket that clients connect to; NULL or why not. agent_door_close.
const char *agent_door_open(struct agent *a);
void agent_door_close(struct agent *a);
void agent_clients_free(struct agent *a);

// ---- agent_post.c: messages
// post: lends m to the worker; m->done is called when it is back.
void post(struct agent *a, unsigned worker, struct agent_msg *m, enum agent_verb verb,
          agent_done_fn *done, void *owner);
// take_answers: whether there were any. flush_posts: what full rings refused.
bool take_answers(struct agent *a);
void flush_posts(struct agent *a);
// call_post: c->msg, of a call, about its socket's connection; c is not over before it is back.
void call_post(struct agent *a, struct call *c, enum agent_verb verb, agent_done_fn *done);
// call_fence: c->step follows when all workers have told what they knew before.
void call_fence(struct agent *a, struct call *c, void (*step)(struct agent *a, struct call *c));
// each_new: for all workers, NULL: no memory. each_free: nothing of it is at a worker.
struct each *each_new(const struct agent *a, void *owner);
void each_free(struct each *e);
// each_post: its messages, filled in, to all workers; then `then`.
void each_post(struct agent *a, struct each *e, enum agent_verb verb,
               void (*fill)(const struct each *e, unsigned worker, struct agent_msg *m),
               void (*then)(struct agent *a, struct each *e));

// ---- agent_call.c: a call's life
void call_start(struct agent *a, struct call *c);
// call_return: the reply. call_return_data: with bytes in c->reply->data.
void call_return(struct agent *a, struct call *c, int64_t ret);
void call_return_data(struct agent *a, struct call *c, int64_t ret, uint32_t bytes);
// call_cancel: its client is gone.
void call_cancel(struct agent *a, struct call *c);
// call_over: nothing at the workers belongs to it any more, and it was cancelled or answered.
bool call_over(const struct call *c);

// ---- agent_fd.c: descriptors and files
// fd_new: the lowest free descriptor for f, or -EMFILE.
int fd_new(struct agent *a, struct file *f);
struct file *fd_get(const struct agent *a, int fd);
void file_init(struct agent *a, struct file *f, enum file_kind kind);
void file_use(struct file *f);
// file_unuse: the last one releases what it stands for. file_back: a message of it came back.
void file_unuse(struct agent *a, struct file *f);
void file_back(struct agent *a, struct file *f);
void file_free(struct agent *a, struct file *f);
// file_drop: f goes without a word to the workers, which have stopped.
void file_drop(struct agent *a, struct file *f);
void op_close(struct agent *a, struct call *c);
void op_fcntl(struct agent *a, struct call *c);
// socket_of: the socket of a file that is one.
static inline struct socket *socket_of(struct file *f)
{
    return (struct socket *)f;
}

// ---- agent_wait.c: blocked calls, poll
// call_block: until f (NULL: anything) changes or c->deadline_us: then c->step.
void call_block(struct agent *a, struct call *c, struct file *f,
                void (*step)(struct agent *a, struct call *c));
void call_unblock(struct agent *a, struct call *c);
// call_deadline: from a timeout in us, 0: none; a call that may not block has none.
void call_deadline(const struct agent *a, struct call *c, uint64_t timeout_us);
// file_wake: f changed (poll's bits of what did).
void file_wake(struct agent *a, struct file *f, uint32_t edges);
// file_mask: what poll says of it. file_watch: its changes are told from now on.
uint32_t file_mask(struct agent *a, struct file *f);
void file_watch(struct agent *a, struct file *f);
// run_deadlines: steps those whose time has come; the next one's, or NEVER.
uint64_t run_deadlines(struct agent *a);
void op_poll(struct agent *a, struct call *c);

// ---- agent_epoll.c
void op_epoll_create(struct agent *a, struct call *c);
void op_epoll_ctl(struct agent *a, struct call *c);
void op_epoll_wait(struct agent *a, struct call *c);
void epoll_release(struct agent *a, struct file *f);
void epoll_changed(struct agent *a, struct file *f, uint32_t edges);
void epoll_forget(struct agent *a, struct file *f);
uint32_t epoll_mask(struct agent *a, struct file *f);
void epoll_watch(struct agent *a, struct file *f);

// ---- agent_name.c: addresses and ports
// name_read: of the request's sockaddr; 0, or the error that Linux gives for the socket's family.
int name_read(const struct call *c, const struct socket *k, struct c10m_name *name);
void name_write(struct call *c, const struct socket *k, const struct c10m_name *name);
bool name_is_any(const struct c10m_name *n);
bool name_is_v4(const struct c10m_name *n);
// port_bind: gives k the local name; 0, EADDRINUSE or EADDRNOTAVAIL. Port 0: any.
int port_bind(struct agent *a, struct socket *k, const struct c10m_name *name);
// port_listens: whether another socket stands against k's listening where it is bound.
bool port_listens(const struct agent *a, const struct socket *k);
// port_take: k->local is its name; port_free: it has none.
void port_take(struct agent *a, struct socket *k);
void port_free(struct agent *a, struct socket *k);
// name_any: any address of the socket's family, port 0. name_any_addr: k's, its port stays.
// name_family: of the request's sockaddr.
void name_any(const struct socket *k, struct c10m_name *name);
void name_any_addr(struct socket *k);
sa_family_t name_family(const struct call *c);
// name_peer: any address is, as a peer, ourselves.
void name_peer(struct c10m_name *name);
// name_needs_scope: a link-local one, or a group of the link, without its interface.
bool name_needs_scope(const struct call *c, const struct socket *k, const struct c10m_name *n);
// name_scope: the device that the address, one of a link, is of (sin6_scope_id); 0: none is given.
unsigned name_scope(const struct call *c, const struct socket *k, const struct c10m_name *n);
// name_take_scope: and k is bound to that; 0, -EINVAL: it is bound to another and may not change,
// -ENODEV.
int name_take_scope(const struct agent *a, const struct call *c, struct socket *k,
                    const struct c10m_name *n, bool may_change);
// name_is_group: multicast or 255.255.255.255. name_is_many: those, or the broadcast address of a
// port.
bool name_is_multicast(const struct c10m_name *n);
bool name_is_group(const struct c10m_name *n);
bool name_is_many(const struct agent *a, const struct c10m_name *n);
// name_source: what is sent leaves from no address of many: it becomes any.
void name_source(const struct agent *a, struct c10m_name *n);
// ghost_add: k->was, which is in TIME-WAIT at its worker. ghosts_free: all go.
void ghost_add(struct agent *a, const struct socket *k);
void ghosts_free(struct agent *a);
// name_hash: to choose by.
uint32_t name_hash(const struct c10m_name *n);
void op_bind(struct agent *a, struct call *c);
void op_getsockname(struct agent *a, struct call *c);
void op_getpeername(struct agent *a, struct call *c);

// ---- agent_socket.c: sockets of TCP
void op_socket(struct agent *a, struct call *c);
void op_shutdown(struct agent *a, struct call *c);
struct socket *socket_new(struct agent *a, enum file_kind kind, int domain);
// socket_ready: has the memory that socket_attach needs. socket_attach: a worker has e for it.
bool socket_ready(struct socket *k);
void socket_attach(struct socket *k, unsigned worker, struct end *e);
// socket_note: what an answer about its connection says of it.
void socket_note(struct socket *k, const struct agent_msg *m);
// socket_release: the last use is over; c, unless NULL, is the close() that waits for it.
void socket_release(struct agent *a, struct socket *k, struct call *c);
// socket_disconnect: Linux's tcp_disconnect: what it has at the workers ends, a connection by RST;
// it can connect again.
void socket_disconnect(struct agent *a, struct socket *k);
uint32_t socket_mask(const struct socket *k);
void socket_watch(struct agent *a, struct socket *k);
// socket_error: sk_err of a socket that no worker has, once.
int socket_error(struct socket *k);

// ---- agent_connect.c
void op_connect(struct agent *a, struct call *c);

// ---- agent_accept.c: listeners
void op_listen(struct agent *a, struct call *c);
void op_accept(struct agent *a, struct call *c);
void listener_arrived(struct agent *a, struct agent_msg *m);
// listener_end: it has a port and listens no more, or will not; who was not accepted is reset; c as
// in socket_release.
void listener_end(struct agent *a, struct socket *k, struct call *c);
void tcp_ports_free(struct agent *a);
// listener_renew: its options changed. listener_rebind: its device.
void listener_renew(struct agent *a, struct call *c);
void listener_rebind(struct agent *a, struct call *c);

// ---- agent_io.c: bytes
void op_read(struct agent *a, struct call *c);
void op_recv(struct agent *a, struct call *c);
void op_write(struct agent *a, struct call *c);
void op_send(struct agent *a, struct call *c);
void op_ioctl(struct agent *a, struct call *c);

// ---- agent_udp.c: sockets of UDP
// udp_open: the workers take datagrams to c->socket's local name; then `then`, rc 0 or -errno, with
// the port given back.
void udp_open(struct agent *a, struct call *c,
              void (*then)(struct agent *a, struct call *c, int rc));
void udp_connect(struct agent *a, struct call *c);
void udp_receive(struct agent *a, struct call *c);
void udp_send(struct agent *a, struct call *c);
void udp_arrived(struct agent *a, struct agent_msg *m);
void udp_release(struct agent *a, struct socket *k, struct call *c);
uint32_t udp_mask(const struct socket *k);
// udp_worker: to whom errors about what k sends to the peer come: who knows the path.
unsigned udp_worker(const struct agent *a, const struct socket *k, const struct c10m_name *peer);
void udp_shutdown(struct agent *a, struct call *c);
void udp_ioctl(struct agent *a, struct call *c);
// udp_let_go: its port at the workers; c, unless NULL, is the close() that waits for it.
void udp_let_go(struct agent *a, struct socket *k, struct call *c);
// udp_queue_free: what was not received. udp_ports_free: when the workers have stopped.
void udp_queue_free(struct socket *k);
// udp_cork_free: what MSG_MORE holds back.
void udp_cork_free(struct socket *k);
void udp_ports_free(struct agent *a);

// udp_rebind: k has another device now: the workers are told; then `then`.
void udp_rebind(struct agent *a, struct call *c,
                void (*then)(struct agent *a, struct call *c, int rc));

// ---- agent_device.c: devices. False: the call is about something else.
bool device_set(struct agent *a, struct call *c);
bool device_get(struct agent *a, struct call *c);
// device_give: k is bound to it, by that name; 0: to none.
void device_give(struct socket *k, unsigned device, const char *name);

// ---- agent_group.c: groups
// group_option: a setsockopt of groups, which it takes over; false: it is none.
bool group_option(struct agent *a, struct call *c);
// group_allowed: may k have what is sent to the group and came by the device? group_has_member: is
// any socket in it?
bool group_allowed(const struct socket *k, const struct c10m_name *group, unsigned device);
bool group_has_member(const struct agent *a, const uint8_t addr[16]);
// group_leave_all: k's; c, unless NULL, is the close() that waits for it.
void group_leave_all(struct agent *a, struct socket *k, struct call *c);
void groups_free(struct agent *a);

// ---- agent_opt.c
void op_getsockopt(struct agent *a, struct call *c);
void op_setsockopt(struct agent *a, struct call *c);
void options_default(const struct agent *a, struct socket *k);
// options_of: what they come to at the stack.
void options_of(const struct agent *a, const struct socket *k, struct agent_options *o);

// option_whole: is a datagram longer than its path takes refused (IP_MTU_DISCOVER), not cut?
bool option_whole(const struct socket *k);

// connection_defaults: what a connection has whose options nobody set.
void connection_defaults(const struct agent *a, struct agent_options *o);

// ---- agent_reset.c
void op_reset(struct agent *a, struct call *c);
