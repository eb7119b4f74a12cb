// SPDX-License-Identifier: BSD-3-Clause
// The watch over links: what it counts and logs, and what workers announce when a link comes.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosts.h"
#include "pkt_env.h"
#include "server/link_watch.h"
#include "server/replug.h"

#define MS(n) ((uint64_t)(n)*1000000)

static struct {
    struct hosts *h;
    struct link_watch *watch;
    uint64_t now_ns;
    struct port_link link[HOSTS_WIRES];  // what the ports tell
    struct port_ops ops;
    bool busy;           // a worker keeps the device from being closed
    const char *refuse;  // why it cannot be opened again; NULL: it can
    unsigned detached, attached, refused;
    FILE *log;
    int stderr_fd;
} t;

static void tell(struct port *p, struct port_link *out)
{
    *out = t.link[p->name[4] == '2'];
}

static const struct port_view view = {.link = tell};

static bool detach(struct port *p)
{
    (void)p;
    t.detached++;
    return !t.busy;
}

static int attach(struct port *p, const struct port_params *params, struct err *err)
{
    assert_string_equal(params->name, p->name);
    if (t.refuse != NULL) {
        t.refused++;
        return err_set(err, "port %s: %s", p->name, t.refuse);
    }
    t.attached++;
    t.link[p->name[4] == '2'] = (struct port_link){.up = true};
    return 0;
}

static const struct port_replug replug = {.detach = detach, .attach = attach};
static const struct c10m_app nothing = {.name = "nothing"};
static const struct c10m_app *const both[2][3] = {{&nothing}, {&nothing}};

static void second_wire(struct server_params *p, unsigned end)
{
    (void)end;
    p->n_ports = 2;
    p->ports[1].port.name = "wire2";
}

static void begin_with(bool up, bool seen)
{
    memset(&t, 0, sizeof(t));
    t.now_ns = MS(5000);
    t.h = hosts_new(both, second_wire);
    t.link[0].up = t.link[1].up = up;
    for (unsigned k = 0; k < HOSTS_WIRES; k++) {
        struct port *p = &t.h->e[0].wires[k].port;
        t.ops = *p->ops;
        t.ops.view = seen ? &view : NULL;
        p->ops = &t.ops;
    }
    t.log = tmpfile();
    assert_non_null(t.log);
    t.stderr_fd = dup(2);
    dup2(fileno(t.log), 2);
    t.watch = link_watch_new(&t.h->e[0].server, t.now_ns);
    assert_non_null(t.watch);
}

static void end(void)
{
    dup2(t.stderr_fd, 2);
    close(t.stderr_fd);
    fclose(t.log);
    link_watch_free(t.watch);
    hosts_free(t.h);
}

static unsigned logged(const char *text)
{
    char line[512];
    unsigned n = 0;
    rewind(t.log);
    while (fgets(line, sizeof(line), t.log) != NULL)
        n += strstr(line, text) != NULL;
    fseek(t.log, 0, SEEK_END);
    return n;
}

// Both the workers and the control thread go on.
static void run(uint64_t ms)
{
    for (uint64_t i = 0; i < ms; i += 20) {
        hosts_run(t.h, 20);
        t.now_ns += MS(20);
        link_watch_poll(t.watch, t.now_ns);
    }
    hosts_run(t.h, 20);
}

static struct link_now look(unsigned port)
{
    struct link_now n;
    link_watch_look(t.watch, port, t.now_ns, &n);
    return n;
}

static const struct core_counters *counted(void)
{
    return &t.h->e[0].w->stats->c;
}

static void a_link_that_stays_is_not_announced_or_counted(void **state)
{
    begin_with(true, true);
    run(10000);
    assert_true(look(0).known && look(0).link.up);
    assert_int_equal(look(0).changes, 0);
    assert_int_equal(look(0).for_ms, 10000);
    assert_int_equal(counted()->tx_arp, 0);
    assert_int_equal(logged("port wire"), 0);
    end();
}

