// SPDX-License-Identifier: BSD-3-Clause
// Any bytes into any file of ctl/: it is taken, or refused and shows what it showed before. The
// first byte says which file, each line is one write.
#include "../unit/steering_env.h"

enum { FILES_MAX = 256, TEXT_BYTES = 16384 };

static struct steering_env *env;
static struct tree_node *files[FILES_MAX];
static unsigned n_files;

static void collect(struct tree_node *dir)
{
    struct tree_handle *h;
    struct tree_dirent d;
    CHECK(tree_open(&env->session, dir, TREE_READ, &h) == 0 && tree_list(h) == 0);
    for (uint64_t pos = 0; tree_next(h, &pos, &d);) {
        struct tree_node *n = tree_lookup(dir, d.name);
        if (d.kind == TREE_DIR)
            collect(n);
        else if (n_files < FILES_MAX)
            files[n_files++] = n;
    }
    tree_close(h);
}

static void put(struct tree_node *n, const uint8_t *at, size_t len)
{
    static char before[TEXT_BYTES], after[TEXT_BYTES];
    // Of its exact size: a sanitizer sees one byte too many.
    uint8_t *copy = malloc(len);
    CHECK(copy != NULL || len == 0);
    if (len != 0)
        memcpy(copy, at, len);
    const bool waits =
        strstr(steering_env_read(env, n, before, sizeof(before)), "seconds_left") != NULL;
    const int rc = steering_env_write(env, n, copy, len);
    steering_env_read(env, n, after, sizeof(after));
    CHECK(rc <= 0);
    CHECK(rc == 0 || waits || strcmp(before, after) == 0);
    CHECK(strncmp(after, "# ", 2) == 0);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (env == NULL)
        env = steering_env_new(NULL);
    log_set_level(LOG_ERROR);
    n_files = 0;
    collect(tree_root(env->tree));
    CHECK(n_files > 20);
    if (len == 0)
        return 0;
    struct tree_node *n = files[data[0] % n_files];
    for (size_t at = 1; at < len;) {
        const uint8_t *end = memchr(data + at, '\n', len - at);
        const size_t bytes = end == NULL ? len - at : (size_t)(end - (data + at)) + 1;
        put(n, data + at, bytes);
        log_set_level(LOG_ERROR);
        at += bytes;
    }
    env->loop.stop = false;
    return 0;
}
