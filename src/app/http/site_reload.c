// SPDX-License-Identifier: BSD-3-Clause
// Makes the sites of a service: the first one at start, and those that replace it
// (c10m/reload.h). A reload runs through the same code, and fails where a start skips an entry that
// it cannot read (site_load.h).
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "app/http/service.h"
#include "app/http/site_compare.h"
#include "app/http/site_load.h"

static uint64_t clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void free_site(struct http_site *site)
{
    if (site != NULL)
        http_site_free(site);
    free(site);
}

static int fill(struct c10m_service *s, struct http_site *site, const struct http_site_params *p,
                char *err, size_t err_bytes)
{
    const uint64_t began_us = clock_us(CLOCK_MONOTONIC);
    const int rc = http_site_load(site, s, p, err, err_bytes);
    site->loading_us = clock_us(CLOCK_MONOTONIC) - began_us;
    site->loaded_s = clock_us(CLOCK_REALTIME) / 1000000;
    return rc;
}

// Fills *site with the tables that only loading needs.
static int fill_by_rules(struct c10m_service *s, struct http_site *site, struct http_site_params *p,
                         char *err, size_t err_bytes)
{
    const char *types_path = http_param(s, "mime_types");
    struct http_types *types = NULL;
    struct http_rules rules = {0};
    if (types_path != NULL && (types = http_types_read(types_path, err, err_bytes)) == NULL)
        return -1;
    int rc = http_rules_read(&rules, s, err, err_bytes);
    p->types = types;
    p->rules = &rules;
    if (rc == 0)
        rc = fill(s, site, p, err, err_bytes);
    http_rules_free(&rules);
    http_types_free(types);
    return rc;
}

// Makes a site from the present files. before: the site that it will replace; NULL: none. Returns
// as http_site_load().
static int load(struct c10m_service *s, const struct http_service *service,
                const struct http_site *before, struct http_site **made, char *err,
                size_t err_bytes)
{
    struct http_site_params p = {
        .files_max = service->params.files_max,
        .bytes_max = service->params.bytes_max,
        .now_s = clock_us(CLOCK_REALTIME) / 1000000,
        .root = http_param(s, "root"),
        .hosts = http_param(s, "host"),
        .content_path = c10m_service_param(s, "echo_path"),
        .received_path = c10m_service_param(s, "headers_path"),
        .listing = http_param_on(s, "listing"),
        .before = before,
    };
    struct http_site *site = calloc(1, sizeof(*site));
    if (site == NULL) {
        snprintf(err, err_bytes, "no memory");
        return HTTP_LOAD_NO_MEMORY;
    }
    const int rc = fill_by_rules(s, site, &p, err, err_bytes);
    if (rc != 0)
        free_site(site);
    else
        *made = site;
    return rc;
}

int http_reload_first(struct c10m_service *s, struct http_service *service, char *err,
                      size_t err_bytes)
{
    struct http_site *site;
    if (load(s, service, NULL, &site, err, err_bytes) != 0)
        return -1;
    http_sites_show(&service->sites, site);
    return 0;
}

static const struct http_site *site_now(const struct http_service *service)
{
    return service->sites.at[http_sites_now(&service->sites)];
}

int http_reload_read(struct c10m_service *s, void **made, char *text, size_t text_bytes)
{
    struct http_service *service = c10m_service_data(s);
    struct http_sites *sites = &service->sites;
    struct http_site *site;
    if (http_sites_spare(sites) == HTTP_PLACES) {
        snprintf(text, text_bytes, "connections still use the files of %d reloads",
                 HTTP_PLACES - 1);
        http_sites_expel(sites, false);
        return C10M_RELOAD_LATER;
    }
    const int rc = load(s, service, site_now(service), &site, text, text_bytes);
    if (rc == HTTP_LOAD_NO_MEMORY && http_sites_expel(sites, true) != 0)
        return C10M_RELOAD_LATER;
    if (rc != 0)
        return -1;
    http_site_compare(site_now(service), site);
    *made = site;
    return 0;
}

void http_reload_show(struct c10m_service *s, void *made, char *text, size_t text_bytes)
{
    struct http_service *service = c10m_service_data(s);
    http_sites_show(&service->sites, made);
    http_site_say(made, text, text_bytes);
}

unsigned http_left_place(struct c10m_service *s, struct http_service *service)
{
    if (!service->left_sought)
        service->left_place = http_sites_add_left(&service->sites, s);
    service->left_sought = true;
    return service->left_place;
}

// A connection that did not go on names no image any more (tcp/tcp_adopt.h): what no connection
// holds is unused, that of a process before, too.
void *http_reload_unused(struct c10m_service *s)
{
    struct http_service *service = c10m_service_data(s);
    http_left_place(s, service);
    return http_sites_unused(&service->sites);
}

void http_reload_release(struct c10m_service *s, void *site)
{
    (void)s;
    free_site(site);
}
