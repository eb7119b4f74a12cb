#include "app/http/date.h"

#include <string.h>

static void put_2(char *to, unsigned n)
{
    to[0] = (char)('0' + n / 10);
    to[1] = (char)('0' + n % 10);
}

// Days since 1970 to year, month, day: years begin in March, so that the leap day is the last
// (Hinnant, "chrono-compatible low-level date algorithms").
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

static void format(uint64_t unix_s, char *to)
{
    static const char week[] = "ThuFriSatSunMonTueWed";  // 1970-01-01 was a Thursday
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
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

const char *http_date(uint64_t unix_s)
{
    static _Thread_local uint64_t of_s = UINT64_MAX;  // a memo of a pure function, no state
    static _Thread_local char text[HTTP_DATE_BYTES];
    if (of_s != unix_s) {
        format(unix_s, text);
        of_s = unix_s;
    }
    return text;
}
