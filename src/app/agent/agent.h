// SPDX-License-Identifier: BSD-3-Clause
// agent.h: the part of the agent that runs on its thread. The agent provides BSD sockets on the
// user-mode stack to other processes. A process sends one request of c10m/agent.h for each call.
//
//   client --request--> call_start --> op (agent_call.c) --+-> call_end --reply--> client
//                                       |                  |
//                                       +-> post() a command --+ executed by the worker
//                                       +-> call_block() on a file: repeated when the file
//                                           changes or the call's deadline is over
//
// Only the loop in agent_server.c waits. The thread owns every structure of this header. The
// structures that workers use are in agent_msg.h. Errors are errno numbers; a function that also
// returns other values returns -errno.
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/agent/agent_worker.h"
#include "c10m/agent.h"

enum {
    AGENT_CLIENTS_MAX = 512,  // connected at the same time; others wait in the listen backlog
    AGENT_SOCKETS_DEFAULT = 1024,
    AGENT_SOCKETS_MAX = 65536,
    AGENT_TIME_WAIT_MAX = 4096,
    AGENT_DEVICE_BYTES = 16,       // IFNAMSIZ: name of a device, with the terminating zero
    AGENT_MEMBERSHIPS_MAX = 20,    // for each socket and family; Linux's igmp_max_memberships
    AGENT_SOMAXCONN = 4096,        // net.core.somaxconn
    AGENT_EPOLL_DEPTH_MAX = 5,     // nesting depth of epoll instances: Linux's EP_MAX_NESTS + 1
    AGENT_EPOLL_PATHS_MAX = 1000,  // paths that adding one epoll instance may create
    AGENT_RECEIVE_MAX = 64,        // answers received from a worker at a time
    EPHEMERAL_FIRST = 32768,       // net.ipv4.ip_local_port_range
    EPHEMERAL_LAST = 60999,
};

#define NEVER UINT64_MAX

struct call;
struct client;
struct corked;
struct group;
struct membership;

enum file_kind { FILE_TCP, FILE_UDP, FILE_EPOLL };

// file: an open file description. `users` counts the descriptors and calls that use it, `lent` its
// messages that a worker holds. When `users` becomes 0, its socket or epoll instance is released.
// When `lent` is 0 too, the file is freed.
struct file {
    enum file_kind kind;
    unsigned users, lent;
    bool nonblock, released, busy;  // busy: a call is changing its state on the workers
    struct call *first_waiting, *last_waiting;
    struct epoll_item *items;  // items of the epoll instances that watch this file
    struct file *all_next, **all_link;
};

enum socket_state {
    TCP_IDLE,  // Linux's TCP_CLOSE
    TCP_LISTENING,
    TCP_ATTACHED,  // a worker has a connection for this socket
};

enum connect_state { UNCONNECTED, CONNECTING, CONNECTED, DISCONNECTING };  // Linux's SS_*

// fanout: one command that all workers execute, for a listener, a UDP port or a multicast group.
struct fanout {
    struct agent_msg *msgs;  // one for each worker
    int *ids;                // id that each worker returned; -1: none
    unsigned left;           // number of workers that have not answered yet
    int error;               // errno of the first worker that failed; 0: none
    void (*then)(struct agent *a, struct fanout *f);
    void *owner;
    struct call *call;  // the call that waits for all answers, or NULL
};

// tcp_port: a local name on which the workers listen, shared by all sockets that listen on it.
struct tcp_port {
    struct tcp_port *next;
    int domain;
    struct c10m_listening at;
    struct agent_options options;
    unsigned users;
    int error;  // errno of the listen() that failed; the port is being closed
    struct fanout *fanout;
    struct fanout *renewal;  // updates the options after one of several sockets was closed
    bool stale;              // another socket was closed during a renewal: start another one
};

// socket_options: the values of setsockopt(), in the units of setsockopt().
struct socket_options {
    bool reuse_addr, reuse_port, broadcast, oob_inline, keepalive, nodelay, cork, quickack, linger,
        v6only;
    bool rcvbuf_set, sndbuf_set;
    bool mc_loop, mc6_all;  // multicast options: mc_ of IPv4, mc6_ of IPv6
    int mc6_loop, mc_all;
    int mc_ttl, mc6_hops, mc_device, mc6_device;
    uint8_t mc_addr[4];  // address of IP_MULTICAST_IF
    int linger_s, lowat, rcvbuf, sndbuf;
    int maxseg, keep_idle_s, keep_interval_s, keep_count, syn_count, defer_s, linger2_s;
    int window_clamp, ttl, tos, hops, tclass, mtu_discover, mtu_discover6;
    uint32_t user_timeout_ms, notsent_lowat;
    uint8_t congestion;
    uint32_t quickack_turn, nodelay_turn;     // incremented each time the option is set
    uint64_t rcv_timeout_us, snd_timeout_us;  // 0: none
};

