// SPDX-License-Identifier: BSD-3-Clause
#include "conf/spelling.h"

#include <string.h>

enum { NEAR_LEN_MAX = 31, NEAR_FAR = 32 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    return MIN(MIN(a, b), c);
}

unsigned spelling_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > NEAR_LEN_MAX || m > NEAR_LEN_MAX)
        return NEAR_FAR;
    unsigned d[NEAR_LEN_MAX + 1][NEAR_LEN_MAX + 1];  // d[i][j]: a's first i to b's first j letters
    for (unsigned i = 0; i <= n; i++)
        d[i][0] = i;
    for (unsigned j = 0; j <= m; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            d[i][j] =
                min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[n][m];
}

bool spelling_is_near(const char *word, unsigned distance)
{
    return distance <= (strlen(word) <= 5 ? 1 : 2);
}
