// SPDX-License-Identifier: BSD-3-Clause
// replay_main.c: runs a libFuzzer target over every file of the directories given, without
// libFuzzer: the corpora are replayed in the ordinary build. Exit 2: no file found.
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PATH_BYTES = 4096, FILE_BYTES_MAX = 1 << 20 };

// replay_file: 1 if the file was read and run, 0 if it is none.
static unsigned replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return 0;
    uint8_t *all = malloc(FILE_BYTES_MAX);
    size_t n = fread(all, 1, FILE_BYTES_MAX, f);
    bool read = !ferror(f);
    fclose(f);
    if (read) {
        uint8_t *exact = malloc(n != 0 ? n : 1);  // so that a sanitizer sees reads behind it
        memcpy(exact, all, n);
        LLVMFuzzerTestOneInput(exact, n);
        free(exact);
    }
    free(all);
    return read;
}

int main(int argc, char **argv)
{
    unsigned files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);
        if (d == NULL) {
            perror(argv[i]);
            return 2;
        }
        for (struct dirent *e; (e = readdir(d)) != NULL;) {
            char path[PATH_BYTES];
            if (e->d_name[0] == '.')
                continue;
            snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
            files += replay_file(path);
        }
        closedir(d);
    }
    printf("%u files replayed\n", files);
    return files == 0 ? 2 : 0;
}
