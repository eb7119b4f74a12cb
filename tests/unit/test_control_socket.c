// SPDX-License-Identifier: BSD-3-Clause
// Claims about the control socket: the protocol, what a conversation does with the tree, who may do
// what, and the socket itself with its limits.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl/cli/client.h"
#include "ctl/local/control_counters.h"
#include "ctl/local/control_socket.h"
#include "ctl/local/tree_walk.h"
#include "unit/check.h"

enum {
    LONG_BYTES = 300007,
    STREAM_LINES = 40000,
    GOT_BYTES_MAX = 4 << 20,
    NOBODY = 65534,
    TURNS_MAX = 1000000,  // of the loop or the conversation, in which an answer has to come
    SECONDS_MAX = 30,     // in which clients have to come or go
};

static struct tree *tree;
static struct tree_node *root;
static struct err e;

// ---- the tree that is served

static int number = 42;
static size_t taken_bytes;

static int number_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "value %d\n", *(int *)data);
}

static int number_write(const char *buf, size_t n, void *data)
{
    char text[16] = "";
    char *end;
    memcpy(text, buf, MIN(n, sizeof(text) - 1));
    const long value = strtol(text, &end, 10);
    taken_bytes = n;
    if (end == text || (*end != '\0' && *end != '\n'))
        return -EINVAL;
    if (value < 0 || value > 100)
        return tree_refuse(ERANGE, "expected 0 to 100, got %ld", value);
    *(int *)data = (int)value;
    return 0;
}

static int sink_write(const char *buf, size_t n, void *data)
{
    taken_bytes = n;
    return 0;
}

static int long_read(struct tree_out *out, void *data)
{
    for (int i = 0; i < LONG_BYTES; i++) {
        const char c = (char)('a' + i % 23);
        tree_put(out, &c, 1);
    }
    return 0;
}

static int failing_read(struct tree_out *out, void *data)
{
    return tree_refuse(ENODEV, "the device is gone");
}

// stream_next: a line every third call.
static int stream_next(struct tree_out *out, void *cursor, void *data)
{
    unsigned *at = cursor;
    if (++*at % 3 == 0)
        tree_printf(out, "line %u\n", *at / 3);
    return *at < STREAM_LINES * 3;
}

static unsigned endless_calls;
static bool endless_speaks;

static int endless_next(struct tree_out *out, void *cursor, void *data)
{
    endless_calls++;
    if (endless_speaks)
        tree_printf(out, "word\n");
    return !endless_speaks;
}

static const struct tree_ops number_ops = {.read = number_read, .write = number_write};
static const struct tree_ops sink_ops = {.write = sink_write};

static void tree_fill(void)
{
    static const struct tree_ops stream = {.next = stream_next, .cursor_bytes = sizeof(unsigned)};
    static const struct tree_ops endless = {.next = endless_next};
    number = 42;
    endless_speaks = false;
    assert_non_null(tree_file(root, "ctl/number", 0644, &number_ops, &number));
    assert_non_null(tree_file(root, "ctl/sink", 0222, &sink_ops, NULL));
    assert_non_null(tree_file_ro(root, "long", long_read, NULL));
    assert_non_null(tree_file_ro(root, "failing", failing_read, NULL));
    assert_non_null(tree_file(root, "stream", 0444, &stream, NULL));
    assert_non_null(tree_file(root, "endless", 0444, &endless, NULL));
    assert_non_null(tree_file(root, "secret", 0400, &number_ops, &number));
    assert_non_null(tree_file(root, "button", 0200, &sink_ops, NULL));
    struct tree_node *group = tree_file(root, "group", 0460, &number_ops, &number);
    tree_chown(group, 0, 50);
    struct tree_node *shut = tree_dir(root, "shut");
    assert_non_null(tree_file_ro(shut, "inside", number_read, &number));
    assert_int_equal(tree_chmod(shut, 0700), 0);
    struct tree_node *names = tree_dir(root, "names");
    assert_non_null(tree_file_ro(names, "inside", number_read, &number));
    assert_int_equal(tree_chmod(names, 0744), 0);
    assert_non_null(tree_link(root, "n", "ctl/number"));
    assert_non_null(tree_link(root, "ctl/back", "../long"));
    assert_non_null(tree_link(root, "d", "ctl"));
    assert_non_null(tree_link(root, "a", "b"));
    assert_non_null(tree_link(root, "b", "a"));
    assert_non_null(tree_link(root, "deep", "deep/deep"));
    assert_non_null(tree_link(root, "up", "../../etc/passwd"));
    assert_non_null(tree_link(root, "absolute", "/etc/passwd"));
    assert_non_null(tree_link(root, "nowhere", "missing"));
    assert_non_null(tree_link(root, "ctl/private", "../shut/inside"));
}

static int setup_tree(void **state)
{
    tree = tree_create();
    root = tree_root(tree);
    tree_fill();
    return tree == NULL;
}

static int teardown_tree(void **state)
{
    const uint64_t handles = tree_usage(tree).handles;
    tree_destroy(tree);
    return handles != 0;
}

// ---- paths and permissions

static gid_t group_50[] = {7, 50};
static const struct ctl_who super = {0, 0, 0, NULL};
static const struct ctl_who nobody = {NOBODY, NOBODY, 0, NULL};
static const struct ctl_who member = {1000, 1000, 2, group_50};
static const struct ctl_who member_first = {1000, 50, 0, NULL};

// walked: *node = what lies at path; 0 or -errno.
static int walked(const struct ctl_who *who, const char *path, struct tree_node **node)
{
    *node = NULL;
    return ctl_walk(tree, who, path, strlen(path), true, node);
}

static void assert_leads(const char *path, const char *same)
{
    struct tree_node *node, *want;
    assert_int_equal(walked(&super, path, &node), 0);
    assert_int_equal(walked(&super, same, &want), 0);
    assert_ptr_equal(node, want);
}