static void a_link_that_comes_late_is_announced_twice_in_both_families(void **state)
{
    begin_with(false, true);
    assert_int_equal(logged("port wire: link down (no carrier)"), 1);
    run(5000);
    assert_int_equal(counted()->tx_arp + counted()->tx_nd_advert, 0);
    t.link[0].up = true;
    run(1000);
    assert_int_equal(look(0).changes, 1);
    assert_int_equal(counted()->tx_arp, 1);
    assert_int_equal(counted()->tx_mld_report, 1);
    assert_in_range(counted()->tx_nd_advert, 1, 2);   // of the link-local address as well
    assert_in_range(counted()->tx_nd_solicit, 1, 2);  // probes for others that have them
    run(10000);
    assert_int_equal(counted()->tx_arp, LINK_ANNOUNCES);
    assert_int_equal(counted()->tx_mld_report, LINK_ANNOUNCES);
    assert_int_equal(logged("port wire: link up; before: down (no carrier), for 5.0"), 1);
    end();
}

static void packets_that_a_driver_refuses_for_good_are_logged_once_for_each_port(void **state)
{
    begin_with(true, true);
    run(1000);
    assert_int_equal(logged("refused a packet"), 0);
    for (unsigned i = 0; i < 10; i++) {
        t.h->e[0].w->ports[1].refused++;
        run(1000);
    }
    assert_int_equal(logged("port wire2: the driver refused a packet"), 1);
    assert_int_equal(logged("port wire: the driver refused a packet"), 0);
    end();
}

static void a_link_that_goes_again_is_not_announced_the_second_time(void **state)
{
    begin_with(false, true);
    t.link[0].up = true;
    run(500);
    t.link[0].up = false;
    run(10000);
    assert_int_equal(counted()->tx_arp, 1);
    assert_int_equal(look(0).changes, 2);
    t.link[0].up = true;
    run(10000);
    assert_int_equal(counted()->tx_arp, 1 + LINK_ANNOUNCES);
    end();
}

static void another_reason_is_a_change_and_no_announcement(void **state)
{
    static const struct {
        enum port_link_reason reason;
        const char *name, *text;
    } rows[] = {
        {PORT_LINK_SET_DOWN, "set_down", "link down (set down by the administrator)"},
        {PORT_LINK_NO_CARRIER, "no_carrier", "link down (no carrier)"},
        {PORT_LINK_GONE, "gone",
         "link down (the device is gone); before: down (no carrier), for 0."},
        {PORT_LINK_REPLACED, "replaced", "link down (the device was replaced); before: down (the"}};
    begin_with(true, true);
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        t.link[0] = (struct port_link){.reason = rows[i].reason};
        run(200);
        const struct link_now now = look(0);
        assert_int_equal(now.changes, i + 1);
        assert_string_equal(link_reason_name(&now.link), rows[i].name);
        assert_int_equal(logged(rows[i].text), 1);
    }
    assert_int_equal(counted()->tx_arp, 0);
    assert_int_equal(logged("; a new one needs a restart"), 2);
    end();
}

// begin_replug: wire is a port that can go on with a new device.
static void begin_replug(void)
{
    begin_with(true, true);
    t.ops.replug = &replug;
}

static void a_device_that_comes_back_is_opened_and_announced(void **state)
{
    begin_replug();
    t.refuse = "there is no interface";
    t.link[0] = (struct port_link){.reason = PORT_LINK_GONE};
    run(60000);
    assert_int_equal(t.detached, 1);
    assert_int_equal(t.attached, 0);
    // 100, 200, 400, 800 ms and then one a second
    assert_in_range(t.refused, 58, 66);
    assert_int_equal(logged("port wire: there is no interface; it is tried again"), 1);
    t.refuse = "it is down";
    run(5000);
    assert_int_equal(logged("port wire: it is down; it is tried again"), 1);
    assert_int_equal(counted()->tx_arp, 0);
    assert_int_equal(look(0).reopened, 0);
    t.refuse = NULL;
    run(2000);
    assert_int_equal(t.attached, 1);
    assert_true(look(0).link.up);
    assert_int_equal(look(0).changes, 2);
    assert_int_equal(look(0).reopened, 1);
    assert_int_equal(look(1).reopened, 0);
    assert_int_equal(counted()->tx_arp, 1);
    assert_int_equal(logged("port wire: the device is open again, after 65."), 1);
    assert_int_equal(logged("needs a restart"), 0);
    end();
}

