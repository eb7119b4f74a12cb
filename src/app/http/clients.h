// SPDX-License-Identifier: BSD-3-Clause
// clients.h: whom PROXY headers have named (preface.h), by the handle of their connection
// (c10m_handle). Each worker has a table that is made at init and never grows; the control thread
// may look at it at any time.
//
//   handle --hash--> buckets[] --> record -> record ...     free records: a list
#pragma once
#include "app/http/preface.h"

struct http_clients_of;  // of one worker

struct http_clients {
    struct http_clients_of *at;
    unsigned workers;
    uint32_t records;  // of each worker
};

// http_clients_init: `records` for each worker. False: no memory. http_clients_free: also of zeros.
bool http_clients_init(struct http_clients *c, unsigned workers, uint32_t records);
void http_clients_free(struct http_clients *c);

// http_clients_add: false: all records are in use. http_clients_find: NULL: it has none.
// http_clients_remove: it may have none. Owner worker only; the cost of a chain, which holds the
// records of one bucket of as many as there are records.
bool http_clients_add(struct http_clients *c, unsigned worker, uint64_t handle,
                      const struct http_client *client);
const struct http_client *http_clients_find(const struct http_clients *c, unsigned worker,
                                            uint64_t handle);
void http_clients_remove(struct http_clients *c, unsigned worker, uint64_t handle);

// http_clients_look: record i of a worker, as a whole. False: it is free, or changes just now.
// Control thread.
bool http_clients_look(const struct http_clients *c, unsigned worker, uint32_t i,
                       struct http_client *client);
