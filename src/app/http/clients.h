// SPDX-License-Identifier: BSD-3-Clause
// clients.h: the client addresses from PROXY headers (preface.h), by the handle of their connection
// (c10m_handle()). Each worker has a hash table of fixed size, allocated at init. The control
// thread may read it at any time.
//
//   handle --hash--> buckets[] --> record -> record ...     free records: a list
#pragma once
#include "app/http/preface.h"

struct http_clients_of;  // of one worker

struct http_clients {
    struct http_clients_of *at;
    unsigned workers;
    uint32_t records;  // for each worker
};

// http_clients_init: allocates `records` records for each worker. False: no memory.
// http_clients_free: frees them; *c may be all zero.
bool http_clients_init(struct http_clients *c, unsigned workers, uint32_t records);
void http_clients_free(struct http_clients *c);

// http_clients_add: stores the client of a connection. False: all records are in use.
// http_clients_find: the client of a connection; NULL: none is stored. http_clients_remove: removes
// the client of a connection, if one is stored. Owner worker only. The time is that of one hash
// chain; there are at least as many buckets as records.
bool http_clients_add(struct http_clients *c, unsigned worker, uint64_t handle,
                      const struct http_client *client);
const struct http_client *http_clients_find(const struct http_clients *c, unsigned worker,
                                            uint64_t handle);
void http_clients_remove(struct http_clients *c, unsigned worker, uint64_t handle);

// http_clients_look: copies record i of a worker, consistently. False: the record is free or was
// changed during the copy. Control thread.
bool http_clients_look(const struct http_clients *c, unsigned worker, uint32_t i,
                       struct http_client *client);
