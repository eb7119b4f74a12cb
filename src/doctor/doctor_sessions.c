// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/doctor_sessions.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TCP_ESTABLISHED_STATE = 1,  // in /proc/net/tcp
    SSH_PORT = 22,
    ANCESTORS_MAX = 32,
};

static bool same(const struct doctor_session *a, const struct doctor_session *b)
{
    return a->has_local == b->has_local && memcmp(a->peer, b->peer, sizeof(a->peer)) == 0 &&
           memcmp(a->local, b->local, sizeof(a->local)) == 0 &&
           strcmp(a->interface, b->interface) == 0;
}

static void add(struct doctor_sessions *s, const struct doctor_session *new)
{
    if (doctor_addr_is_loopback(new->peer))
        return;
    for (unsigned i = 0; i < s->n; i++)
        if (same(&s->at[i], new))
            return;
    if (s->n == DOCTOR_SESSIONS_MAX)
        s->incomplete = true;
    else
        s->at[s->n++] = *new;
}

// ---- /proc/net/tcp and tcp6

// Words of 32 bits in the machine's order: one of IPv4, four of IPv6.
static bool parse_words(const char *text, uint8_t out[DOCTOR_ADDR_BYTES])
{
    uint32_t words[4] = {0};
    const size_t n = strlen(text) / 8;
    if (n != 1 && n != ARRAY_LEN(words))
        return false;
    for (size_t i = 0; i < n; i++)
        if (sscanf(text + 8 * i, "%8" SCNx32, &words[i]) != 1)
            return false;
    if (n == 1)
        doctor_addr_v4(words[0], out);
    else
        memcpy(out, words, DOCTOR_ADDR_BYTES);
    return true;
}

// "0: 0100007F:0016 0200007F:C350 01 ...": local, remote, state.
static void tcp_line(struct doctor_sessions *s, const char *line)
{
    char local[48], remote[48];
    unsigned local_port, state;
    struct doctor_session new = {.has_local = true};
    if (sscanf(line, " %*d: %47[0-9A-F]:%x %47[0-9A-F]:%*x %x", local, &local_port, remote,
               &state) != 4 ||
        state != TCP_ESTABLISHED_STATE || local_port != SSH_PORT)
        return;
    if (parse_words(remote, new.peer) && parse_words(local, new.local))
        add(s, &new);
}

static void tcp_file(struct doctor_sessions *s, const struct doctor_host *h, const char *path)
{
    char at[DOCTOR_PATH_BYTES], *line = NULL;
    size_t room = 0;
    FILE *f = fopen(doctor_path(h, at, "%s", path), "re");
    while (f != NULL && getline(&line, &room, f) > 0)
        tcp_line(s, line);
    free(line);
    if (f != NULL)
        fclose(f);
}

// ---- SSH_CONNECTION

// "192.0.2.7 50000 192.0.2.1 2222", as sshd sets it; of a link-local address "fe80::1%eth0".
static void ssh_connection(struct doctor_sessions *s, const char *value)
{
    char peer[INET6_ADDRSTRLEN + DOCTOR_INTERFACE_BYTES],
        local[INET6_ADDRSTRLEN + DOCTOR_INTERFACE_BYTES] = "";
    struct doctor_session new = {.has_local = false};
    static_assert(sizeof(peer) == 78, "the widths below");
    if (sscanf(value, "%77s %*s %77s", peer, local) < 1)
        return;
    char *scope = strchr(peer, '%');
    if (scope != NULL) {
        snprintf(new.interface, sizeof(new.interface), "%s", scope + 1);
        *scope = '\0';
    }
    local[strcspn(local, "%")] = '\0';
    new.has_local = doctor_addr_text(local, new.local);
    if (doctor_addr_text(peer, new.peer))
        add(s, &new);
}

static void environment(struct doctor_sessions *s, const struct doctor_host *h, const char *path)
{
    char at[DOCTOR_PATH_BYTES], *entry = NULL;
    size_t room = 0;
    FILE *f = fopen(doctor_path(h, at, "%s", path), "re");
    while (f != NULL && getdelim(&entry, &room, '\0', f) > 0)
        if (strncmp(entry, "SSH_CONNECTION=", 15) == 0)
            ssh_connection(s, entry + 15);
    free(entry);
    if (f != NULL)
        fclose(f);
}

// sudo keeps no SSH_CONNECTION, but the shell above it has one.
static void ancestors(struct doctor_sessions *s, const struct doctor_host *h)
{
    char path[DOCTOR_PATH_BYTES], line[DOCTOR_LINE_BYTES];
    long pid = h->root[0] == '\0' ? (long)getppid() : 0;
    for (unsigned i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        snprintf(path, sizeof(path), "/proc/%ld/environ", pid);
        environment(s, h, path);
        snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
        doctor_line(h, path, line, sizeof(line));
        const char *after = strrchr(line, ')');
        if (after == NULL || sscanf(after + 1, " %*c %ld", &pid) != 1)
            pid = 0;
    }
}

void doctor_sessions_read(struct doctor_sessions *s, const struct doctor_host *h)
{
    const char *own = getenv("SSH_CONNECTION");
    s->n = 0;
    s->incomplete = false;
    if (own != NULL)
        ssh_connection(s, own);
    ancestors(s, h);
    tcp_file(s, h, "/proc/net/tcp");
    tcp_file(s, h, "/proc/net/tcp6");
}
