// SPDX-License-Identifier: BSD-3-Clause
// rot13.cc: an application in C++17: sends back what comes, with each letter moved by 13. No exception leaves a callback.
#include <c10m/app.h>
#include <c10m/main.h>

#include <algorithm>
#include <array>

namespace {

int moved;  // the counter

char rot13(uint8_t c)
{
    const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
    const int first = lower ? 'a' : 'A';
    return static_cast<char>(lower || upper ? first + (c - first + 13) % 26 : c);
}

int init(c10m_service *s, char *, size_t)
{
    moved = c10m_counter(s, "moved_bytes", "bytes sent back");
    return 0;
}

// What the send queue does not take stays queued before us, and is offered again when it does.
size_t data(c10m_conn *c, const uint8_t *from, size_t len)
{
    std::array<char, 256> out;
    size_t done = 0, n, sent;
    do {
        n = std::min(len - done, out.size());
        std::transform(from + done, from + done + n, out.begin(), rot13);
        sent = c10m_send(c, out.data(), n);
        done += sent;
    } while (sent == n && done < len);
    c10m_count(c, moved, done);
    return done;
}

c10m_app make_app()
{
    c10m_app a{};
    a.name = "rot13";
    a.init = init;
    a.data = data;
    a.writable = c10m_resume;
    a.end = c10m_shutdown;
    return a;
}

}  // namespace

int main(int argc, char **argv)
{
    static const c10m_app app = make_app();
    static const c10m_app *const own[] = {&app, nullptr};
    return c10m_main(argc, argv, own);
}
