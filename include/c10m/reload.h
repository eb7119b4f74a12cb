// SPDX-License-Identifier: BSD-3-Clause
// c10m/reload.h: reading the files of a service again while it runs (SIGHUP, `c10m reload`,
// ctl/services/NAME/reload). An application with c10m_app.reload takes part.
//
//     order --> read: helper thread --> show: control thread --> shown: workers, each connection
//                   |                        |
//                   v -1: nothing changes    v later, when no connection uses the replaced object:
//                                       unused: control thread --> a turn of each worker
//                                                              --> release: helper thread
//
// `read` makes a new object beside the one in use, for example the files of a directory. `show`
// puts it into use with one store, so that no connection sees a mixture. The replaced object stays
// until no connection uses it: workers count the connections that use each object, and `unused`
// checks the counts. `release` frees it after each worker has finished a turn, when no segment
// refers to it any more.
//
// Threads: at most one `read` or `release` runs at a time in the server, and `show` and `unused` of
// the service never run during its `read`. The helper thread runs on the Linux cores with the
// rights of the running server, and ends with its task.
#pragma once
#include "c10m/app.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    // Result of c10m_reload.read: there is no room for a new object as long as connections use
    // replaced ones. `read` has marked these: `shown` must reset their connections. It is called
    // for all connections, what is unused is released, and then `read` is called once more.
    C10M_RELOAD_LATER = 1,
    C10M_RELOAD_TEXT_BYTES = 512,  // of the texts
};

struct c10m_reload {
    // read: helper thread. Reads the files again. Returns 0 and the new object in *made;
    // C10M_RELOAD_LATER; or -1: nothing has changed. Then `text` is one line with the reason. It
    // must return soon after c10m_reload_stopping() becomes true.
    int (*read)(struct c10m_service *s, void **made, char *text, size_t text_bytes);
    // show: control thread. Takes the object into use: what begins from now on uses it. text: one
    // line that says what has changed.
    void (*show)(struct c10m_service *s, void *made, char *text, size_t text_bytes);
    // shown: worker, once for each connection after `show` or C10M_RELOAD_LATER. A connection that
    // does not need a replaced object any more should stop using it; one that uses a marked object
    // must be reset.
    void (*shown)(struct c10m_conn *c);
    // unused: control thread, several times a second, after each worker has called `shown` for all
    // its connections. Returns a replaced object that no connection uses, and forgets it, or NULL.
    void *(*unused)(struct c10m_service *s);
    // release: frees an object of `unused`, or of `read` if it was never shown. Helper thread, or
    // the control thread when the server stops.
    void (*release)(struct c10m_service *s, void *object);
};

// c10m_reload_stopping: whether `read` should return, because the server stops. Any thread.
bool c10m_reload_stopping(const struct c10m_service *s);

// c10m_images: images that are freed together, to be sent by reference as those of app.h. They are
// in as few mappings as possible, because each unmapping interrupts the workers' cores.
struct c10m_images;

// c10m_images_new: an empty set. NULL: no memory. c10m_images_reserve: as c10m_image_reserve(), but
// in `init` and `read`. Returns NULL with errno ENOSPC: [memory] image_bytes, which each set has
// for itself, is used up; or ENOMEM: the machine has no memory for it, or in `read` too little
// would be left. c10m_images_free: frees the set and its images; NULL: does nothing. In init, fini,
// read and release.
//
// c10m_images_left: with c10m_app.adopts: the images that a process before has left because
// connections which go on send from them ([control] adopt), as one set without names. NULL: there
// are none, or it was called before. In `adopted`. An application that does not call it has them
// until the server stops. Free the set when none of these connections has bytes queued that it had
// then (c10m_send_queued()).
struct c10m_images *c10m_images_new(struct c10m_service *s);
struct c10m_images *c10m_images_left(struct c10m_service *s);
const struct c10m_image *c10m_images_reserve(struct c10m_images *set, uint64_t len, uint8_t **room);
void c10m_images_free(struct c10m_images *set);

// c10m_images_bytes: what the images of a set take.
uint64_t c10m_images_bytes(const struct c10m_images *set);

#ifdef __cplusplus
}
#endif