static void assert_leads_nowhere(const char *path, int code)
{
    struct tree_node *node;
    assert_int_equal(walked(&nobody, path, &node), -code);
}

static void paths_lead_where_the_mount_leads(void **state)
{
    struct tree_node *node;
    assert_int_equal(walked(&nobody, "", &node), 0);
    assert_ptr_equal(node, root);
    assert_leads("/", "");
    assert_leads("//ctl///number", "ctl/number");
    assert_leads("./ctl/./number", "ctl/number");
    assert_leads("ctl/../long", "long");
    assert_leads("ctl/..", "");
    assert_leads("ctl/", "ctl");
    assert_leads("n", "ctl/number");
    assert_leads("d/number", "ctl/number");
    assert_leads("d/", "ctl");
    assert_leads("d/back", "long");
    assert_leads_nowhere("ctl/number/", ENOTDIR);
    assert_leads_nowhere("ctl/number/.", ENOTDIR);
    assert_leads_nowhere("n/", ENOTDIR);
    assert_leads_nowhere("long/x", ENOTDIR);
    assert_leads_nowhere("ctl/missing", ENOENT);
    assert_leads_nowhere("missing/..", ENOENT);
    assert_leads_nowhere("nowhere", ENOENT);
}

static void nothing_leads_out_of_the_tree(void **state)
{
    assert_leads_nowhere("..", EXDEV);
    assert_leads_nowhere("/..", EXDEV);
    assert_leads_nowhere("../etc/passwd", EXDEV);
    assert_leads_nowhere("ctl/../../etc/passwd", EXDEV);
    assert_leads_nowhere("up", EXDEV);
    assert_leads_nowhere("absolute", EXDEV);
    assert_leads_nowhere("d/../../x", EXDEV);
}

static void loops_of_symlinks_end(void **state)
{
    assert_leads_nowhere("a", ELOOP);
    assert_leads_nowhere("a/x", ELOOP);
    assert_leads_nowhere("deep", ELOOP);
}

static void a_symlink_itself_is_found_where_that_is_asked_for(void **state)
{
    struct tree_node *node;
    assert_int_equal(ctl_walk(tree, &nobody, "n", 1, false, &node), 0);
    assert_int_equal(tree_stat(node).kind, TREE_LINK);
    assert_int_equal(ctl_walk(tree, &nobody, "d/", 2, false, &node), 0);
    assert_int_equal(tree_stat(node).kind, TREE_DIR);
}

static void names_and_paths_take_their_limits(void **state)
{
    static char path[WIRE_PATH_BYTES_MAX + 1];
    struct tree_node *node;
    memset(path, 'x', sizeof(path));
    assert_int_equal(ctl_walk(tree, &nobody, path, TREE_NAME_BYTES_MAX, true, &node), -ENOENT);
    assert_int_equal(ctl_walk(tree, &nobody, path, TREE_NAME_BYTES_MAX + 1, true, &node),
                     -ENAMETOOLONG);
    // A path of the greatest length through a symlink: the target takes its place.
    memset(path, '/', sizeof(path));
    memcpy(path, "d", 1);
    memcpy(path + WIRE_PATH_BYTES_MAX - 6, "number", 6);
    assert_int_equal(ctl_walk(tree, &nobody, path, WIRE_PATH_BYTES_MAX, true, &node), 0);
    assert_int_equal(tree_stat(node).kind, TREE_FILE);
}

static void every_directory_on_the_way_is_asked(void **state)
{
    struct tree_node *node;
    assert_int_equal(walked(&nobody, "shut", &node), 0);
    assert_int_equal(walked(&nobody, "shut/inside", &node), -EACCES);
    assert_int_equal(walked(&nobody, "shut/..", &node), -EACCES);
    assert_int_equal(walked(&nobody, "ctl/private", &node), -EACCES);
    assert_int_equal(walked(&super, "ctl/private", &node), 0);
}

static void the_first_class_that_fits_decides(void **state)
{
    static const struct ctl_who owner = {1000, 1000, 0, NULL};
    struct tree_stat s = {.mode = 0640, .uid = 0, .gid = 50};
    assert_true(ctl_may(&member, &s, MAY_READ));
    assert_false(ctl_may(&member, &s, MAY_WRITE));
    assert_true(ctl_may(&member_first, &s, MAY_READ));
    assert_false(ctl_may(&nobody, &s, MAY_READ));
    s = (struct tree_stat){.mode = 0066, .uid = 1000, .gid = 50};
    assert_false(ctl_may(&owner, &s, MAY_READ));  // the owner is denied what all others may
    s = (struct tree_stat){.mode = 0606, .uid = 1, .gid = 50};
    assert_false(ctl_may(&member, &s, MAY_READ));  // and the group likewise
    assert_true(ctl_may(&nobody, &s, MAY_READ | MAY_WRITE));
    s.mode = 0;
    assert_true(ctl_may(&super, &s, MAY_READ | MAY_WRITE));
}

// ---- conversations

static struct talk talk;
static struct talk_counts counts;
static struct text got;            // bytes of the DATA frames of the last answer
static char words[512 + 1];        // of ERROR
static size_t portion = SIZE_MAX;  // bytes handed over and taken at a time

static int setup_talk(void **state)
{
    const int rc = setup_tree(state);
    counts = (struct talk_counts){0};
    text_init(&got, GOT_BYTES_MAX);
    portion = SIZE_MAX;
    return rc;
}

static int teardown_talk(void **state)
{
    talk_fini(&talk);
    text_free(&got);
    return teardown_tree(state);
}

// answer: what the server said, so far.
static uint8_t answer[GOT_BYTES_MAX];
static size_t answer_n;

// drain: lets the conversation work until it waits for more, and takes what it says.
static void drain(void)
{
    bool later;
    for (int i = 0; i < TURNS_MAX && talk_work(&talk, &later); i++) {
        const size_t n = MIN(portion, talk.out_n - talk.out_at);
        assert_true(answer_n + n <= sizeof(answer));
        memcpy(answer + answer_n, talk.out + talk.out_at, n);
        answer_n += n;
        talk.out_at += n;
    }
}

