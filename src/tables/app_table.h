// SPDX-License-Identifier: BSD-3-Clause
// app_table.h: the table of built-in applications. From the row of an application follow:
//   - what is compiled: src/app/NAME.c, or the folder src/app/NAME with a meson.build of its own
//     (src/app/meson.build reads the names of the rows);
//   - its struct c10m_app, app_NAME, in the list of applications (src/app/apps.h);
//   - whether [service NAME] app takes the name, and the help of `app` (src/conf).
#pragma once

// X(NAME, KIND, HELP). Each row begins a line. KIND:
//   SERVICE   [service NAME] app = NAME runs it
//   SECTION   it is configured by a section of its own, and is no [service NAME]
#define APP_TABLE(X)                                                                               \
    X(echo, SERVICE, "sends back what it receives; TCP and UDP")                                   \
    X(discard, SERVICE, "reads and drops what it receives; TCP and UDP")                           \
    X(chargen, SERVICE, "sends a pattern without end; TCP and UDP")                                \
    X(daytime, SERVICE, "sends the date and closes; TCP and UDP")                                  \
    X(http, SERVICE, "HTTP/1.1 server for the files of a directory")                               \
    X(proxy, SERVICE, "relays each connection to another server")                                  \
    X(agent, SECTION, "BSD socket calls for other processes")

enum {
#define APP_PLUS(name, kind, help) +1
    APP_COUNT = APP_TABLE(APP_PLUS)
#undef APP_PLUS
};