struct socket {
    struct file f;  // first
    int domain;     // AF_INET or AF_INET6
    struct socket_options o;
    bool bound, port_chosen;  // bound: has a local port; port_chosen: set by bind()
    bool addr_given;          // bind() set the local address
    struct c10m_name local, peer;
    struct c10m_name closed_name;  // local name of the connection that was closed last
    uint16_t port_reported;  // TCP: the port that getsockname() reports after the connection ended
    struct socket *next_bound;

    // TCP
    enum socket_state state;
    enum connect_state connect;
    int error;               // sk_err while no worker has a connection for the socket
    bool shut_in, shut_out;  // shutdown() while no worker has a connection for the socket
    unsigned disconnects;    // number of connections of this socket that were disconnected
    struct agent_conn *conn;
    unsigned worker;
    uint32_t mask;               // poll() bits, from the worker's last answer
    enum conn_state conn_state;  // from the worker's last answer
    struct agent_msg watch;
    struct agent_msg *close_msg;  // reserved for CMD_CLOSE: close() must not need memory
    struct tcp_port *listens;     // the port on which the socket listens, or NULL
    unsigned backlog, n_arrived;
    struct socket *first_arrived, *last_arrived, *next_arrived;

    // UDP
    bool icmp;  // ping socket: sends ICMP echo requests and receives replies; the port is their
                // identifier
    struct received *first_received, *last_received;
    uint32_t received_bytes;  // bytes in the queue, with the overhead of each datagram
    struct udp_port *port;
    bool is_connected;
    bool to_wake;           // one datagram was queued to several sockets; this one has to be woken
    struct corked *corked;  // data held by MSG_MORE, or NULL
    struct membership *members;
    unsigned n_members;

    unsigned device;  // SO_BINDTODEVICE: number of c10m_device_find(); 0: any device
    char device_name[AGENT_DEVICE_BYTES];
};

// group_request: the group that a socket joins or leaves, and the interface.
struct group_request {
    struct c10m_name group;
    struct c10m_name interface;  // 0.0.0.0 or ::: not given
    int device;                  // 0: not given
    bool is_v6;
};

// call: a request that is being executed. A client has at most one.
struct call {
    struct client *client;
    const struct agent_request *r;
    struct file *file;  // the call is one of its users
    // called when the awaited event may have occurred
    void (*step)(struct agent *a, struct call *c);
    struct file *waits_for;
    struct call *prev_waiting, *next_waiting;
    struct call *prev_blocked, *next_blocked;
    bool blocked, due, timed_out, fenced, gone;
    uint64_t deadline_us;
    unsigned lent;  // number of messages of this call that workers hold
    struct agent_msg msg;
    struct agent_msg *fences;   // one for each worker
    struct socket *socket;      // the socket of its descriptor, or NULL
    struct agent_msg *waiting;  // close(): the CMD_CLOSE of the lingering connection
    unsigned disconnects;       // the socket's disconnects when the call began
    bool nonblock;
    int flags;                  // MSG_*
    int64_t got, want, target;  // bytes transferred, requested, and required to return
    struct c10m_name name;
    unsigned scope;  // device number of the datagram's scope id; 0: none
    void (*opened)(struct agent *a, struct call *c, int rc);
    unsigned tries;         // attempts to send a datagram that the worker refused with ENOBUFS
    struct corked *corked;  // the data held by MSG_MORE that this call sends
    struct file **polled;   // poll(): the files that this call uses
    unsigned n_polled;
    struct agent_reply *reply;
    bool to_epoll;  // poll() and epoll_wait(): run `step` at every change of any file
};

// inbox: messages received from one worker, in order. msgs[next..n) are not processed yet.
struct inbox {
    void *msgs[AGENT_RECEIVE_MAX];
    unsigned n, next;
};