static void say(const void *data, size_t n)
{
    const char *from = data;
    for (size_t room; n > 0;) {
        uint8_t *to = talk_room(&talk, &room);
        const size_t part = MIN(MIN(portion, n), room);
        if (part == 0)
            return;
        memcpy(to, from, part);
        talk_received(&talk, part);
        from += part;
        n -= part;
        drain();
    }
}

// next_frame: the frame at *at of the answer.
static struct wire_head next_frame(size_t *at, const uint8_t **payload)
{
    struct wire_head h;
    assert_true(answer_n - *at >= WIRE_HEAD_BYTES);
    assert_true(wire_head_get(answer + *at, &h));
    assert_true(answer_n - *at - WIRE_HEAD_BYTES >= h.payload_bytes);
    *payload = answer + *at + WIRE_HEAD_BYTES;
    *at += WIRE_HEAD_BYTES + h.payload_bytes;
    return h;
}

// understood: reads the whole answer: got, words; 0 or -errno.
static int understood(void)
{
    const uint8_t *payload;
    uint64_t total;
    text_free(&got);
    words[0] = '\0';
    for (size_t at = 0;;) {
        const struct wire_head h = next_frame(&at, &payload);
        if (h.type == WIRE_DATA) {
            text_put(&got, payload, h.payload_bytes);
            continue;
        }
        assert_int_equal(at, answer_n);  // nothing behind the end
        if (h.type == WIRE_END) {
            assert_true(wire_end_get(payload, h.payload_bytes, &total));
            return 0;
        }
        int code;
        const char *text;
        size_t n;
        assert_int_equal(h.type, WIRE_ERROR);
        assert_true(wire_error_get(payload, h.payload_bytes, &code, &text, &n));
        snprintf(words, sizeof(words), "%.*s", (int)n, text);
        return -code;
    }
}

static void begin(const struct ctl_who *who)
{
    uint8_t hello[WIRE_HELLO_BYTES];
    const uint8_t *payload;
    size_t at = 0;
    talk_fini(&talk);
    talk_init(&talk, tree, who, &counts);
    answer_n = 0;
    wire_hello_put(hello);
    say(hello, sizeof(hello));
    const struct wire_head h = next_frame(&at, &payload);
    assert_int_equal(h.type, WIRE_HELLO);
    assert_true(wire_hello_good(payload, h.payload_bytes));
}

static uint8_t frame[WIRE_HEAD_BYTES + WIRE_REQUEST_BYTES_MAX];

static int ask(const struct wire_request *r)
{
    const size_t n = wire_request_put(frame, sizeof(frame), r);
    assert_int_not_equal(n, 0);
    answer_n = 0;
    say(frame, n);
    return understood();
}

static struct wire_request about(enum wire_type type, const char *path)
{
    return (struct wire_request){.type = type, .path = path, .path_bytes = strlen(path)};
}

static int ask_for(enum wire_type type, const char *path)
{
    const struct wire_request r = about(type, path);
    return ask(&r);
}

static int ask_write(const char *path, const char *data, size_t n)
{
    struct wire_request r = about(WIRE_WRITE, path);
    r.data = data;
    r.data_bytes = n;
    return ask(&r);
}

static void assert_got(const char *want)
{
    assert_string_equal(text_str(&got), want);
}

static void a_file_is_read_whole_or_in_part(void **state)
{
    begin(&nobody);
    assert_int_equal(ask_for(WIRE_READ, "ctl/number"), 0);
    assert_got("value 42\n");
    assert_int_equal(ask_for(WIRE_READ, "n"), 0);
    assert_got("value 42\n");
    struct wire_request r = about(WIRE_READ, "ctl/number");
    r.offset = 6;
    assert_int_equal(ask(&r), 0);
    assert_got("42\n");
    r.limit = 1;
    assert_int_equal(ask(&r), 0);
    assert_got("4");
    r.offset = 9;
    assert_int_equal(ask(&r), 0);
    assert_got("");
    r.offset = UINT64_MAX;
    r.limit = UINT64_MAX;
    assert_int_equal(ask(&r), 0);
    assert_got("");
}

static void assert_long(void)
{
    assert_int_equal(got.len, LONG_BYTES);
    for (int i = 0; i < LONG_BYTES; i++)
        if (got.data[i] != (char)('a' + i % 23))
            fail_msg("byte %d is wrong", i);
}

static void a_long_text_and_a_stream_come_whole_however_they_are_taken(void **state)
{
    static const size_t portions[] = {SIZE_MAX, 1000, 17, 1};
    for (unsigned i = 0; i < ARRAY_LEN(portions); i++) {
        portion = portions[i];
        begin(&nobody);
        assert_int_equal(ask_for(WIRE_READ, "long"), 0);
        assert_long();
    }
    portion = SIZE_MAX;
    begin(&nobody);
    assert_int_equal(ask_for(WIRE_READ, "stream"), 0);
    assert_memory_equal(got.data, "line 1\nline 2\n", 14);
    assert_string_equal(got.data + got.len - 11, "line 40000\n");
}

static void a_stream_without_anything_to_hand_is_asked_again_and_holds_nothing_up(void **state)
{
    bool later = false;
    begin(&nobody);
    const struct wire_request r = about(WIRE_READ, "endless");
    answer_n = 0;
    const size_t n = wire_request_put(frame, sizeof(frame), &r);
    size_t room;
    memcpy(talk_room(&talk, &room), frame, n);
    talk_received(&talk, n);
    for (int i = 0; i < 100; i++) {
        assert_true(talk_work(&talk, &later));
        assert_int_equal(talk.out_n, 0);
        assert_int_equal(later, i > 0);
    }
    assert_true(talk_busy(&talk));
    talk_fini(&talk);
    assert_int_equal(tree_usage(tree).handles, 0);
}

