// plots.js: the plots of the last five minutes or the last hour, one line or two a core, by Chart.js.
import { show } from "/page/figures.js";

// Each second for FINE_S, then a point each COARSE_S, up to HOUR_S: as the server keeps them.
const FINE_S = 300, COARSE_S = 5, HOUR_S = 3600;
const CORES_SHOWN_FIRST = 8;

const PLOTS = [
    { title: "packets/s: in, out (dashed)", lines: ["rxPps", "txPps"], kind: "count" },
    { title: "bits/s: in, out (dashed)", lines: ["rxBps", "txBps"], kind: "count" },
    { title: "connections open", lines: ["conns"], kind: "count" },
    { title: "connections opened/s", lines: ["cps"], kind: "count" },
    { title: "cycles/packet: stack, application (dashed)", lines: ["cpp", "app"], kind: "count" },
    { title: "busy, % of cycles", lines: ["busy"], kind: "share", max: 100 },
    { title: "drops/s", lines: ["drops"], kind: "count" },
    { title: "latency rx to tx: p50, p99.9 (dashed)", lines: ["p50", "p999"], kind: "time" },
];

const HUES = [210, 25, 130, 345, 270, 50, 180, 310];

export function colorOf(core) {
    return `hsl(${HUES[core % HUES.length]} 70% ${45 + 12 * (Math.floor(core / HUES.length) % 3)}%)`;
}

const charts = [];
const cores = new Map();  // name: {index, hidden}
let latest = 0, shown = FINE_S;

// Marks each fifth or sixth part, from now backwards.
function minutes(axis) {
    const parts = shown === HOUR_S ? 6 : 5;
    axis.ticks = Array.from({ length: parts + 1 }, (_, i) => ({ value: latest - shown * (parts - i) / parts }));
}

function optionsOf(plot) {
    return {
        animation: false,
        parsing: false,
        normalized: true,
        maintainAspectRatio: false,
        interaction: { mode: "nearest", axis: "x", intersect: false },
        elements: { point: { radius: 0 }, line: { borderWidth: 1.5 } },
        scales: {
            x: {
                type: "linear", afterBuildTicks: minutes,
                ticks: { callback: (at) => (at > latest - 30 ? "now" : `-${Math.round((latest - at) / 60)} min`) },
            },
            y: { beginAtZero: true, suggestedMax: plot.max, ticks: { callback: (v) => show(v, plot.kind) } },
        },
        plugins: {
            legend: { display: false },
            tooltip: {
                callbacks: {
                    title: (items) => (items.length ? `${Math.round(latest - items[0].parsed.x)} s ago` : ""),
                    label: (item) => `${item.dataset.label}: ${show(item.parsed.y, plot.kind)}`,
                },
            },
        },
    };
}

export function makePlots(place) {
    for (const plot of PLOTS) {
        const figure = document.createElement("section"), head = document.createElement("h2");
        const box = document.createElement("div"), canvas = document.createElement("canvas");
        figure.className = "plot";
        head.textContent = plot.title;
        box.append(canvas);
        figure.append(head, box);
        place.append(figure);
        charts.push({ plot, chart: new Chart(canvas, { type: "line", data: { datasets: [] }, options: optionsOf(plot) }) });
    }
}

function addCore(name) {
    const core = { index: cores.size, hidden: cores.size >= CORES_SHOWN_FIRST };
    cores.set(name, core);
    for (const { plot, chart } of charts)
        plot.lines.forEach((figure, i) => chart.data.datasets.push({
            label: `core ${name} ${figure}`, core: name, figure, data: [], hidden: core.hidden,
            borderColor: colorOf(core.index), backgroundColor: colorOf(core.index), borderDash: i === 0 ? [] : [4, 3],
        }));
    return core;
}

export function coreOf(name) {
    return cores.get(name) ?? addCore(name);
}

// Points that are no longer of the last FINE_S seconds: one each COARSE_S stays, for an hour.
function thin(data) {
    let slot = NaN;
    return data.filter(({ x }) => {
        const before = slot;
        slot = Math.floor(x / COARSE_S);
        return x >= latest - FINE_S || (x >= latest - HOUR_S && slot !== before);
    });
}

function redraw() {
    for (const { chart } of charts) {
        chart.options.scales.x.min = latest - shown;
        chart.options.scales.x.max = latest;
        chart.update("none");
    }
}

// One point more for every line, at the time `at`.
export function addPoints(at, compared) {
    const figures = new Map(compared.cores.map((core) => [core.name, core.figures]));
    compared.cores.forEach((core) => coreOf(core.name));
    const tidy = Math.floor(at / 60) !== Math.floor(latest / 60);
    latest = at;
    for (const { chart } of charts)
        for (const line of chart.data.datasets) {
            const y = figures.get(line.core)?.[line.figure] ?? NaN;
            line.data.push({ x: at, y: Number.isFinite(y) ? y : NaN });
            if (tidy)
                line.data = thin(line.data);
        }
    redraw();
}

// What the server kept, in place of the points of this page: `points` of historyPoints(), oldest first.
export function setHistory(at, points) {
    latest = Math.max(latest, at);
    points.forEach((_, name) => coreOf(name));
    for (const { chart } of charts)
        for (const line of chart.data.datasets) {
            const old = points.get(line.core) ?? [], first = old.length > 0 ? old[0].x : Infinity;
            const before = line.data.filter(({ x }) => x < first - COARSE_S);  // of a server that is gone
            line.data = thin([...before, ...old.map(({ x, figures }) => ({ x, y: figures[line.figure] ?? NaN }))]);
        }
    redraw();
}

// Five minutes, or an hour; returns which.
export function toggleSpan() {
    shown = shown === FINE_S ? HOUR_S : FINE_S;
    redraw();
    return shown;
}

// A place where nothing was read: the lines are broken there.
export function addGap(at) {
    for (const { chart } of charts)
        for (const line of chart.data.datasets)
            if (line.data.length > 0 && !Number.isNaN(line.data[line.data.length - 1].y))
                line.data.push({ x: at, y: NaN });
}

export function toggleCore(name) {
    const core = coreOf(name);
    core.hidden = !core.hidden;
    for (const { chart } of charts) {
        for (const line of chart.data.datasets)
            if (line.core === name)
                line.hidden = core.hidden;
        chart.update("none");
    }
}

// The plots in the page's present colors.
export function recolor() {
    const style = getComputedStyle(document.documentElement);
    const text = style.getPropertyValue("--dim").trim(), lines = style.getPropertyValue("--line").trim();
    for (const { chart } of charts) {
        for (const axis of Object.values(chart.options.scales)) {
            axis.ticks.color = text;
            axis.grid = { color: lines };
        }
        chart.update("none");
    }
}

// How many points with a value each plot has, by its lines: for tests.
export function pointCounts() {
    return charts.map(({ plot, chart }) => ({
        lines: plot.lines.join(),
        points: chart.data.datasets.reduce((n, line) => n + line.data.filter((p) => Number.isFinite(p.y)).length, 0),
        last: chart.data.datasets.map((line) => line.data.at(-1)?.y ?? null),
    }));
}