static void a_device_in_use_is_not_opened_before_it_is_closed(void **state)
{
    begin_replug();
    t.busy = true;
    t.link[0] = (struct port_link){.reason = PORT_LINK_REPLACED};
    run(1000);
    assert_in_range(t.detached, 5, 11);
    assert_int_equal(t.attached + t.refused, 0);
    t.busy = false;
    run(200);
    assert_int_equal(t.attached, 1);
    const unsigned n = t.detached;
    run(5000);
    assert_int_equal(t.detached, n);
    t.link[0] = (struct port_link){.reason = PORT_LINK_GONE};
    run(200);
    assert_int_equal(look(0).reopened, 2);
    end();
}

// The device is there again before the next look: what was opened is gone all the same.
static void a_device_that_only_a_reader_saw_gone_is_opened_again(void **state)
{
    begin_replug();
    t.link[0] = (struct port_link){.reason = PORT_LINK_GONE};
    assert_int_equal(look(0).reopened, 0);
    t.link[0] = (struct port_link){.up = true};
    run(200);
    assert_int_equal(t.attached, 1);
    assert_int_equal(look(0).reopened, 1);
    end();
}

static void a_link_that_is_down_keeps_its_device(void **state)
{
    begin_replug();
    t.link[0] = (struct port_link){.reason = PORT_LINK_NO_CARRIER};
    run(1000);
    t.link[0].reason = PORT_LINK_SET_DOWN;
    run(1000);
    assert_int_equal(t.detached + t.attached + t.refused, 0);
    end();
}

static void each_port_has_its_own_link(void **state)
{
    begin_with(true, true);
    t.link[1].up = false;
    run(1000);
    assert_int_equal(look(0).changes, 0);
    assert_int_equal(look(1).changes, 1);
    assert_true(look(0).link.up && !look(1).link.up);
    t.link[1].up = true;
    run(500);
    assert_int_equal(counted()->tx_arp, 1);  // that of the second wire, which has no IPv6
    assert_int_equal(counted()->tx_mld_report, 0);
    end();
}

// A device without a carrier takes no packets, and the worker keeps what it could not send.
static void an_announcement_waits_for_room(void **state)
{
    begin_with(false, true);
    struct worker_port *wp = &t.h->e[0].w->ports[0];
    const uint32_t room = wp->tx.room;
    wp->tx.room = NET_ANNOUNCE_MAX - 1;
    t.link[0].up = true;
    run(1000);
    assert_int_equal(counted()->tx_arp, 0);
    wp->tx.room = room;
    run(100);
    assert_int_equal(counted()->tx_arp, 1);
    end();
}

static void a_port_that_does_not_tell_is_unknown(void **state)
{
    begin_with(true, false);
    run(1000);
    assert_false(look(0).known);
    assert_int_equal(look(0).changes, 0);
    end();
}

static void a_port_that_moved_is_announced_and_did_not_change(void **state)
{
    begin_with(true, true);
    run(1000);
    t.link[0].moves = 1;
    run(10000);
    assert_int_equal(look(0).changes, 0);
    assert_int_equal(counted()->tx_arp, LINK_ANNOUNCES);
    assert_int_equal(counted()->tx_mld_report, LINK_ANNOUNCES);
    assert_int_equal(logged("port wire: link"), 0);
    end();
}

// ---- a port over two others

static struct port_member members[2];
static unsigned looks;

static void group_look(struct port *p, uint64_t now_ns)
{
    (void)p;
    assert_int_equal(now_ns, t.now_ns);
    looks++;
}

static bool member_at(struct port *p, unsigned m, struct port_member *out)
{
    (void)p;
    if (m >= ARRAY_LEN(members))
        return false;
    *out = members[m];
    return true;
}

static int attach_member(struct port *p, const struct port_params *params, struct err *err)
{
    const int rc = attach(p, params, err);
    if (rc == 0)
        members[1].link = (struct port_link){.up = true};
    return rc;
}

static const struct port_replug member_replug = {.detach = detach, .attach = attach_member};
static const struct port_group group = {.look = group_look, .member = member_at};