static void a_write_is_one_command_and_its_refusal_has_words(void **state)
{
    begin(&super);
    assert_int_equal(ask_write("ctl/number", "17\n", 3), 0);
    assert_int_equal(number, 17);
    assert_int_equal(taken_bytes, 3);
    assert_int_equal(ask_write("n", "18", 2), 0);
    assert_int_equal(number, 18);
    assert_int_equal(ask_write("ctl/number", "x", 1), -EINVAL);
    assert_string_equal(words, "");
    assert_int_equal(ask_write("ctl/number", "500\n", 4), -ERANGE);
    assert_string_equal(words, "expected 0 to 100, got 500");
    assert_int_equal(ask_write("ctl/number", "x", 1), -EINVAL);
    assert_string_equal(words, "");  // not those of before
    assert_int_equal(number, 18);
    assert_int_equal(ask_write("ctl/number", "", 0), 0);
    assert_int_equal(ask_write("long", "1", 1), -EACCES);  // nobody writes what cannot be written
    assert_int_equal(ask_write("ctl", "1", 1), -EISDIR);
    assert_int_equal(ask_for(WIRE_READ, "failing"), -ENODEV);
    assert_string_equal(words, "the device is gone");
    assert_int_equal(counts.writes, 3);
    assert_int_equal(counts.denied, 1);
}

static void a_write_at_the_limit_is_taken_whole_and_over_it_refused_whole(void **state)
{
    static char big[2 * TREE_WRITE_BYTES_MAX];
    begin(&super);
    memset(big, 'x', sizeof(big));
    assert_int_equal(ask_write("ctl/sink", big, TREE_WRITE_BYTES_MAX), 0);
    assert_int_equal(taken_bytes, TREE_WRITE_BYTES_MAX);
    taken_bytes = 0;
    assert_int_equal(ask_write("ctl/sink", big, TREE_WRITE_BYTES_MAX + 1), -EFBIG);
    assert_int_equal(ask_write("ctl/sink", big, sizeof(big)), -EFBIG);
    assert_int_equal(taken_bytes, 0);
}

static void a_listing_has_every_entry_as_stat_tells_it(void **state)
{
    struct wire_entry one, all;
    char path[TREE_NAME_BYTES_MAX + 8];
    begin(&super);
    assert_int_equal(ask_for(WIRE_LIST, "d"), 0);
    static uint8_t listing[4096];
    const size_t n = got.len;
    memcpy(listing, got.data, n);
    static const char *const names[] = {"back", "number", "private", "sink"};
    size_t at = 0;
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        const size_t bytes = wire_entry_get(&all, listing + at, n - at);
        assert_int_not_equal(bytes, 0);
        at += bytes;
        assert_int_equal(all.name_bytes, strlen(names[i]));
        assert_memory_equal(all.name, names[i], all.name_bytes);
        snprintf(path, sizeof(path), "ctl/%s", names[i]);
        struct wire_request r = about(WIRE_STAT, path);
        r.flags = WIRE_NOFOLLOW;
        assert_int_equal(ask(&r), 0);
        assert_int_equal(wire_entry_get(&one, (const uint8_t *)got.data, got.len), got.len);
        assert_true(one.id == all.id && one.kind == all.kind && one.mode == all.mode);
        assert_true(one.uid == all.uid && one.gid == all.gid && one.made_s == all.made_s);
        assert_int_equal(one.target_bytes, all.target_bytes);
    }
    assert_int_equal(at, n);
    assert_int_equal(ask_for(WIRE_LIST, "ctl/number"), -ENOTDIR);
    assert_int_equal(ask_for(WIRE_READ, "ctl"), -EISDIR);
    assert_int_equal(ask_for(WIRE_STAT, "a"), -ELOOP);
}

static void a_long_listing_comes_in_several_frames_and_lacks_what_was_removed(void **state)
{
    char name[256];
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "many/%0200d", i);
        assert_non_null(tree_file_ro(root, name, number_read, &number));
    }
    begin(&nobody);
    assert_int_equal(ask_for(WIRE_LIST, "many"), 0);
    struct wire_entry entry;
    size_t at = 0;
    int n = 0;
    for (size_t bytes; at < got.len; at += bytes, n++)
        assert_int_not_equal(
            bytes = wire_entry_get(&entry, (const uint8_t *)got.data + at, got.len - at), 0);
    assert_int_equal(n, 2000);
}

static void modes_decide_who_reads_lists_and_writes(void **state)
{
    begin(&nobody);
    assert_int_equal(ask_for(WIRE_READ, "secret"), -EACCES);
    assert_int_equal(ask_write("button", "1", 1), -EACCES);
    assert_int_equal(ask_for(WIRE_READ, "button"), -EACCES);
    assert_int_equal(ask_write("ctl/number", "1", 1), -EACCES);
    assert_int_equal(ask_for(WIRE_READ, "group"), -EACCES);
    assert_int_equal(ask_for(WIRE_LIST, "shut"), -EACCES);
    assert_int_equal(ask_for(WIRE_LIST, "names"), -EACCES);  // its entries may not be looked at
    assert_int_equal(ask_for(WIRE_STAT, "shut"), 0);
    assert_int_equal(ask_for(WIRE_STAT, "shut/inside"), -EACCES);
    assert_int_equal(counts.denied, 8);
    begin(&member);
    assert_int_equal(ask_for(WIRE_READ, "group"), 0);
    assert_int_equal(ask_write("group", "9", 1), 0);
    begin(&super);
    assert_int_equal(ask_for(WIRE_READ, "secret"), 0);
    assert_int_equal(ask_write("button", "1", 1), 0);
    assert_int_equal(ask_for(WIRE_READ, "button"), -EACCES);  // there is no callback
}

