// SPDX-License-Identifier: BSD-3-Clause
// agent.h: the agent on its thread. The agent gives other processes BSD sockets on the user-mode
// stack. A process sends one request of c10m/agent.h for each call.
//
//   client --request--> call_start --> op (agent_call.c) --+-> call_end --reply--> client
//                                       |                  |
//                                       +-> post() a command --+ executed by the worker
//                                       +-> call_block() on a file: repeated when the file
//                                           changes or the call's deadline is over
//
// Only the loop itself waits (agent_server.c). The thread owns every structure of this header;
// agent_msg.h has what the workers hold. Errors are errno numbers; a function that also returns
// values returns them negated.
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/agent/agent_worker.h"
#include "c10m/agent.h"

enum {
    AGENT_CLIENTS_MAX = 512,  // connected at the same time; others wait until accept()
    AGENT_SOCKETS_DEFAULT = 1024,
    AGENT_SOCKETS_MAX = 65536,
    AGENT_TIME_WAIT_MAX = 4096,
    AGENT_DEVICE_BYTES = 16,      // bytes of a device's name with the NUL: IFNAMSIZ
    AGENT_MEMBERSHIPS_MAX = 20,   // memberships of a socket for each family: igmp_max_memberships
    AGENT_SOMAXCONN = 4096,       // net.core.somaxconn
    AGENT_EPOLL_DEPTH_MAX = 5,    // nesting of epolls: Linux's limit
    AGENT_EPOLL_WAYS_MAX = 1000,  // paths that one added epoll may create: Linux's limit
    AGENT_TAKE_MAX = 64,          // answers taken from a worker at a time
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

// file: an open file description. It exists while a descriptor or a call uses it, or a worker holds
// one of its messages. Its socket or epoll is released when the last user is gone.
struct file {
    enum file_kind kind;
    unsigned users, lent;
    bool nonblock, released, busy;  // busy: a call changes its state at the workers
    struct call *first_waiting, *last_waiting;
    struct epoll_item *items;  // items of the epolls that watch this file
    struct file *all_next, **all_link;
};

enum socket_state {
    TCP_IDLE,  // Linux's TCP_CLOSE
    TCP_LISTENING,
    TCP_ATTACHED,  // a worker has a connection for this socket
};

enum connect_state { UNCONNECTED, CONNECTING, CONNECTED, DISCONNECTING };  // Linux's SS_*

// fanout: one command that all workers execute: for a listener, a UDP port or a group.
struct fanout {
    struct agent_msg *msgs;  // one for each worker
    int *ids;                // id that each worker returned; -1: none
    unsigned left;           // answers that have not arrived yet
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
    struct fanout *renewal;  // updates the options after one of several sockets closed
    bool stale;              // another socket closed while a renewal was under way
};

// socket_options: the values that setsockopt() set, in its units.
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
    uint32_t quickack_turn, nodelay_turn;     // number of times that the option was set
    uint64_t rcv_timeout_us, snd_timeout_us;  // 0: none
};

struct socket {
    struct file f;  // first
    int domain;     // AF_INET or AF_INET6
    struct socket_options o;
    bool bound, port_chosen;  // bound: has a local port; port_chosen: bind() chose it
    bool addr_given;          // bind() chose the address
    struct c10m_name local, peer;
    struct c10m_name was;  // local name of the connection that was closed
    uint16_t port_told;    // TCP: the port that getsockname() reports after the connection ended
    struct socket *next_bound;

    // TCP
    enum socket_state state;
    enum connect_state connect;
    int error;               // sk_err while no worker has a connection for the socket
    bool shut_in, shut_out;  // shutdown() while no worker has a connection for the socket
    unsigned disconnects;    // number of connections of this socket that were disconnected
    struct agent_conn *conn;
    unsigned worker;
    uint32_t mask;               // poll's, as the worker said last
    enum conn_state conn_state;  // likewise
    struct agent_msg watch;
    struct agent_msg *bye;     // for its CMD_CLOSE
    struct tcp_port *listens;  // or NULL
    unsigned backlog, n_arrived;
    struct socket *first_arrived, *last_arrived, *next_arrived;

    // UDP
    bool icmp;  // a ping socket: sends echo requests and receives replies; port: their identifier
    struct received *first_received, *last_received;
    uint32_t received_bytes;  // bytes of the queue, with the overhead of each datagram
    struct udp_port *port;
    bool is_connected;
    bool told;              // marks receivers while one datagram is delivered to several sockets
    struct corked *corked;  // the datagram that MSG_MORE began, or NULL
    struct membership *members;
    unsigned n_members;

    unsigned device;  // SO_BINDTODEVICE: number of c10m_device_find(); 0: any device
    char device_name[AGENT_DEVICE_BYTES];
};

