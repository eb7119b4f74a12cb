// SPDX-License-Identifier: BSD-3-Clause
#include "bench/svg.h"

#include <math.h>
#include <stdio.h>

enum {
    WIDTH = 860,
    HEIGHT = 480,
    LEFT = 70,
    RIGHT = 190,  // width of the legend
    TOP = 40,
    BOTTOM = 60,
    PLOT_W = WIDTH - LEFT - RIGHT,
    PLOT_H = HEIGHT - TOP - BOTTOM,
    TICKS_MAX = 12,
};

// A palette for people with color vision deficiency (Okabe, Ito, 2008); further lines are dashed.
static const char *const colors[] = {"#000000", "#e69f00", "#56b4e9", "#009e73",
                                     "#f0a030", "#0072b2", "#d55e00", "#cc79a7"};

struct scale {
    double log_min, log_max;  // powers of ten
    double y_max, y_step;
};

static void put_escaped(struct text *out, const char *s)
{
    for (; *s != '\0'; s++)
        switch (*s) {
        case '<':
            text_printf(out, "&lt;");
            break;
        case '>':
            text_printf(out, "&gt;");
            break;
        case '&':
            text_printf(out, "&amp;");
            break;
        default:
            text_put(out, s, 1);
        }
}

static double step_for(double max)
{
    const double power = pow(10, floor(log10(max / 5)));
    const double part = max / 5 / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

static struct scale scale_of(const struct svg_plot *p)
{
    double lo = INFINITY, hi = -INFINITY, top = 0;
    for (unsigned s = 0; s < p->n; s++)
        for (unsigned i = 0; i < p->series[s].n; i++) {
            lo = fmin(lo, p->series[s].x[i]);
            hi = fmax(hi, p->series[s].x[i]);
            top = fmax(top, p->series[s].y[i]);
        }
    if (!isfinite(lo) || lo <= 0)
        lo = hi = 1;
    if (top <= 0)
        top = 1;
    struct scale sc = {floor(log10(lo)), ceil(log10(hi)), 0, step_for(top)};
    if (sc.log_max <= sc.log_min)
        sc.log_max = sc.log_min + 1;
    sc.y_max = ceil(top / sc.y_step) * sc.y_step;
    return sc;
}

static double x_at(const struct scale *sc, double x)
{
    return LEFT + (log10(x) - sc->log_min) / (sc->log_max - sc->log_min) * PLOT_W;
}

static double y_at(const struct scale *sc, double y)
{
    return TOP + PLOT_H - y / sc->y_max * PLOT_H;
}

static void put_text(struct text *out, double x, double y, const char *more, const char *s)
{
    text_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
    put_escaped(out, s);
    text_printf(out, "</text>\n");
}

static void power_name(char out[16], double log)
{
    static const char *const unit[] = {"", "k", "M", "G"};
    const int n = (int)log, third = n >= 0 && n < 12 ? n / 3 : 0;
    snprintf(out, 16, "%.0f%s", pow(10, log - 3 * third), unit[third]);
}

static void put_axes(const struct svg_plot *p, const struct scale *sc, struct text *out)
{
    char label[32];
    for (double l = sc->log_min; l <= sc->log_max + 0.5; l++) {
        const double x = x_at(sc, pow(10, l));
        text_printf(out, "<path d=\"M%.1f %d V%d\" stroke=\"#ddd\"/>\n", x, TOP, TOP + PLOT_H);
        power_name(label, l);
        put_text(out, x, TOP + PLOT_H + 18, " text-anchor=\"middle\"", label);
    }
    for (unsigned i = 0; i <= TICKS_MAX && i * sc->y_step <= sc->y_max * 1.001; i++) {
        const double y = y_at(sc, i * sc->y_step);
        text_printf(out, "<path d=\"M%d %.1f H%d\" stroke=\"#ddd\"/>\n", LEFT, y, LEFT + PLOT_W);
        snprintf(label, sizeof(label), "%g", i * sc->y_step);
        put_text(out, LEFT - 8, y + 4, " text-anchor=\"end\"", label);
    }
    text_printf(out, "<path d=\"M%d %d V%d H%d\" fill=\"none\" stroke=\"#000\"/>\n", LEFT, TOP,
                TOP + PLOT_H, LEFT + PLOT_W);
    put_text(out, LEFT + PLOT_W / 2.0, 22, " text-anchor=\"middle\" font-size=\"15\"", p->title);
    put_text(out, LEFT + PLOT_W / 2.0, HEIGHT - 16, " text-anchor=\"middle\"", p->x_label);
    snprintf(label, sizeof(label), "%d", TOP + PLOT_H / 2);
    text_printf(out, "<text transform=\"translate(18 %s) rotate(-90)\" text-anchor=\"middle\">",
                label);
    put_escaped(out, p->y_label);
    text_printf(out, "</text>\n");
}

static void put_series(const struct svg_series *s, unsigned number, const struct scale *sc,
                       struct text *out)
{
    const char *color = colors[number % ARRAY_LEN(colors)];
    const char *dash = number < ARRAY_LEN(colors) ? "" : " stroke-dasharray=\"5 3\"";
    const double y = TOP + 12 + 20.0 * number;
    const int width = s->heavy ? 3 : 1;
    if (s->n != 0)
        text_printf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%d\"%s points=\"",
                    color, width, dash);
    for (unsigned i = 0; i < s->n; i++)
        text_printf(out, "%s%.1f,%.1f", i == 0 ? "" : " ", x_at(sc, s->x[i]), y_at(sc, s->y[i]));
    if (s->n != 0)
        text_printf(out, "\"/>\n");
    for (unsigned i = 0; i < s->n; i++)
        text_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"/>\n",
                    x_at(sc, s->x[i]), y_at(sc, s->y[i]), 1 + width, color);
    text_printf(out, "<path d=\"M%d %.1f h24\" stroke=\"%s\" stroke-width=\"%d\"%s/>\n",
                WIDTH - RIGHT + 14, y - 4, color, width, dash);
    put_text(out, WIDTH - RIGHT + 44, y, "", s->name);
}

void svg_render(const struct svg_plot *p, struct text *out)
{
    const struct scale sc = scale_of(p);
    text_printf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
                WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_axes(p, &sc, out);
    for (unsigned i = 0; i < p->n; i++)
        put_series(&p->series[i], i, &sc, out);
    text_printf(out, "</svg>\n");
}
