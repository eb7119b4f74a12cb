// SPDX-License-Identifier: BSD-3-Clause
#include "server/telemetry.h"

#include <pthread.h>
#include <rte_telemetry.h>
#include <rte_version.h>
#include <string.h>

#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
#define ADD_DICT_U64 rte_tel_data_add_dict_uint
#else
#define ADD_DICT_U64 rte_tel_data_add_dict_u64
#endif

struct telemetry_out {
    struct rte_tel_data *d;
    enum { EMPTY, DICT, LIST } kind;
};

struct command {
    const char *cmd;
    telemetry_read *read;  // NULL: closed
    const void *arg;
};

static struct {
    pthread_mutex_t lock;
    unsigned n;
    struct command commands[TELEMETRY_COMMANDS_MAX];
} telemetry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct command *find(const char *cmd)
{
    for (unsigned i = 0; i < telemetry.n; i++)
        if (strcmp(telemetry.commands[i].cmd, cmd) == 0)
            return &telemetry.commands[i];
    return NULL;
}

// on_command: DPDK passes no argument on: the command's name finds it.
static int on_command(const char *cmd, const char *params, struct rte_tel_data *d)
{
    struct telemetry_out out = {.d = d, .kind = EMPTY};
    pthread_mutex_lock(&telemetry.lock);
    const struct command *c = find(cmd);
    const int rc = c == NULL || c->read == NULL ? -1 : c->read(&out, params, c->arg);
    pthread_mutex_unlock(&telemetry.lock);
    if (rc == 0 && out.kind == EMPTY)
        rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
    return rc;
}

static int add(const char *cmd, telemetry_read *read, const void *arg, bool *is_new)
{
    struct command *c = find(cmd);
    *is_new = c == NULL;
    if (c == NULL && telemetry.n == TELEMETRY_COMMANDS_MAX)
        return -1;
    if (c == NULL)
        c = &telemetry.commands[telemetry.n++];
    *c = (struct command){cmd, read, arg};
    return 0;
}

int telemetry_add(const char *cmd, telemetry_read *read, const void *arg, const char *help)
{
    bool is_new;
    pthread_mutex_lock(&telemetry.lock);
    const int rc = add(cmd, read, arg, &is_new);
    pthread_mutex_unlock(&telemetry.lock);
    if (rc != 0 || !is_new)
        return rc;
    return rte_telemetry_register_cmd(cmd, on_command, help) == 0 ? 0 : -1;
}

void telemetry_close(void)
{
    pthread_mutex_lock(&telemetry.lock);
    for (unsigned i = 0; i < telemetry.n; i++)
        telemetry.commands[i].read = NULL;
    pthread_mutex_unlock(&telemetry.lock);
}

static void begin_dict(struct telemetry_out *out)
{
    if (out->kind == EMPTY)
        rte_tel_data_start_dict(out->d);
    out->kind = DICT;
}

void telemetry_u64(struct telemetry_out *out, const char *name, uint64_t value)
{
    begin_dict(out);
    ADD_DICT_U64(out->d, name, value);
}

void telemetry_text(struct telemetry_out *out, const char *name, const char *value)
{
    begin_dict(out);
    rte_tel_data_add_dict_string(out->d, name, value);
}

void telemetry_item(struct telemetry_out *out, const char *value)
{
    if (out->kind == EMPTY)
        rte_tel_data_start_array(out->d, RTE_TEL_STRING_VAL);
    out->kind = LIST;
    rte_tel_data_add_array_string(out->d, value);
}
