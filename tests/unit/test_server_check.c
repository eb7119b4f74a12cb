// SPDX-License-Identifier: BSD-3-Clause
// Before a server starts: which key is at fault when an application does not start, and the locks
// of devices. Whole commands: tests/e2e/check.sh, tests/e2e/two_servers.sh.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "server/device_locks.h"
#include "server/server_check.h"
#include "server/server_internal.h"
#include "unit/check.h"

// ---- the key at fault

static const char *reason;

static int refuse(struct c10m_service *s, char *err, size_t err_bytes)
{
    snprintf(err, err_bytes, "%s", reason);
    return -1;
}

// key_of: the key at fault of an application of this name that gives this reason.
static const char *key_of(const char *app_name, const char *why)
{
    static struct server s;
    static struct err err;
    static struct c10m_app app;
    app = (struct c10m_app){.name = app_name, .init = refuse};
    reason = why;
    s.params.services[0] = (struct server_service_params){.name = "web", .app = &app};
    assert_int_equal(server_service_init(&s, 0, &err), -1);
    return err.key;
}

static void the_key_that_an_application_names_is_at_fault(void **state)
{
    assert_string_equal(key_of("http", "root = /srv: no such directory"), "service.web.root");
    assert_string_equal(key_of("http", "root: missing: the directory to serve"),
                        "service.web.root");
    assert_string_equal(key_of("http", "mime_types: /etc/mime:3: too long"),
                        "service.web.mime_types");
    assert_string_equal(key_of("http", "no memory for holds_max = 9 of 70 bytes"),
                        "service.web.holds_max");
    assert_string_equal(key_of("http", "a: 7 bytes do not fit: raise [memory] image_bytes"),
                        "memory.image_bytes");
}

static void a_word_that_is_no_key_of_the_application_is_not_named(void **state)
{
    assert_string_equal(key_of("http", "readme: no memory"), "service.web.app");
    assert_string_equal(key_of("http", "no memory: 12"), "service.web.app");
    assert_string_equal(key_of("http", "index = x: no memory"), "service.web.app");
    assert_string_equal(key_of("http", ""), "service.web.app");
    assert_string_equal(key_of("echo", "root = /srv: no such directory"), "service.web.app");
    assert_string_equal(
        key_of("echo", "a_word_that_is_longer_than_any_key_that_a_configuration_has: x"),
        "service.web.app");
}

static void the_agent_has_a_section_of_its_own(void **state)
{
    assert_string_equal(key_of("agent", "socket: /run/a: Address in use"), "agent.socket");
    assert_string_equal(key_of("agent", "no memory"), "agent.socket");
}

// ---- a port of Linux alone

static bool doubted(struct server_params *p)
{
    struct err err = {.text = ""};
    if (!server_has_doubt(p, 0, &err))
        return false;
    assert_string_equal(err.key, "port.p0.linux");
    assert_non_null(strstr(err.text, "with follow = up0"));
    return true;
}

static void a_shared_port_without_an_address_is_doubted_unless_it_follows(void **state)
{
    static struct server_params p;
    struct server_port_params *pp = &p.ports[0];
    p = (struct server_params){.n_ports = 1};
    pp->port.name = "p0";
    assert_false(doubted(&p));
    pp->linux_name = "up0";
    assert_true(doubted(&p));
    pp->port.n_vlans = 1;
    assert_false(doubted(&p));
    pp->port.n_vlans = 0;
    pp->follow = "up0";
    pp->net.n_locals = 1;
    pp->net.locals[0] = net_local_none(false);
    assert_false(doubted(&p));
    pp->follow = NULL;
    pp->net.locals[0] = (struct net_local){ip_from_v4(0x0a000001), 24};
    assert_false(doubted(&p));
}

// ---- devices

static struct server_params params;
static char path[DEVICE_LOCK_PATH_BYTES];
static atomic_bool stop;

// look_on: holds the lock of one who looks, for a moment, again and again.
static void *look_on(void *arg)
{
    while (!atomic_load(&stop)) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
            usleep(50);
        if (fd >= 0)
            close(fd);
        usleep(150);
    }
    return NULL;
}

static bool device_of_our_own(void)
{
    static char name[16];
    struct device_locks l;
    struct err err;
    snprintf(name, sizeof(name), "c10mt%d", (int)getpid() % 1000000);
    params.n_ports = 1;
    params.ports[0].port = (struct port_params){.name = "a", .driver = "af_packet", .device = name};
    assert_int_equal(device_locks_take(&l, &params, &err), 0);
    snprintf(path, sizeof(path), "%s", l.at[0].path);
    const bool locked = l.n == 1;  // not without /run/lock
    device_locks_release(&l);
    return locked;
}

static void who_only_looks_keeps_no_server_from_a_device(void **state)
{
    struct device_locks l;
    struct err err;
    pthread_t other;
    if (!device_of_our_own())
        skip();
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&other, NULL, look_on, NULL), 0);
    unsigned refused = 0;
    for (unsigned i = 0; i < 500; i++) {
        refused += device_locks_take(&l, &params, &err) != 0;
        usleep(200);  // with the file there for the other one
        device_locks_release(&l);
    }
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    assert_int_equal(refused, 0);
}

static bool is_said(const struct text *said)
{
    return strstr(text_str(said), path) != NULL;
}

static void a_lock_that_nobody_holds_is_removed_and_no_other(void **state)
{
    struct device_locks l;
    struct err err;
    struct text said;
    if (!device_of_our_own())
        skip();
    text_init(&said, 1 << 16);
    assert_int_equal(device_locks_take(&l, &params, &err), 0);
    device_locks_clean(false, &said);
    assert_false(is_said(&said));
    assert_int_equal(access(path, F_OK), 0);
    close(l.at[0].fd);  // as of a process that was killed
    device_locks_clean(true, &said);
    assert_true(is_said(&said));
    assert_int_equal(access(path, F_OK), 0);
    text_free(&said);
    text_init(&said, 1 << 16);
    device_locks_clean(false, &said);
    assert_true(is_said(&said));
    assert_int_equal(access(path, F_OK), -1);
    text_free(&said);
}

static void a_device_that_a_server_has_is_refused_to_another_one(void **state)
{
    struct device_locks l, second;
    struct err err;
    if (!device_of_our_own())
        skip();
    assert_int_equal(device_locks_take(&l, &params, &err), 0);
    assert_int_equal(device_locks_take(&second, &params, &err), -1);
    assert_string_equal(err.key, "port.a.device");
    assert_int_equal(device_locks_look(server_device(&params.ports[0], 0), &err), -1);
    device_locks_release(&l);
    assert_int_equal(device_locks_look(server_device(&params.ports[0], 0), &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_key_that_an_application_names_is_at_fault),
        cmocka_unit_test(a_word_that_is_no_key_of_the_application_is_not_named),
        cmocka_unit_test(a_shared_port_without_an_address_is_doubted_unless_it_follows),
        cmocka_unit_test(the_agent_has_a_section_of_its_own),
        cmocka_unit_test(who_only_looks_keeps_no_server_from_a_device),
        cmocka_unit_test(a_lock_that_nobody_holds_is_removed_and_no_other),
        cmocka_unit_test(a_device_that_a_server_has_is_refused_to_another_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
