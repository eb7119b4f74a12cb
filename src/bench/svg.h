// SPDX-License-Identifier: BSD-3-Clause
// svg.h: a line plot with a logarithmic x axis as a self-contained SVG file.
#pragma once
#include "base/text.h"

enum { SVG_SERIES_MAX = 16, SVG_POINTS_MAX = 16 };

// svg_series: n points, x rising and above 0, y from 0. heavy: drawn thicker.
struct svg_series {
    const char *name;
    bool heavy;
    unsigned n;
    double x[SVG_POINTS_MAX], y[SVG_POINTS_MAX];
};

struct svg_plot {
    const char *title, *x_label, *y_label;
    unsigned n;
    struct svg_series series[SVG_SERIES_MAX];
};

// svg_render: appends the file. Ticks of x are at powers of ten, ticks of y at multiples of 1, 2 or
// 5 times a power of ten. Names may contain any characters. A plot without points has axes only.
void svg_render(const struct svg_plot *p, struct text *out);