static void what_is_no_request_is_answered_and_ends_the_conversation(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } bad[] = {
        {"\0\0\0\0\x09\0\0\0", 8},           // no such request
        {"\0\0\0\0\x10\0\0\0", 8},           // an answer
        {"\0\0\0\0\x03\0\0\1", 8},           // bytes that have to be zero
        {"\xff\xff\xff\xff\x03\0\0\0", 8},   // longer than any request
        {"\1\0\0\0\x04\0\0\0x", 9},          // READ cut short
        {"\1\0\0\0\x02\0\0\0\x02", 9},       // a flag that is none
        {"\4\0\0\0\x05\0\0\0\x09\0xx", 12},  // WRITE: path longer than the request
        {"\3\0\0\0\x03\0\0\0a\0b", 11},      // zero byte in a path
        {"\x08\0\0\0\x01\0\0\0\x63\x31\x30\x6d\1\0\0\0", 16},  // HELLO again
    };
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        begin(&super);
        answer_n = 0;
        say(bad[i].bytes, bad[i].n);
        assert_int_equal(understood(), -EPROTO);
        assert_int_not_equal(strlen(words), 0);
        assert_int_equal(talk.state, TALK_OVER);
        size_t room;
        talk_room(&talk, &room);
        assert_int_equal(room, 0);
        assert_int_equal(counts.malformed, i + 1);
    }
}

static void who_does_not_say_hello_is_not_served(void **state)
{
    static const char wrong[] = "\x08\0\0\0\x01\0\0\0\x63\x31\x30\x6d\2\0\0\0";
    talk_init(&talk, tree, &super, &counts);
    const struct wire_request r = about(WIRE_READ, "long");
    assert_int_equal(ask(&r), -EPROTO);
    assert_int_equal(talk.state, TALK_OVER);
    talk_init(&talk, tree, &super, &counts);
    answer_n = 0;
    say(wrong, sizeof(wrong) - 1);
    assert_int_equal(understood(), -EPROTO);
    assert_string_equal(words, "expected a HELLO of version 1");
}

static void requests_that_come_at_once_are_answered_in_order(void **state)
{
    static uint8_t many[4096];
    const struct wire_request a = about(WIRE_READ, "ctl/number"), b = about(WIRE_STAT, "missing");
    const uint8_t *payload;
    size_t n = 0, at = 0;
    begin(&nobody);
    for (int i = 0; i < 20; i++)
        n += wire_request_put(many + n, sizeof(many) - n, i % 2 == 0 ? &a : &b);
    answer_n = 0;
    say(many, n);
    for (int i = 0; i < 20; i++) {
        if (i % 2 == 0)
            assert_int_equal(next_frame(&at, &payload).type, WIRE_DATA);
        assert_int_equal(next_frame(&at, &payload).type, i % 2 == 0 ? WIRE_END : WIRE_ERROR);
    }
    assert_int_equal(at, answer_n);
}

static void an_entry_that_goes_while_it_is_read_is_read_to_its_end(void **state)
{
    begin(&nobody);
    const struct wire_request r = about(WIRE_READ, "long");
    const size_t n = wire_request_put(frame, sizeof(frame), &r);
    size_t room;
    bool later;
    answer_n = 0;
    memcpy(talk_room(&talk, &room), frame, n);
    talk_received(&talk, n);
    talk_work(&talk, &later);
    assert_int_equal(tree_remove(root, "long"), 0);
    drain();
    assert_int_equal(understood(), 0);
    assert_long();
}

// ---- the socket

static struct ctl_loop loop;
static struct ctl_sock *sock;
static char base[32], path[96];
static bool taken;

static int setup_unserved(void **state)
{
    strcpy(base, "/tmp/c10m-sock-XXXXXX");
    if (setup_tree(state) != 0 || mkdtemp(base) == NULL || chmod(base, 0755) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/control.sock", base);
    text_init(&got, GOT_BYTES_MAX);
    return ctl_loop_init(&loop, &e);
}

static int setup_sock(void **state)
{
    if (setup_unserved(state) != 0)
        return -1;
    sock = ctl_sock_start(&loop, tree, path, &taken, &e);
    return sock == NULL || ctl_counters_add(tree, sock) != 0;
}

static int teardown_sock(void **state)
{
    ctl_sock_stop(sock);
    sock = NULL;
    ctl_loop_fini(&loop);
    text_free(&got);
    unlink(path);
    return (rmdir(base) != 0) | teardown_tree(state);
}

static int connected(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(fd, (const void *)&at, sizeof(at)), 0);
    return fd;
}

static void turn(int times)
{
    for (int i = 0; i < times; i++)
        assert_true(ctl_loop_turn(&loop, 0) >= 0);
}

// turn_until_clients: turns until so many are connected.
static void turn_until_clients(uint64_t n)
{
    const time_t end = time(NULL) + SECONDS_MAX;
    while (ctl_sock_counts(sock).clients != n && time(NULL) < end)
        assert_true(ctl_loop_turn(&loop, 1) >= 0);
    assert_int_equal(ctl_sock_counts(sock).clients, n);
}