struct agent {
    struct c10m_service *s;
    unsigned n_workers;
    struct agent_worker **workers;
    struct agent_options defaults;
    int rcvbuf, sndbuf;  // defaults of a new TCP socket
    char path[108];
    bool path_made;
    int listen_fd, epoll;  // the listening AF_UNIX socket; the epoll instance of the thread
    unsigned clients_max, n_clients;
    struct client *clients;
    unsigned sockets_max;
    struct file **fds;
    struct file *all;
    struct socket *bound;  // all sockets with a port
    struct udp_port *udp_ports;
    struct tcp_port *tcp_ports;
    struct group *groups;
    struct time_wait_name *time_wait;
    unsigned n_time_wait;
    // for each worker: messages that did not fit into the ring
    struct agent_msg **unsent_first, **unsent_last;
    struct inbox *inboxes;   // one for each worker
    struct agent_msg flush;  // CMD_FLUSH; constant, so it may be in the rings several times
    unsigned n_lent;         // messages at workers, without watches and lingering closes
    unsigned n_listening;    // sockets that can receive connections or datagrams without a call
    struct call *first_blocked;
    struct call *resetter;
    uint64_t now_us;
    uint32_t fixed_random;  // not 0: next value used instead of random numbers (fuzz targets)
    unsigned turn;          // selects the worker that opens the next connection
};

// agent_of: the agent that the service's init created.
struct agent *agent_of(const struct c10m_service *s);

// agent_new: creates the agent from the service's parameters, without the socket for its clients.
// Returns NULL with the reason in err. agent_free: frees the agent; call it after the workers have
// stopped.
struct agent *agent_new(struct c10m_service *s, char *err, size_t err_bytes);
void agent_free(struct agent *a);

// ---- agent_server.c: the thread, the clients
void agent_thread(struct c10m_service *s);
// agent_socket_open: opens the socket to which clients connect. Returns NULL, or the reason of the
// failure. agent_socket_close: closes and removes the socket.
const char *agent_socket_open(struct agent *a);
void agent_socket_close(struct agent *a);
void agent_clients_free(struct agent *a);

// ---- agent_post.c: messages
// post: sends m to the worker. The worker owns m until it answers; then m->done is called.
void post(struct agent *a, unsigned worker, struct agent_msg *m, enum agent_command command,
          agent_done_fn *done, void *owner);
// receive_messages: processes the messages from all workers. Returns whether there were any.
// flush_posts: sends the messages that did not fit into the rings before.
bool receive_messages(struct agent *a);
void flush_posts(struct agent *a);
// call_post: posts c->msg with a command for the connection of the call's socket. The call cannot
// end before the worker has answered.
void call_post(struct agent *a, struct call *c, enum agent_command command, agent_done_fn *done);
// call_fence: runs `step` after every worker has reported all events that preceded call_fence().
void call_fence(struct agent *a, struct call *c, void (*step)(struct agent *a, struct call *c));
// fanout_new: returns NULL if there is no memory. fanout_free: call it only when no worker holds
// one of the messages.
struct fanout *fanout_new(const struct agent *a, void *owner);
void fanout_free(struct fanout *f);
// fanout_post: calls `fill` for the message of each worker and posts it. `then` runs after all
// workers have answered.
void fanout_post(struct agent *a, struct fanout *f, enum agent_command command,
                 void (*fill)(const struct fanout *f, unsigned worker, struct agent_msg *m),
                 void (*then)(struct agent *a, struct fanout *f));

// ---- agent_call.c: start and end of calls
void call_start(struct agent *a, struct call *c);
// call_return: ends the call and replies to the client. call_return_data: also sends `bytes` bytes
// of c->reply->data.
void call_return(struct agent *a, struct call *c, int64_t ret);
void call_return_data(struct agent *a, struct call *c, int64_t ret, uint32_t bytes);
// call_cancel: ends the call of a client that has disconnected.
void call_cancel(struct agent *a, struct call *c);
// call_over: whether the call was answered or canceled and no worker holds one of its messages.
bool call_over(const struct call *c);

// ---- agent_fd.c: descriptors and files
// fd_new: stores f under the lowest free descriptor and returns it, or -EMFILE.
int fd_new(struct agent *a, struct file *f);
struct file *fd_get(const struct agent *a, int fd);
void file_init(struct agent *a, struct file *f, enum file_kind kind);
void file_use(struct file *f);
// file_unuse: removes a user; without users, the socket or epoll instance is released. file_back: a
// worker has returned one of the file's messages.
void file_unuse(struct agent *a, struct file *f);
void file_back(struct agent *a, struct file *f);
void file_free(struct agent *a, struct file *f);
// file_drop: frees f without messages to the workers. Call it after the workers have stopped.
void file_drop(struct agent *a, struct file *f);
void op_close(struct agent *a, struct call *c);
void op_fcntl(struct agent *a, struct call *c);
// socket_of: f must be the file of a socket.
static inline struct socket *socket_of(struct file *f)
{
    return (struct socket *)f;
}

