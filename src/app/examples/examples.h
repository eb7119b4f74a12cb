// SPDX-License-Identifier: BSD-3-Clause
// examples.h: the example applications, for the table in examples.c.
#pragma once
#include <c10m/app.h>

extern const struct c10m_app app_leftpad, app_leftpad_fast;
extern const struct c10m_app app_loops, app_loops_fast;
extern const struct c10m_app app_mandelbrot;
extern const struct c10m_app app_sieve;
extern const struct c10m_app app_elvis;
