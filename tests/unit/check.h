// SPDX-License-Identifier: BSD-3-Clause
// check.h: cmocka with what it forgets to include, in the order it needs.
#pragma once
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