static void begin_with_members(void)
{
    static struct port ports[2] = {{.name = "p0"}, {.name = "p1"}};
    static struct port_ops member_ops, ops;
    begin_with(true, true);
    member_ops = (struct port_ops){.driver = "x", .replug = &member_replug};
    for (unsigned m = 0; m < 2; m++) {
        ports[m].ops = &member_ops;
        members[m] = (struct port_member){.port = &ports[m],
                                          .link = {.up = true},
                                          .up = true,
                                          .usable = true,
                                          .active = m == 0,
                                          .why = "why"};
        t.h->e[0].server.params.ports[0].members[m].name = ports[m].name;
    }
    t.h->e[0].server.params.ports[0].n_members = 2;
    ops = t.ops;
    ops.group = &group;
    t.h->e[0].wires[0].port.ops = &ops;
    looks = 0;
    link_watch_free(t.watch);
    t.watch = link_watch_new(&t.h->e[0].server, t.now_ns);
    assert_non_null(t.watch);
}

static void end_with_members(void)
{
    link_watch_free(t.watch);
    t.watch = NULL;
    t.h->e[0].server.params.ports[0].n_members = 0;
    end();
}

static void members_that_leave_join_and_take_over_are_logged(void **state)
{
    begin_with_members();
    run(1000);
    assert_true(looks >= 9);
    assert_int_equal(logged("member"), 0);
    members[0] = (struct port_member){.port = members[0].port};
    members[1].active = true;
    run(1000);
    assert_int_equal(logged("port wire: member p0 left: down (no carrier); 1 of 2 members usable"),
                     1);
    assert_int_equal(logged("port wire: active member p1 (p0: down (no carrier))"), 1);
    members[0].link.up = members[0].up = members[0].usable = true;
    run(1000);
    assert_int_equal(logged("port wire: member p0 joined; 2 of 2 members usable"), 1);
    members[0].active = true;
    members[1].active = false;
    run(1000);
    assert_int_equal(logged("port wire: active member p0 (p1: usable, not preferred)"), 1);
    members[1].usable = false;  // its link stays
    run(1000);
    assert_int_equal(logged("port wire: member p1 left: why; 1 of 2 members usable"), 1);
    assert_int_equal(logged("member"), 5);
    end_with_members();
}

static void a_member_whose_device_is_gone_is_opened_again(void **state)
{
    begin_with_members();
    run(1000);
    members[1] = (struct port_member){.port = members[1].port, .link = {.reason = PORT_LINK_GONE}};
    t.refuse = "no such device";
    run(1000);
    assert_true(t.detached >= 1 && t.refused >= 1);
    assert_int_equal(look(0).reopened, 0);
    t.refuse = NULL;
    run(2000);
    assert_int_equal(t.attached, 1);
    assert_int_equal(look(0).reopened, 1);
    assert_int_equal(logged("port p1: the device is open again, after"), 1);
    end_with_members();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_stays_is_not_announced_or_counted),
        cmocka_unit_test(a_link_that_comes_late_is_announced_twice_in_both_families),
        cmocka_unit_test(a_link_that_goes_again_is_not_announced_the_second_time),
        cmocka_unit_test(another_reason_is_a_change_and_no_announcement),
        cmocka_unit_test(a_device_that_comes_back_is_opened_and_announced),
        cmocka_unit_test(a_device_in_use_is_not_opened_before_it_is_closed),
        cmocka_unit_test(a_device_that_only_a_reader_saw_gone_is_opened_again),
        cmocka_unit_test(a_link_that_is_down_keeps_its_device),
        cmocka_unit_test(each_port_has_its_own_link),
        cmocka_unit_test(an_announcement_waits_for_room),
        cmocka_unit_test(a_port_that_does_not_tell_is_unknown),
        cmocka_unit_test(a_port_that_moved_is_announced_and_did_not_change),
        cmocka_unit_test(members_that_leave_join_and_take_over_are_logged),
        cmocka_unit_test(a_member_whose_device_is_gone_is_opened_again),
        cmocka_unit_test(packets_that_a_driver_refuses_for_good_are_logged_once_for_each_port),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
