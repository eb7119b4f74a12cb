// SPDX-License-Identifier: BSD-3-Clause
#include "base/words.h"

#include <errno.h>
#include <string.h>

int words_split(char *line, char **words, int max)
{
    int n = 0;
    char *save = NULL;
    for (char *w = strtok_r(line, " \t", &save); w != NULL; w = strtok_r(NULL, " \t", &save)) {
        if (n == max)
            return -1;
        words[n++] = w;
    }
    return n;
}

int words_number(const char *text, uint64_t lo, uint64_t hi, uint64_t *out)
{
    uint64_t n = 0;
    bool over = false;
    if (*text == '\0')
        return -EINVAL;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return -EINVAL;
        over |= __builtin_mul_overflow(n, 10, &n) ||
                __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n);
    }
    if (over || n < lo || n > hi)
        return -ERANGE;
    *out = n;
    return 0;
}
