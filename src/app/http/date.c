// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/date.h"

#include <string.h>

static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

static void put_2(char *to, unsigned n)
{
    to[0] = (char)('0' + n / 10);
    to[1] = (char)('0' + n % 10);
}

// Converts days since 1970 to year, month and day. Years begin in March, so that the leap day is
// the last day (Hinnant, "chrono-compatible low-level date algorithms").
static void civil(uint64_t days, unsigned *year, unsigned *month, unsigned *day)
{
    uint64_t z = days + 719468;
    unsigned era = (unsigned)(z / 146097), doe = (unsigned)(z % 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    *day = doy - (153 * mp + 2) / 5 + 1;
    *month = mp < 10 ? mp + 3 : mp - 9;
    *year = yoe + era * 400 + (*month <= 2);
}

void http_date_format(uint64_t unix_s, char *to)
{
    static const char week[] = "ThuFriSatSunMonTueWed";  // 1970-01-01 was a Thursday
    unsigned year, month, day, second = (unsigned)(unix_s % 86400);
    civil(unix_s / 86400, &year, &month, &day);
    memcpy(to, "???, 00 ??? 0000 00:00:00 GMT", HTTP_DATE_BYTES);
    memcpy(to, week + unix_s / 86400 % 7 * 3, 3);
    put_2(to + 5, day);
    memcpy(to + 8, months + (month - 1) * 3, 3);
    put_2(to + 12, year / 100 % 100);
    put_2(to + 14, year % 100);
    put_2(to + 17, second / 3600);
    put_2(to + 20, second / 60 % 60);
    put_2(to + 23, second % 60);
}

// The result of the last call, to avoid formatting the same second again.
static _Thread_local struct {
    uint64_t of_s;
    char text[HTTP_DATE_BYTES];
} memo = {.of_s = UINT64_MAX};

static __attribute__((noinline)) const char *remember(uint64_t unix_s)
{
    http_date_format(unix_s, memo.text);
    memo.of_s = unix_s;
    return memo.text;
}

const char *http_date(uint64_t unix_s)
{
    return __builtin_expect(memo.of_s == unix_s, 1) ? memo.text : remember(unix_s);
}

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

// The inverse of civil(); does not check the day.
static uint64_t days_of(unsigned year, unsigned month, unsigned day)
{
    unsigned y = year - (month <= 2), mp = month > 2 ? month - 3 : month + 9;
    uint64_t era = y / 400, yoe = y % 400;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + (153 * mp + 2) / 5 + day - 1 - 719468;
}

// The fields of a date. In patterns, D is a digit of the day, Y of the year, H of the hour, N of
// the minute, S of the second; MMM is the name of the month; _ is a blank or a digit of the day.
struct fields {
    unsigned day, month, year, hour, minute, second;
};

static bool digit(char c, unsigned *value)
{
    if (c < '0' || c > '9')
        return false;
    *value = *value * 10 + (unsigned)(c - '0');
    return true;
}

static bool month_name(const char *s, unsigned *month)
{
    for (*month = 1; *month <= 12; ++*month)
        if (memcmp(s, months + (*month - 1) * 3, 3) == 0)
            return true;
    return false;
}

static bool match(const char *pattern, const char *s, size_t n, struct fields *f)
{
    if (strlen(pattern) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool good;
        switch (pattern[i]) {
        case '_':
            good = s[i] == ' ' || digit(s[i], &f->day);
            break;
        case 'D':
            good = digit(s[i], &f->day);
            break;
        case 'Y':
            good = digit(s[i], &f->year);
            break;
        case 'H':
            good = digit(s[i], &f->hour);
            break;
        case 'N':
            good = digit(s[i], &f->minute);
            break;
        case 'S':
            good = digit(s[i], &f->second);
            break;
        case 'M':  // occurs three times
            good = f->month != 0 || month_name(s + i, &f->month);
            break;
        default:
            good = s[i] == pattern[i];
        }
        if (!good)
            return false;
    }
    return true;
}

// The length of the name of the day at the start of s; 0: none. *abbreviated: it has three letters.
static size_t day_name(const char *s, size_t n, bool *abbreviated)
{
    static const char *const names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};
    for (size_t i = 0; i < 7; i++) {
        size_t len = strlen(names[i]);
        *abbreviated = !(n >= len && memcmp(s, names[i], len) == 0);
        if (!*abbreviated)
            return len;
        if (n >= 3 && memcmp(s, names[i], 3) == 0)
            return 3;
    }
    return 0;
}

static bool is_date(const struct fields *f)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (f->year < 1970 || f->day == 0)
        return false;
    return f->day <= days[f->month - 1] + (f->month == 2 && is_leap(f->year) ? 1u : 0u) &&
           f->hour < 24 && f->minute < 60 && f->second <= 60;
}

// RFC 9110 section 5.6.7: a year that appears to be more than 50 years in the future is in the
// past.
static unsigned year_of_two_digits(unsigned two, uint64_t now_s)
{
    unsigned now, month, day;
    civil(now_s / 86400, &now, &month, &day);
    unsigned year = now / 100 * 100 + two;
    if (year > now + 50)
        return year - 100;
    return year + 50 <= now ? year + 100 : year;
}

bool http_date_parse(const void *text, size_t n, uint64_t now_s, uint64_t *unix_s)
{
    const char *s = text;
    bool abbreviated;
    size_t day_bytes = day_name(s, n, &abbreviated);
    struct fields imf = {0}, old = {0}, c = {0}, *f;
    if (day_bytes == 0)
        return false;
    s += day_bytes;
    n -= day_bytes;
    if (!abbreviated && match(", DD-MMM-YY HH:NN:SS GMT", s, n, &old)) {
        f = &old;
        f->year = year_of_two_digits(f->year, now_s);
    } else if (abbreviated && match(", DD MMM YYYY HH:NN:SS GMT", s, n, &imf)) {
        f = &imf;
    } else if (abbreviated && match(" MMM _D HH:NN:SS YYYY", s, n, &c)) {
        f = &c;
    } else {
        return false;
    }
    if (!is_date(f))
        return false;
    *unix_s =
        days_of(f->year, f->month, f->day) * 86400 + f->hour * 3600 + f->minute * 60 + f->second;
    return true;
}