// group_request: a group that a socket joins or leaves, and the interface.
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
    struct file *file;                              // used by it
    void (*step)(struct agent *a, struct call *c);  // runs when the awaited event may have come
    struct file *waits_for;
    struct call *prev_waiting, *next_waiting;
    struct call *prev_blocked, *next_blocked;
    bool blocked, due, timed_out, fenced, gone;
    uint64_t deadline_us;
    unsigned lent;  // its messages that workers hold
    struct agent_msg msg;
    struct agent_msg *fences;   // one for each worker
    struct socket *socket;      // the socket of its descriptor, or NULL
    struct agent_msg *waiting;  // close(): the CMD_CLOSE of the lingering connection
    unsigned disconnects;       // the socket's disconnects when the call began
    bool nonblock;
    int flags;                  // MSG_*
    int64_t got, want, target;  // bytes transferred, requested, and enough to return
    struct c10m_name name;
    unsigned scope;  // device that the scope of the datagram's address names
    void (*opened)(struct agent *a, struct call *c, int rc);
    unsigned tries;         // attempts to send a datagram for which there was no room
    struct corked *corked;  // the corked datagram that this call sends
    struct file **polled;   // poll(): the files that this call uses
    unsigned n_polled;
    struct agent_reply *reply;
    bool to_epoll;  // poll() and epoll_wait(): wake up at every change
};

// taken: answers of one worker in order. msgs[next..n) are not processed yet.
struct taken {
    void *msgs[AGENT_TAKE_MAX];
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
    int door, epoll;  // the listening AF_UNIX socket; the epoll of the thread itself
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
    struct agent_msg **unsent_first, **unsent_last;  // for each worker whose ring was full
    struct taken *taken;                             // for each worker
    struct agent_msg nudge;  // CMD_NUDGE: never changes, and may be on its way several times
    unsigned n_lent;         // that come back at once: all but watches and lingering closes
    unsigned n_listening;    // sockets to which something may come unasked
    struct call *first_blocked;
    struct call *resetter;
    uint64_t now_us;
    uint32_t not_chance;  // not 0: what a fuzz target has in place of chance, and then the next
    unsigned turn;        // which worker opens the next connection
};

// agent_of: the agent that the service's init created.
struct agent *agent_of(const struct c10m_service *s);

// agent_new: creates the agent from the service's parameters, without the socket for its clients.
// NULL: err has the reason. agent_free: to be called when the workers have stopped.
struct agent *agent_new(struct c10m_service *s, char *err, size_t err_bytes);
void agent_free(struct agent *a);

// ---- agent_server.c: the thread, the clients
void agent_thread(struct c10m_service *s);
// agent_door_open: opens the socket that clients connect to. Returns NULL, or the reason why it
// failed. agent_door_close: removes it.
const char *agent_door_open(struct agent *a);
void agent_door_close(struct agent *a);
void agent_clients_free(struct agent *a);

// ---- agent_post.c: messages
// post: sends m to the worker, which returns it; m->done is called then. The worker owns m until
// that.
void post(struct agent *a, unsigned worker, struct agent_msg *m, enum agent_command command,
          agent_done_fn *done, void *owner);
// receive_messages: processes the answers of all workers; true: there were any. flush_posts: sends
// the messages that full rings refused.
bool receive_messages(struct agent *a);
void flush_posts(struct agent *a);
// call_post: posts c->msg with a command on the connection of the call's socket. The call does not
// end before the message is back.
void call_post(struct agent *a, struct call *c, enum agent_command command, agent_done_fn *done);
// call_fence: runs `step` when every worker has reported all that it knew when call_fence() was
// called.
void call_fence(struct agent *a, struct call *c, void (*step)(struct agent *a, struct call *c));
// fanout_new: NULL: no memory. fanout_free: no worker may hold one of its messages.
struct fanout *fanout_new(const struct agent *a, void *owner);
void fanout_free(struct fanout *f);
// fanout_post: `fill` fills in the message of each worker, which is posted; `then` runs when all
// workers have answered.
void fanout_post(struct agent *a, struct fanout *f, enum agent_command command,
                 void (*fill)(const struct fanout *f, unsigned worker, struct agent_msg *m),
                 void (*then)(struct agent *a, struct fanout *f));

// ---- agent_call.c: a call's life
void call_start(struct agent *a, struct call *c);
// call_return: replies to the client. call_return_data: with `bytes` bytes of c->reply->data.
void call_return(struct agent *a, struct call *c, int64_t ret);
void call_return_data(struct agent *a, struct call *c, int64_t ret, uint32_t bytes);
// call_cancel: ends the call of a client that has disconnected.
void call_cancel(struct agent *a, struct call *c);
// call_over: true: the call was answered or cancelled, and no worker holds one of its messages.
bool call_over(const struct call *c);