// ---- agent_wait.c: blocked calls, poll()
// call_block: runs `step` when f (NULL: any file) changes or c->deadline_us has passed.
void call_block(struct agent *a, struct call *c, struct file *f,
                void (*step)(struct agent *a, struct call *c));
void call_unblock(struct agent *a, struct call *c);
// call_deadline: sets the deadline to timeout_us from now; 0: no deadline.
void call_deadline(const struct agent *a, struct call *c, uint64_t timeout_us);
// file_wake: wakes the calls that wait for f. `edges`: the poll() bits that have changed.
void file_wake(struct agent *a, struct file *f, uint32_t edges);
// file_mask: the bits that poll() returns. file_watch: requests reports of the file's changes from
// its worker.
uint32_t file_mask(struct agent *a, struct file *f);
void file_watch(struct agent *a, struct file *f);
// run_deadlines: runs `step` of the calls whose deadline has passed. Returns the next deadline, or
// NEVER.
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
// name_read: parses the request's sockaddr. Returns 0, or -errno as Linux does for the family.
int name_read(const struct call *c, const struct socket *k, struct c10m_name *name);
void name_write(struct call *c, const struct socket *k, const struct c10m_name *name);
bool name_is_any(const struct c10m_name *n);
bool name_is_v4(const struct c10m_name *n);
// port_bind: binds k to the name; port 0: any free port. Returns 0 or -EADDRINUSE.
int port_bind(struct agent *a, struct socket *k, const struct c10m_name *name);
// port_conflicts: whether another socket on the port conflicts with k.
bool port_conflicts(const struct agent *a, const struct socket *k);
// port_register: registers k->local as k's local name. port_free: removes the registration.
void port_register(struct agent *a, struct socket *k);
void port_free(struct agent *a, struct socket *k);
// name_any: sets *name to the unspecified address of the socket's family and port 0. name_any_addr:
// sets k's local address to the unspecified address and keeps the port. name_family: the family of
// the request's sockaddr.
void name_any(const struct socket *k, struct c10m_name *name);
void name_any_addr(struct socket *k);
sa_family_t name_family(const struct call *c);
// name_peer: replaces the unspecified address by the loopback address, as Linux's connect() does.
void name_peer(struct c10m_name *name);
// name_needs_scope: whether n has link-local or interface-local scope and no interface is given.
bool name_needs_scope(const struct call *c, const struct socket *k, const struct c10m_name *n);
// name_scope: the device number (sin6_scope_id) of an address with link-local scope; 0: none is
// given.
unsigned name_scope(const struct call *c, const struct socket *k, const struct c10m_name *n);
// name_apply_scope: binds k to the device of name_scope(). Returns 0; -EINVAL: k is bound to
// another device and may_change is false; -ENODEV.
int name_apply_scope(const struct agent *a, const struct call *c, struct socket *k,
                     const struct c10m_name *n, bool may_change);
// name_is_group: whether n is a multicast address or 255.255.255.255. name_is_bcast_mcast: or the
// broadcast address of a prefix of this server.
bool name_is_multicast(const struct c10m_name *n);
bool name_is_group(const struct c10m_name *n);
bool name_is_bcast_mcast(const struct agent *a, const struct c10m_name *n);
// name_source: replaces a multicast or broadcast address by the unspecified address, because
// neither may be a source address.
void name_source(const struct agent *a, struct c10m_name *n);
// time_wait_add: keeps the port of k->closed_name in use for the time of TIME-WAIT. time_wait_free:
// releases all such ports.
void time_wait_add(struct agent *a, const struct socket *k);
void time_wait_free(struct agent *a);
// name_hash: a hash of address and port. It selects one of several sockets on a port.
uint32_t name_hash(const struct c10m_name *n);
void op_bind(struct agent *a, struct call *c);
void op_getsockname(struct agent *a, struct call *c);
void op_getpeername(struct agent *a, struct call *c);

// ---- agent_socket.c: TCP sockets
void op_socket(struct agent *a, struct call *c);
void op_shutdown(struct agent *a, struct call *c);
struct socket *socket_new(struct agent *a, enum file_kind kind, int domain);
// socket_ready: reserves the memory that closing an attached socket needs. False: no memory.
// socket_attach: makes ac, on a worker, the connection of k.
bool socket_ready(struct socket *k);
void socket_attach(struct socket *k, unsigned worker, struct agent_conn *ac);
// socket_update: copies poll() bits and state from an answer about the socket's connection.
void socket_update(struct socket *k, const struct agent_msg *m);
// socket_release: closes a socket without users. c: the close() call that waits for it, or NULL.
void socket_release(struct agent *a, struct socket *k, struct call *c);
// socket_disconnect: Linux's tcp_disconnect(): resets the connection; the socket can connect again.
void socket_disconnect(struct agent *a, struct socket *k);
uint32_t socket_mask(const struct socket *k);
void socket_watch(struct agent *a, struct socket *k);
// socket_error: returns and clears sk_err of a socket without a connection.
int socket_error(struct socket *k);

