// SPDX-License-Identifier: BSD-3-Clause
#include "top/top_term.h"

#include <curses.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "top/top_ui.h"

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
static const int crashing[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

static volatile sig_atomic_t asked_to_end;

// Data of the crash handler, which must not call ncurses.
static struct termios as_found;
static char restore[256];
static volatile sig_atomic_t is_open;

static void on_end(int signal)
{
    asked_to_end = signal;
}

// The signal has its default action when the handler returns (SA_RESETHAND).
static void on_crash(int signal)
{
    if (is_open && write(STDOUT_FILENO, restore, strlen(restore)) >= 0)
        tcsetattr(STDIN_FILENO, TCSANOW, &as_found);
    raise(signal);
}

static void handle(const int *signals, size_t n, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    for (size_t i = 0; i < n; i++)
        sigaction(signals[i], &action, NULL);
}

void top_signals(void)
{
    handle(ending, ARRAY_LEN(ending), on_end, 0);
}

int top_signal(void)
{
    return asked_to_end;
}

// Waits for input of fd (-1: none), a signal, or the end of the time. The signals that end the
// program are unblocked only during the wait, so that none is missed between the check and the
// wait.
static int wait_for(int fd, double seconds)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    sigset_t block, before;
    const double whole = floor(fmax(seconds, 0));
    const struct timespec limit = {(time_t)whole, (long)((fmax(seconds, 0) - whole) * 1e9)};
    sigemptyset(&block);
    for (size_t i = 0; i < ARRAY_LEN(ending); i++)
        sigaddset(&block, ending[i]);
    sigprocmask(SIG_BLOCK, &block, &before);
    const int rc = asked_to_end != 0 ? 0 : ppoll(&p, 1, &limit, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0 ? -1 : rc < 0 ? 0 : rc;
}

bool top_sleep(double seconds)
{
    wait_for(-1, seconds);
    return asked_to_end == 0;
}

// Stores the control strings that restore the screen, for the crash handler.
static void keep_restore(void)
{
    static const char *const names[] = {"sgr0", "rmkx", "cnorm", "rmcup"};
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const char *s = tigetstr(names[i]);
        if (s == NULL || s == (const char *)-1 || used + strlen(s) >= sizeof(restore))
            continue;
        strcpy(restore + used, s);
        used += strlen(s);
    }
}

static void start_colors(void)
{
    if (!has_colors() || start_color() == ERR)
        return;
    use_default_colors();
    init_pair(TOP_ALARM, COLOR_RED, -1);
    init_pair(TOP_BAR, COLOR_GREEN, -1);
    init_pair(TOP_PICK, COLOR_BLACK, COLOR_CYAN);
}

int top_term_open(struct err *e)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &as_found) != 0)
        return err_set(e, "standard input and output are not a terminal; use -b for plain text");
    int unknown;
    const char *term = getenv("TERM");
    if (setupterm(NULL, STDOUT_FILENO, &unknown) != OK)
        return err_set(e, "TERM=%s: unknown terminal type; use -b for plain text",
                       term == NULL ? "" : term);
    keep_restore();
    set_escdelay(50);
    if (newterm(NULL, stdout, stdin) == NULL)
        return err_set(e, "TERM=%s: the terminal cannot move the cursor; use -b for plain text",
                       term == NULL ? "" : term);
    is_open = 1;
    handle(crashing, ARRAY_LEN(crashing), on_crash, SA_RESETHAND | SA_NODEFER);
    cbreak();
    noecho();
    nodelay(stdscr, TRUE);
    keypad(stdscr, TRUE);
    curs_set(0);
    start_colors();
    return 0;
}

void top_term_close(void)
{
    if (!is_open)
        return;
    endwin();
    is_open = 0;
}

void top_term_size(unsigned *rows, unsigned *cols)
{
    *rows = (unsigned)MAX(getmaxy(stdscr), 1);
    *cols = (unsigned)MAX(getmaxx(stdscr), 1);
}

static attr_t attributes_of(enum top_look look)
{
    const bool colors = has_colors();
    switch (look) {
    case TOP_BOLD:
        return A_BOLD;
    case TOP_DIM:
        return A_DIM;
    case TOP_HEAD:
        return A_REVERSE;
    case TOP_PICK:
        return colors ? (attr_t)COLOR_PAIR(TOP_PICK) : A_REVERSE | A_BOLD | A_UNDERLINE;
    case TOP_ALARM:
        return colors ? (attr_t)COLOR_PAIR(TOP_ALARM) | A_BOLD : A_BOLD;
    case TOP_BAR:
        return colors ? (attr_t)COLOR_PAIR(TOP_BAR) : A_NORMAL;
    default:
        return A_NORMAL;
    }
}

void top_term_show(const struct top_grid *g)
{
    erase();
    for (unsigned y = 0; y < g->rows; y++)
        for (unsigned x = 0; x < g->cols; x++)
            if (g->cell[y][x] != ' ' || g->look[y][x] != TOP_PLAIN)
                mvaddch((int)y, (int)x,
                        (chtype)(unsigned char)g->cell[y][x] | attributes_of(g->look[y][x]));
    refresh();
}

static int key_of(int c)
{
    static const struct {
        int curses, key;
    } keys[] = {
        {KEY_UP, TOP_KEY_UP},         {KEY_DOWN, TOP_KEY_DOWN},     {KEY_LEFT, TOP_KEY_LEFT},
        {KEY_RIGHT, TOP_KEY_RIGHT},   {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
        {KEY_HOME, TOP_KEY_HOME},     {KEY_END, TOP_KEY_END},       {KEY_ENTER, '\n'},
        {KEY_RESIZE, TOP_KEY_RESIZED}};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (keys[i].curses == c)
            return keys[i].key;
    return c >= 0 && c < 128 ? c : TOP_KEY_NONE;
}

int top_term_wait(double seconds)
{
    int c = getch();
    if (c == ERR && wait_for(STDIN_FILENO, seconds) < 0)
        return TOP_KEY_END_ASKED;
    if (asked_to_end != 0)
        return TOP_KEY_END_ASKED;
    if (c == ERR)
        c = getch();
    return c == ERR ? TOP_KEY_NONE : key_of(c);
}