// ---- agent_fd.c: descriptors and files
// fd_new: the lowest free descriptor for f, or -EMFILE.
int fd_new(struct agent *a, struct file *f);
struct file *fd_get(const struct agent *a, int fd);
void file_init(struct agent *a, struct file *f, enum file_kind kind);
void file_use(struct file *f);
// file_unuse: the last user releases the socket or epoll. file_back: a worker returned one of its
// messages.
void file_unuse(struct agent *a, struct file *f);
void file_back(struct agent *a, struct file *f);
void file_free(struct agent *a, struct file *f);
// file_drop: frees f without messages to the workers, which have stopped.
void file_drop(struct agent *a, struct file *f);
void op_close(struct agent *a, struct call *c);
void op_fcntl(struct agent *a, struct call *c);
// socket_of: f must be the file of a socket.
static inline struct socket *socket_of(struct file *f)
{
    return (struct socket *)f;
}

// ---- agent_wait.c: blocked calls, poll
// call_block: runs `step` when f (NULL: any file) changes or c->deadline_us is over.
void call_block(struct agent *a, struct call *c, struct file *f,
                void (*step)(struct agent *a, struct call *c));
void call_unblock(struct agent *a, struct call *c);
// call_deadline: sets the deadline to timeout_us from now; 0: no deadline.
void call_deadline(const struct agent *a, struct call *c, uint64_t timeout_us);
// file_wake: wakes the calls that wait for f; `edges` are poll's bits of what changed.
void file_wake(struct agent *a, struct file *f, uint32_t edges);
// file_mask: the bits that poll() returns. file_watch: reports the file's changes from now on.
uint32_t file_mask(struct agent *a, struct file *f);
void file_watch(struct agent *a, struct file *f);
// run_deadlines: steps the calls whose deadline is over. Returns the next deadline, or NEVER.
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
// name_read: parses the request's sockaddr. 0, or the errno that Linux returns for the family.
int name_read(const struct call *c, const struct socket *k, struct c10m_name *name);
void name_write(struct call *c, const struct socket *k, const struct c10m_name *name);
bool name_is_any(const struct c10m_name *n);
bool name_is_v4(const struct c10m_name *n);
// port_bind: binds k to the name; port 0: any free port. 0, EADDRINUSE or EADDRNOTAVAIL.
int port_bind(struct agent *a, struct socket *k, const struct c10m_name *name);
// port_listens: true: another socket's listening conflicts with k's.
bool port_listens(const struct agent *a, const struct socket *k);
// port_take: registers k->local as k's name. port_free: releases it.
void port_take(struct agent *a, struct socket *k);
void port_free(struct agent *a, struct socket *k);
// name_any: sets *name to the any address of the socket's family and port 0. name_any_addr: sets
// k's local address to any and keeps its port. name_family: the family of the request's sockaddr.
void name_any(const struct socket *k, struct c10m_name *name);
void name_any_addr(struct socket *k);
sa_family_t name_family(const struct call *c);
// name_peer: replaces the any address by loopback, as Linux's connect() does.
void name_peer(struct c10m_name *name);
// name_needs_scope: true: n is link-local, or a group of the link, and has no interface.
bool name_needs_scope(const struct call *c, const struct socket *k, const struct c10m_name *n);
// name_scope: the device of a link-local address (sin6_scope_id); 0: none is given.
unsigned name_scope(const struct call *c, const struct socket *k, const struct c10m_name *n);
// name_take_scope: binds k to that device. 0; -EINVAL: k is bound to another device and may not
// change; -ENODEV.
int name_take_scope(const struct agent *a, const struct call *c, struct socket *k,
                    const struct c10m_name *n, bool may_change);
// name_is_group: multicast or 255.255.255.255. name_is_many: also the broadcast address of a port.
bool name_is_multicast(const struct c10m_name *n);
bool name_is_group(const struct c10m_name *n);
bool name_is_many(const struct agent *a, const struct c10m_name *n);
// name_source: replaces a group or broadcast address by any, since none may be a source.
void name_source(const struct agent *a, struct c10m_name *n);
// time_wait_add: keeps k->was in use while it is in TIME-WAIT. time_wait_free: releases all.
void time_wait_add(struct agent *a, const struct socket *k);
void time_wait_free(struct agent *a);
// name_hash: a hash of address and port, which selects one of several sockets on a port.
uint32_t name_hash(const struct c10m_name *n);
void op_bind(struct agent *a, struct call *c);
void op_getsockname(struct agent *a, struct call *c);
void op_getpeername(struct agent *a, struct call *c);