static void send_request(int fd, enum wire_type type, const char *file)
{
    const struct wire_request r = about(type, file);
    uint8_t hello[WIRE_HELLO_BYTES];
    const size_t n = wire_request_put(frame, sizeof(frame), &r);
    wire_hello_put(hello);
    assert_int_equal(send(fd, hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
    assert_int_equal(send(fd, frame, n, MSG_NOSIGNAL), n);
}

// receive_answer: takes all that comes while the server turns, until END or until it cuts off.
static void receive_answer(int fd)
{
    answer_n = 0;
    for (int i = 0; i < TURNS_MAX; i++) {
        turn(1);
        const ssize_t n = recv(fd, answer + answer_n, sizeof(answer) - answer_n, 0);
        if (n == 0)
            return;
        if (n > 0)
            answer_n += (size_t)n;
        if (answer_n >= 16 && answer[answer_n - 16 + 4] == WIRE_END &&
            ctl_sock_counts(sock).talk.requests > 0)
            return;
    }
    fail_msg("no answer");
}

static void skip_hello(void)
{
    const uint8_t *payload;
    size_t at = 0;
    assert_int_equal(next_frame(&at, &payload).type, WIRE_HELLO);
    memmove(answer, answer + at, answer_n - at);
    answer_n -= at;
}

static void a_client_that_reads_byte_by_byte_gets_all_and_holds_nobody_up(void **state)
{
    const int slow = connected(), fast = connected();
    send_request(slow, WIRE_READ, "long");
    turn(20);
    send_request(fast, WIRE_READ, "long");
    receive_answer(fast);
    skip_hello();
    assert_int_equal(understood(), 0);
    assert_long();
    assert_int_equal(tree_usage(tree).handles, 1);  // the slow one's
    receive_answer(slow);
    skip_hello();
    assert_int_equal(understood(), 0);
    assert_long();
    close(slow);
    close(fast);
    turn_until_clients(0);
    assert_int_equal(tree_usage(tree).handles, 0);
}

static void who_waits_for_a_stream_holds_nobody_up(void **state)
{
    const int waits = connected(), other = connected();
    send_request(waits, WIRE_READ, "endless");
    turn(20);
    send_request(other, WIRE_READ, "ctl/number");
    receive_answer(other);
    skip_hello();
    assert_int_equal(understood(), 0);
    assert_got("value 42\n");
    close(waits);
    close(other);
    turn_until_clients(0);
}

// Spinning on it would be many thousand calls; a slow machine makes them fewer.
static void a_stream_that_has_nothing_rests_and_is_heard_when_it_speaks(void **state)
{
    const int fd = connected();
    send_request(fd, WIRE_READ, "endless");
    endless_calls = 0;
    for (int i = 0; i < TURNS_MAX && endless_calls < TREE_IDLE_CALLS; i++)
        turn(1);
    const time_t end = time(NULL) + 2;
    endless_calls = 0;
    while (time(NULL) < end)
        assert_true(ctl_loop_turn(&loop, 100) >= 0);
    assert_in_range(endless_calls, 1, 1000);
    endless_speaks = true;
    receive_answer(fd);
    skip_hello();
    assert_int_equal(understood(), 0);
    assert_got("word\n");
    close(fd);
    turn_until_clients(0);
}

static void who_leaves_in_the_middle_leaves_nothing(void **state)
{
    for (int i = 0; i < 50; i++) {
        const int fd = connected();
        send_request(fd, WIRE_READ, "long");
        turn(i % 5);
        close(fd);
    }
    turn_until_clients(0);
    assert_int_equal(tree_usage(tree).handles, 0);
}

static void who_has_said_all_is_answered_still(void **state)
{
    const int fd = connected();
    send_request(fd, WIRE_READ, "long");
    shutdown(fd, SHUT_WR);
    receive_answer(fd);
    skip_hello();
    assert_int_equal(understood(), 0);
    assert_long();
    close(fd);
    turn_until_clients(0);
}

static void idle_clients_are_left_after_a_while_and_those_that_wait_for_us_are_not(void **state)
{
    const int idle = connected(), slow = connected(), waits = connected();
    ctl_sock_idle_ms(sock, 1500);
    send_request(slow, WIRE_READ, "long");
    send_request(waits, WIRE_READ, "endless");
    turn(50);
    assert_int_equal(ctl_sock_counts(sock).clients, 3);
    turn_until_clients(1);
    assert_int_equal(ctl_sock_counts(sock).timed_out, 2);
    assert_int_equal(tree_usage(tree).handles, 1);
    close(idle);
    close(slow);
    close(waits);
    turn_until_clients(0);
}

// assert_refused: fd is told that there is no place, and cut off.
static void assert_refused(int fd)
{
    receive_answer(fd);
    assert_int_equal(understood(), -EMFILE);
    assert_int_not_equal(strlen(words), 0);
    close(fd);
}

static void connections_are_bounded(void **state)
{
    int fds[SOCK_CLIENTS_MAX];
    for (int i = 0; i < SOCK_CLIENTS_MAX; i++) {
        fds[i] = connected();
        turn(2);
    }
    turn_until_clients(SOCK_CLIENTS_MAX);
    assert_refused(connected());
    assert_int_equal(ctl_sock_counts(sock).refused_full, 1);
    close(fds[0]);
    turn_until_clients(SOCK_CLIENTS_MAX - 1);
    fds[0] = connected();
    turn_until_clients(SOCK_CLIENTS_MAX);
    for (int i = 0; i < SOCK_CLIENTS_MAX; i++)
        close(fds[i]);
    turn_until_clients(0);
}

// With no descriptor left nobody can be accepted, and that must not keep the loop busy.
static void without_descriptors_the_listener_waits(void **state)
{
    struct rlimit before, tight;
    const int waiting = connected();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)waiting + 1;  // the next one would be the first over it
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    turn(1);
    assert_int_equal(ctl_sock_counts(sock).failed, 1);
    const time_t end = time(NULL) + 2;
    int turns = 0;
    while (time(NULL) < end && turns < 1000) {
        assert_true(ctl_loop_turn(&loop, 500) >= 0);
        turns++;
    }
    assert_true(turns < 1000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    turn_until_clients(1);
    close(waiting);
    turn_until_clients(0);
}

// as_user: runs what() in a child of user uid while the server turns; its exit status.
static int as_user(unsigned uid, int (*what)(void))
{
    const pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(60);
        if (uid != 0 && (setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0))
            _exit(99);
        _exit(what());
    }
    while (waitpid(child, &status, WNOHANG) == 0)
        assert_true(ctl_loop_turn(&loop, 1) >= 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Exit statuses of the children: the line that failed, modulo 97.
#define OR_EXIT(cond)                                                                              \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #cond, e.text);                         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int many_of_one_user(void)
{
    struct ctl_client c[SOCK_CLIENTS_USER_MAX + 1];
    for (int i = 0; i < SOCK_CLIENTS_USER_MAX; i++)
        OR_EXIT(ctl_client_open(&c[i], path, 20000, &e) == 0);
    OR_EXIT(ctl_client_open(&c[SOCK_CLIENTS_USER_MAX], path, 20000, &e) == -EMFILE);
    OR_EXIT(strstr(e.text, "no server answers at /") == e.text);
    OR_EXIT(strstr(e.text, "this user has reached the limit") != NULL);
    return 0;
}

static void a_user_has_so_many_connections_and_no_more(void **state)
{
    if (getuid() != 0)
        skip();
    assert_int_equal(as_user(NOBODY, many_of_one_user), 0);
    assert_int_equal(ctl_sock_counts(sock).refused_user, 1);
    turn_until_clients(0);
}

static void count_entry(void *arg, const struct wire_entry *entry)
{
    ++*(int *)arg;
}

static int stop_sink(void *arg, const char *data, size_t n)
{
    return -ENOSPC;
}

static unsigned asked;

static bool on_second_question(void)
{
    return ++asked == 2;
}

// A server that takes the connection and says nothing.
static void a_wait_for_a_hung_server_ends_when_it_is_asked_to(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char dir[] = "/tmp/c10m-hung-XXXXXX";
    struct ctl_client c;
    struct err err;
    assert_non_null(mkdtemp(dir));
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", dir);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const void *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 4), 0);
    asked = 0;
    assert_int_equal(ctl_client_open_until(&c, at.sun_path, 3600000, on_second_question, &err),
                     -EINTR);
    assert_int_equal(asked, 2);
    assert_int_equal(ctl_client_open(&c, at.sun_path, 1, &err), -ETIMEDOUT);
    close(fd);
    unlink(at.sun_path);
    rmdir(dir);
}

static int client_calls(void)
{
    struct ctl_client c;
    struct wire_entry entry;
    int n = 0;
    OR_EXIT(ctl_client_open(&c, path, 20000, &e) == 0);
    OR_EXIT(ctl_client_get(&c, "ctl/number", &got, &e) == 0);
    OR_EXIT(strcmp(text_str(&got), "value 42\n") == 0);
    OR_EXIT(ctl_client_list(&c, "ctl", count_entry, &n, &e) == 0 && n == 4);
    OR_EXIT(ctl_client_stat(&c, "n", true, &entry, &e) == 0 && entry.kind == TREE_LINK);
    OR_EXIT(memcmp(entry.target, "ctl/number", 10) == 0);
    OR_EXIT(ctl_client_stat(&c, "n", false, &entry, &e) == 0 && entry.kind == TREE_FILE);
    OR_EXIT(ctl_client_write(&c, "ctl/number", "77\n", 3, &e) == 0);
    OR_EXIT(ctl_client_write(&c, "ctl/number", "777\n", 4, &e) == -ERANGE);
    OR_EXIT(strcmp(e.text, "ctl/number: Numerical result out of range: "
                           "expected 0 to 100, got 777") == 0);
    OR_EXIT(ctl_client_get(&c, "missing", &got, &e) == -ENOENT);
    OR_EXIT(strcmp(e.text, "missing: No such file or directory") == 0);
    text_free(&got);
    OR_EXIT(ctl_client_get(&c, "long", &got, &e) == 0 && got.len == LONG_BYTES);
    text_init(&got, 1000);
    OR_EXIT(ctl_client_get(&c, "long", &got, &e) == -EFBIG);
    ctl_client_close(&c);
    OR_EXIT(ctl_client_open(&c, path, 20000, &e) == 0);
    OR_EXIT(ctl_client_read(&c, "long", 0, 0, stop_sink, NULL, &e) == -ENOSPC);
    ctl_client_close(&c);
    return 0;
}

static void the_client_reads_lists_writes_and_tells_errors_in_words(void **state)
{
    assert_int_equal(as_user(0, client_calls), 0);
    assert_int_equal(number, 77);
    turn_until_clients(0);
}

static int user_calls(void)
{
    struct ctl_client c;
    OR_EXIT(ctl_client_open(&c, path, 20000, &e) == 0);
    OR_EXIT(ctl_client_get(&c, "long", &got, &e) == 0);
    OR_EXIT(ctl_client_get(&c, "secret", &got, &e) == -EACCES);
    OR_EXIT(ctl_client_write(&c, "button", "1", 1, &e) == -EACCES);
    OR_EXIT(ctl_client_write(&c, "ctl/number", "1", 1, &e) == -EACCES);
    OR_EXIT(ctl_client_write(&c, "ctl/sink", "1", 1, &e) == 0);
    ctl_client_close(&c);
    return 0;
}

static void the_kernel_says_who_asks(void **state)
{
    if (getuid() != 0)
        skip();
    assert_int_equal(as_user(NOBODY, user_calls), 0);
    assert_int_equal(number, 42);
    turn_until_clients(0);
}

static int group_calls(void)
{
    struct ctl_client c;
    const gid_t groups[] = {9, 50};
    if (setgroups(2, groups) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return 2;
    OR_EXIT(ctl_client_open(&c, path, 20000, &e) == 0);
    OR_EXIT(ctl_client_write(&c, "group", "5\n", 2, &e) == 0);
    ctl_client_close(&c);
    return 0;
}

static void supplementary_groups_count(void **state)
{
    if (getuid() != 0)
        skip();
    assert_int_equal(as_user(0, group_calls), 0);
    assert_int_equal(number, 5);
    turn_until_clients(0);
}

// ---- the file

static void anybody_may_connect_and_the_file_goes_at_the_stop(void **state)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode, S_IFSOCK | 0666);
    ctl_sock_stop(sock);
    sock = NULL;
    assert_int_equal(stat(path, &st), -1);
}

static void a_living_server_keeps_its_socket(void **state)
{
    static struct ctl_loop second;
    struct stat before, after;
    assert_int_equal(ctl_loop_init(&second, &e), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_null(ctl_sock_start(&second, tree, path, &taken, &e));
    assert_true(taken);
    assert_non_null(strstr(e.text, "another server uses this socket"));
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    ctl_loop_fini(&second);
    turn_until_clients(0);  // the question was a connection
}

static void the_socket_of_a_killed_server_is_replaced(void **state)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const void *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    close(fd);  // the file stays, as after kill -9
    sock = ctl_sock_start(&loop, tree, path, &taken, &e);
    assert_non_null(sock);
    assert_int_equal(as_user(0, client_calls), 0);
}

static void what_is_no_socket_stays_and_is_told(void **state)
{
    close(creat(path, 0644));
    assert_null(ctl_sock_start(&loop, tree, path, &taken, &e));
    assert_false(taken);
    assert_non_null(strstr(e.text, "exists and is not a socket"));
    assert_int_equal(access(path, F_OK), 0);
}

static void a_path_that_cannot_be_is_told(void **state)
{
    char bad[200];
    memset(bad, 'x', sizeof(bad) - 1);
    bad[sizeof(bad) - 1] = '\0';
    assert_null(ctl_sock_start(&loop, tree, bad, &taken, &e));
    assert_non_null(strstr(e.text, "at most 107 characters"));
    assert_null(ctl_sock_start(&loop, tree, "/no/such/directory/sock", &taken, &e));
    assert_non_null(strstr(e.text, "No such file or directory"));
}

static void somebody_elses_file_is_left_at_the_stop(void **state)
{
    assert_int_equal(unlink(path), 0);
    close(creat(path, 0644));
    ctl_sock_stop(sock);
    sock = NULL;
    assert_int_equal(access(path, F_OK), 0);
}

static void without_a_server_the_client_says_so(void **state)
{
    struct ctl_client c;
    char want[256];
    assert_int_equal(ctl_client_open(&c, path, 1000, &e), -ENOENT);
    snprintf(want, sizeof(want), "no server answers at %s: No such file or directory", path);
    assert_string_equal(e.text, want);
}

static void a_server_that_hangs_does_not_hang_the_client(void **state)
{
    struct ctl_client c;
    assert_int_equal(ctl_client_open(&c, path, 100, &e), -ETIMEDOUT);  // nobody turns the loop
    assert_non_null(strstr(e.text, "the server does not answer"));
    turn_until_clients(0);
}

static void what_the_socket_did_is_in_the_tree(void **state)
{
    const int fd = connected();
    send_request(fd, WIRE_READ, "control/doors");
    receive_answer(fd);
    skip_hello();
    assert_int_equal(understood(), 0);
    assert_non_null(strstr(text_str(&got), "socket_clients_now 1\nsocket_accepted 1\n"));
    assert_non_null(strstr(text_str(&got), "\nsocket_requests 1\n"));
    assert_non_null(strstr(text_str(&got), "\ntree_handles_now 1\n"));
    close(fd);
    turn_until_clients(0);
}

int main(void)
{
#define WALK(f)  cmocka_unit_test_setup_teardown(f, setup_tree, teardown_tree)
#define TALK(f)  cmocka_unit_test_setup_teardown(f, setup_talk, teardown_talk)
#define SOCK(f)  cmocka_unit_test_setup_teardown(f, setup_sock, teardown_sock)
#define FILE_(f) cmocka_unit_test_setup_teardown(f, setup_unserved, teardown_sock)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_for_a_hung_server_ends_when_it_is_asked_to),
        WALK(paths_lead_where_the_mount_leads),
        WALK(nothing_leads_out_of_the_tree),
        WALK(loops_of_symlinks_end),
        WALK(a_symlink_itself_is_found_where_that_is_asked_for),
        WALK(names_and_paths_take_their_limits),
        WALK(every_directory_on_the_way_is_asked),
        WALK(the_first_class_that_fits_decides),
        TALK(a_file_is_read_whole_or_in_part),
        TALK(a_long_text_and_a_stream_come_whole_however_they_are_taken),
        TALK(a_stream_without_anything_to_hand_is_asked_again_and_holds_nothing_up),
        TALK(a_write_is_one_command_and_its_refusal_has_words),
        TALK(a_write_at_the_limit_is_taken_whole_and_over_it_refused_whole),
        TALK(a_listing_has_every_entry_as_stat_tells_it),
        TALK(a_long_listing_comes_in_several_frames_and_lacks_what_was_removed),
        TALK(modes_decide_who_reads_lists_and_writes),
        TALK(what_is_no_request_is_answered_and_ends_the_conversation),
        TALK(who_does_not_say_hello_is_not_served),
        TALK(requests_that_come_at_once_are_answered_in_order),
        TALK(an_entry_that_goes_while_it_is_read_is_read_to_its_end),
        SOCK(a_client_that_reads_byte_by_byte_gets_all_and_holds_nobody_up),
        SOCK(who_waits_for_a_stream_holds_nobody_up),
        SOCK(a_stream_that_has_nothing_rests_and_is_heard_when_it_speaks),
        SOCK(who_leaves_in_the_middle_leaves_nothing),
        SOCK(who_has_said_all_is_answered_still),
        SOCK(idle_clients_are_left_after_a_while_and_those_that_wait_for_us_are_not),
        SOCK(connections_are_bounded),
        SOCK(without_descriptors_the_listener_waits),
        SOCK(a_user_has_so_many_connections_and_no_more),
        SOCK(the_client_reads_lists_writes_and_tells_errors_in_words),
        SOCK(the_kernel_says_who_asks),
        SOCK(supplementary_groups_count),
        SOCK(anybody_may_connect_and_the_file_goes_at_the_stop),
        SOCK(a_living_server_keeps_its_socket),
        FILE_(the_socket_of_a_killed_server_is_replaced),
        FILE_(what_is_no_socket_stays_and_is_told),
        FILE_(a_path_that_cannot_be_is_told),
        SOCK(somebody_elses_file_is_left_at_the_stop),
        FILE_(without_a_server_the_client_says_so),
        SOCK(a_server_that_hangs_does_not_hang_the_client),
        SOCK(what_the_socket_did_is_in_the_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
