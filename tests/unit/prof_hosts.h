// SPDX-License-Identifier: BSD-3-Clause
// prof_hosts.h: two hosts (hosts.h) whose profiles a test takes, and applications for them.
#pragma once
#include "hosts.h"
#include "prof_take.h"

static struct hosts *h;
static char *text;  // of the last take()

static size_t discard(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return len;
}

// hoard: the callback of an application that takes nothing of what it gets.
static size_t hoard(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return 0;
}

static void begin(const struct c10m_app *const apps[2][3])
{
    h = hosts_new(apps, NULL);
}

static void end(void)
{
    free(text);
    text = NULL;
    hosts_free(h);
}

// take: the profile of host i as text.
static void take(unsigned i, const struct prof_kind *k, unsigned debug, const char *filter)
{
    const struct prof_shown s = {.server = &h->e[i].server};
    free(text);
    text = prof_taken(k, &s, debug, filter);
}
