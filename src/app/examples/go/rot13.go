// SPDX-License-Identifier: BSD-3-Clause

// rot13: an application in Go: sends back what comes, with each letter moved by 13. Built with cgo as an archive, against the
// installed headers and libc10m.a; server/rot13.c is the program, because in a program of Go's own Go takes SIGTERM and SIGHUP.
// A worker calls Go from a thread that is not Go's, and waits while Go's garbage collector stops the world: for control planes
// and trials, not for the lowest latency. Go makes system calls on the worker's thread.
package main

/*
#cgo pkg-config: c10m
#include <stdlib.h>
#include <c10m/app.h>
*/
import "C"

import "unsafe"

var moved C.int // the counter

func rot13(c byte) byte {
	var first byte
	switch {
	case c >= 'a' && c <= 'z':
		first = 'a'
	case c >= 'A' && c <= 'Z':
		first = 'A'
	default:
		return c
	}
	return first + (c-first+13)%26
}

//export goInit
func goInit(s *C.struct_c10m_service, err *C.char, errBytes C.size_t) C.int {
	name, help := C.CString("moved_bytes"), C.CString("bytes sent back")
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(help))
	moved = C.c10m_counter(s, name, help)
	return 0
}

// goData moves the letters where they lie in out, room for n bytes that C gives.
//
//export goData
func goData(out *C.uint8_t, from *C.uint8_t, n C.size_t) {
	to := unsafe.Slice((*byte)(unsafe.Pointer(out)), int(n))
	for i, c := range unsafe.Slice((*byte)(unsafe.Pointer(from)), int(n)) {
		to[i] = rot13(c)
	}
}

//export goMoved
func goMoved() C.int { return moved }

func main() {} // of the archive: it is never called
