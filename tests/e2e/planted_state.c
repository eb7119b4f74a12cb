// SPDX-License-Identifier: BSD-3-Clause
// planted_state.c: an application whose state has two versions, for tests/e2e/adopt_app.sh. It
// answers each byte with its version and the number of bytes so far. TALLY_VERSION: 1 or 2.
// TALLY_ADOPT: `all` converts the state of the other version, `some` only where an x came, `none`
// has no such function.
#include <c10m/app.h>
#include <c10m/main.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state1 {
    uint32_t n;
    char kind;
};

struct state2 {
    char kind;
    uint64_t n;
};

static uint32_t version;
static bool some;

static uint64_t count1(struct state1 *st, char kind)
{
    st->kind = kind;
    return ++st->n;
}

static uint64_t count2(struct state2 *st, char kind)
{
    st->kind = kind;
    return ++st->n;
}

static size_t tally_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    char line[64];
    for (size_t i = 0; i < len; i++) {
        const char kind = (char)data[i];
        const uint64_t n = version == 1 ? count1(c10m_state(c), kind) : count2(c10m_state(c), kind);
        const int bytes = snprintf(line, sizeof(line), "%u %llu\n", version, (unsigned long long)n);
        c10m_send(c, line, (size_t)bytes);
    }
    return len;
}

static bool tally_adopt(const struct c10m_service *s, uint32_t from, void *state)
{
    struct state1 one;
    struct state2 two;
    (void)s;
    memcpy(&one, state, sizeof(one));
    memcpy(&two, state, sizeof(two));
    if ((from != 1 && from != 2) || from == version)
        return false;
    if (some && (from == 1 ? one.kind : two.kind) != 'x')
        return false;
    memset(state, 0, C10M_STATE_BYTES);
    if (version == 2)
        *(struct state2 *)state = (struct state2){.kind = one.kind, .n = one.n};
    else
        *(struct state1 *)state = (struct state1){.kind = two.kind, .n = (uint32_t)two.n};
    return true;
}

int main(int argc, char **argv)
{
    static struct c10m_app app = {
        .name = "tally",
        .adopts = true,
        .data = tally_data,
        .end = c10m_shutdown,
    };
    static const struct c10m_app *const own[] = {&app, NULL};
    const char *v = getenv("TALLY_VERSION"), *how = getenv("TALLY_ADOPT");
    app.state_version = version = v != NULL ? (uint32_t)atoi(v) : 1;
    some = how != NULL && strcmp(how, "some") == 0;
    app.adopt = how != NULL && strcmp(how, "none") == 0 ? NULL : tally_adopt;
    return c10m_main(argc, argv, own);
}