// ---- agent_connect.c
void op_connect(struct agent *a, struct call *c);

// ---- agent_accept.c: listeners
void op_listen(struct agent *a, struct call *c);
void op_accept(struct agent *a, struct call *c);
void listener_arrived(struct agent *a, struct agent_msg *m);
// listener_end: stops listening and resets the connections that were not accepted. c: as in
// socket_release().
void listener_end(struct agent *a, struct socket *k, struct call *c);
void tcp_ports_free(struct agent *a);
// listener_renew: sends changed options to the workers. listener_rebind: sends a changed device.
void listener_renew(struct agent *a, struct call *c);
void listener_rebind(struct agent *a, struct call *c);

// ---- agent_io.c: read, write, ioctl
void op_read(struct agent *a, struct call *c);
void op_recv(struct agent *a, struct call *c);
void op_write(struct agent *a, struct call *c);
void op_send(struct agent *a, struct call *c);
void op_ioctl(struct agent *a, struct call *c);

// ---- agent_udp.c: UDP sockets
// udp_open: lets the workers receive datagrams for c->socket's local name. `then` is called with rc
// 0, or with -errno after the port was released.
void udp_open(struct agent *a, struct call *c,
              void (*then)(struct agent *a, struct call *c, int rc));
void udp_connect(struct agent *a, struct call *c);
void udp_receive(struct agent *a, struct call *c);
void udp_send(struct agent *a, struct call *c);
void udp_arrived(struct agent *a, struct agent_msg *m);
void udp_release(struct agent *a, struct socket *k, struct call *c);
uint32_t udp_mask(const struct socket *k);
// udp_worker: the worker that receives ICMP errors about k's datagrams to `peer`.
unsigned udp_worker(const struct agent *a, const struct socket *k, const struct c10m_name *peer);
void udp_shutdown(struct agent *a, struct call *c);
void udp_ioctl(struct agent *a, struct call *c);
// udp_close_port: closes k's port on the workers. c: the close() call that waits for it, or NULL.
void udp_close_port(struct agent *a, struct socket *k, struct call *c);
// udp_queue_free: frees unread datagrams. udp_ports_free: frees all ports; call it after the
// workers have stopped.
void udp_queue_free(struct socket *k);
// udp_cork_free: frees the data held by MSG_MORE.
void udp_cork_free(struct socket *k);
void udp_ports_free(struct agent *a);

// udp_rebind: moves the port of c->socket to its new device on the workers. `then`: as in
// udp_open().
void udp_rebind(struct agent *a, struct call *c,
                void (*then)(struct agent *a, struct call *c, int rc));

// ---- agent_device.c: socket options for devices. False: the option is another one.
bool device_set(struct agent *a, struct call *c);
bool device_get(struct agent *a, struct call *c);
// device_assign: sets the device of k, and its name; 0: none.
void device_assign(struct socket *k, unsigned device, const char *name);

// ---- agent_group.c: multicast groups
// group_option: executes a setsockopt() for multicast. False: the option is another one.
bool group_option(struct agent *a, struct call *c);
// group_allowed: whether k receives datagrams to the group that arrive on the device.
// group_has_member: whether at least one socket is a member of the group.
bool group_allowed(const struct socket *k, const struct c10m_name *group, unsigned device);
bool group_has_member(const struct agent *a, const uint8_t addr[16]);
// group_leave_all: ends all memberships of k. c: the close() call that waits for it, or NULL.
void group_leave_all(struct agent *a, struct socket *k, struct call *c);
void groups_free(struct agent *a);

// ---- agent_opt.c
void op_getsockopt(struct agent *a, struct call *c);
void op_setsockopt(struct agent *a, struct call *c);
void options_default(const struct agent *a, struct socket *k);
// options_of: converts the socket's options to the options and units of the stack.
void options_of(const struct agent *a, const struct socket *k, struct agent_options *o);

// option_whole: whether a datagram longer than the path MTU fails with EMSGSIZE instead of being
// fragmented (IP_MTU_DISCOVER).
bool option_whole(const struct socket *k);

// connection_defaults: the options of a connection before any setsockopt().
void connection_defaults(const struct agent *a, struct agent_options *o);

// ---- agent_reset.c
void op_reset(struct agent *a, struct call *c);
