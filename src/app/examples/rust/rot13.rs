// SPDX-License-Identifier: BSD-3-Clause
// rot13.rs: an application in Rust: sends back what comes, with each letter moved by 13. The declarations of c10m.h are made
// by bindgen from the installed headers (Makefile). A panic ends the process (-C panic=abort): it must not unwind into C.
#![allow(non_camel_case_types, non_upper_case_globals, non_snake_case, dead_code)]
mod c10m {
    include!(env!("C10M_RS"));
}
use c10m::*;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicI32, Ordering};

static MOVED: AtomicI32 = AtomicI32::new(-1); // the counter

fn rot13(c: u8) -> u8 {
    let first = match c {
        b'a'..=b'z' => b'a',
        b'A'..=b'Z' => b'A',
        _ => return c,
    };
    first + (c - first + 13) % 26
}

unsafe extern "C" fn init(s: *mut c10m_service, _err: *mut c_char, _err_bytes: usize) -> c_int {
    let name = CStr::from_bytes_with_nul(b"moved_bytes\0").unwrap();
    let help = CStr::from_bytes_with_nul(b"bytes sent back\0").unwrap();
    MOVED.store(c10m_counter(s, name.as_ptr(), help.as_ptr()), Ordering::Relaxed);
    0
}

// What the send queue does not take stays queued before us, and is offered again when it does. Nothing is allocated: a
// callback must not.
unsafe extern "C" fn data(c: *mut c10m_conn, data: *const u8, len: usize) -> usize {
    let from = std::slice::from_raw_parts(data, len);
    let mut out = [0u8; 256];
    let mut done = 0;
    for piece in from.chunks(out.len()) {
        for (o, i) in out.iter_mut().zip(piece) {
            *o = rot13(*i);
        }
        let sent = c10m_send(c, out.as_ptr().cast(), piece.len());
        done += sent;
        if sent < piece.len() {
            break;
        }
    }
    c10m_count(c, MOVED.load(Ordering::Relaxed), done as u64);
    done
}

fn main() {
    let name = CStr::from_bytes_with_nul(b"rot13\0").unwrap();
    let mut app: c10m_app = unsafe { std::mem::zeroed() }; // no callback
    app.name = name.as_ptr();
    app.init = Some(init);
    app.data = Some(data);
    app.writable = Some(c10m_resume);
    app.end = Some(c10m_shutdown);
    let own: [*const c10m_app; 2] = [&app, std::ptr::null()];
    let args: Vec<CString> = std::env::args_os().map(|a| CString::new(a.into_vec()).unwrap()).collect();
    let mut argv: Vec<*mut c_char> = args.iter().map(|a| a.as_ptr() as *mut c_char).collect();
    argv.push(std::ptr::null_mut());
    std::process::exit(unsafe { c10m_main(args.len() as c_int, argv.as_mut_ptr(), own.as_ptr()) });
}
