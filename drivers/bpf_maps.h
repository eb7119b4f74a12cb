// SPDX-License-Identifier: BSD-3-Clause
// bpf_maps.h: closes the descriptors of BPF maps that libxdp 1.3 leaves open: for each AF_XDP
// socket it opens two of the map that counts the users of its XDP program, and closes one. Control
// thread.
#pragma once

struct bpf_maps;

// bpf_maps_note: notes the descriptors of BPF maps in this process. Call it before the last socket
// of an XDP program is closed.
struct bpf_maps *bpf_maps_note(void);

// bpf_maps_close_rest: closes the noted descriptors of each map of which one was closed since then,
// and frees m.
void bpf_maps_close_rest(struct bpf_maps *m);