// ---- agent_socket.c: sockets of TCP
void op_socket(struct agent *a, struct call *c);
void op_shutdown(struct agent *a, struct call *c);
struct socket *socket_new(struct agent *a, enum file_kind kind, int domain);
// socket_ready: reserves the memory that socket_attach() needs. socket_attach: ac is its connection
// at a worker.
bool socket_ready(struct socket *k);
void socket_attach(struct socket *k, unsigned worker, struct agent_conn *ac);
// socket_note: updates the socket from an answer about its connection.
void socket_note(struct socket *k, const struct agent_msg *m);
// socket_release: releases a socket without users; c, unless NULL, is the close() that waits.
void socket_release(struct agent *a, struct socket *k, struct call *c);
// socket_disconnect: Linux's tcp_disconnect(): resets the connection; the socket can connect again.
void socket_disconnect(struct agent *a, struct socket *k);
uint32_t socket_mask(const struct socket *k);
void socket_watch(struct agent *a, struct socket *k);
// socket_error: returns and clears sk_err of a socket without a connection at a worker.
int socket_error(struct socket *k);

// ---- agent_connect.c
void op_connect(struct agent *a, struct call *c);

// ---- agent_accept.c: listeners
void op_listen(struct agent *a, struct call *c);
void op_accept(struct agent *a, struct call *c);
void listener_arrived(struct agent *a, struct agent_msg *m);
// listener_end: stops listening and resets the connections that were not accepted; c as in
// socket_release().
void listener_end(struct agent *a, struct socket *k, struct call *c);
void tcp_ports_free(struct agent *a);
// listener_renew: tells the workers changed options. listener_rebind: a changed device.
void listener_renew(struct agent *a, struct call *c);
void listener_rebind(struct agent *a, struct call *c);

// ---- agent_io.c: bytes
void op_read(struct agent *a, struct call *c);
void op_recv(struct agent *a, struct call *c);
void op_write(struct agent *a, struct call *c);
void op_send(struct agent *a, struct call *c);
void op_ioctl(struct agent *a, struct call *c);

// ---- agent_udp.c: sockets of UDP
// udp_open: the workers begin to receive datagrams for c->socket's local name; `then` follows with
// rc 0, or with -errno and the port released.
void udp_open(struct agent *a, struct call *c,
              void (*then)(struct agent *a, struct call *c, int rc));
void udp_connect(struct agent *a, struct call *c);
void udp_receive(struct agent *a, struct call *c);
void udp_send(struct agent *a, struct call *c);
void udp_arrived(struct agent *a, struct agent_msg *m);
void udp_release(struct agent *a, struct socket *k, struct call *c);
uint32_t udp_mask(const struct socket *k);
// udp_worker: the worker that receives ICMP errors about k's datagrams to that peer.
unsigned udp_worker(const struct agent *a, const struct socket *k, const struct c10m_name *peer);
void udp_shutdown(struct agent *a, struct call *c);
void udp_ioctl(struct agent *a, struct call *c);
// udp_let_go: closes k's port at the workers; c, unless NULL, is the close() that waits.
void udp_let_go(struct agent *a, struct socket *k, struct call *c);
// udp_queue_free: frees unread datagrams. udp_ports_free: to be called after the workers stopped.
void udp_queue_free(struct socket *k);
// udp_cork_free: frees the data that MSG_MORE holds back.
void udp_cork_free(struct socket *k);
void udp_ports_free(struct agent *a);

// udp_rebind: tells the workers that k's device changed; `then` follows.
void udp_rebind(struct agent *a, struct call *c,
                void (*then)(struct agent *a, struct call *c, int rc));

// ---- agent_device.c: socket options of devices. False: the call is about another option.
bool device_set(struct agent *a, struct call *c);
bool device_get(struct agent *a, struct call *c);
// device_give: binds k to the device of that name; 0: to none.
void device_give(struct socket *k, unsigned device, const char *name);

// ---- agent_group.c: groups
// group_option: executes a setsockopt() of groups; false: it is another option.
bool group_option(struct agent *a, struct call *c);
// group_allowed: true: k receives datagrams to the group that arrive on the device.
// group_has_member: true: at least one socket is a member.
bool group_allowed(const struct socket *k, const struct c10m_name *group, unsigned device);
bool group_has_member(const struct agent *a, const uint8_t addr[16]);
// group_leave_all: ends all memberships of k; c, unless NULL, is the close() that waits.
void group_leave_all(struct agent *a, struct socket *k, struct call *c);
void groups_free(struct agent *a);

// ---- agent_opt.c
void op_getsockopt(struct agent *a, struct call *c);
void op_setsockopt(struct agent *a, struct call *c);
void options_default(const struct agent *a, struct socket *k);
// options_of: converts the socket's options to the units of the stack.
void options_of(const struct agent *a, const struct socket *k, struct agent_options *o);

// option_whole: true: a datagram above the path MTU is refused, not fragmented (IP_MTU_DISCOVER).
bool option_whole(const struct socket *k);

// connection_defaults: the options of a connection before any setsockopt().
void connection_defaults(const struct agent *a, struct agent_options *o);

// ---- agent_reset.c
void op_reset(struct agent *a, struct call *c);
