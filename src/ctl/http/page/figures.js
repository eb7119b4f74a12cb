// figures.js: what two readings say about the time between them. Knows no page.

// The figures: head of the column, how it is shown, and what it is.
export const FIGURES = {
    rxPps: { head: "packets/s in", kind: "count" },
    txPps: { head: "out", kind: "count" },
    rxBps: { head: "bits/s in", kind: "count" },
    txBps: { head: "out", kind: "count" },
    conns: { head: "connections", kind: "count" },
    cps: { head: "new/s", kind: "count" },
    cpp: { head: "cycles/packet", kind: "count" },
    app: { head: "app", kind: "count" },
    busy: { head: "busy %", kind: "share" },
    drops: { head: "drops/s", kind: "count" },
    p50: { head: "latency p50", kind: "time" },
    p999: { head: "p99.9", kind: "time" },
};

const sum = (object) => Object.values(object).reduce((a, b) => a + b, 0);

// What fell was reset, and counts from zero: then there is no earlier reading.
function fell(now, before) {
    return ["rx_packets", "tx_packets", "rx_bytes", "turns"].some(
        (name) => now.values[name] < before.values[name]) || sum(now.stages) < sum(before.stages);
}

// The time that the share `quantile` of the packets did not exceed, in seconds: within its bucket
// as if the packets lay evenly. `grown` is [upper end, packets up to it].
export function quantileOf(grown, quantile) {
    const packets = grown.length === 0 ? 0 : grown[grown.length - 1][1];
    let low = 0, below = 0;
    for (const [end, count] of grown) {
        if (packets > 0 && count >= quantile * packets)
            return end === Infinity ? low : low + (end - low) * (quantile * packets - below) / (count - below);
        low = end;
        below = count;
    }
    return NaN;
}

const ratio = (a, b) => (b > 0 ? a / b : NaN);

// amounts: what a core did between the readings; they add up over cores.
function amountsOf(now, before) {
    const grown = (name) => (now.values[name] ?? 0) - (before?.values[name] ?? 0);
    const cycles = (stage) => (now.stages[stage] ?? 0) - (before?.stages[stage] ?? 0);
    const total = sum(now.stages) - (before ? sum(before.stages) : 0);
    return {
        rx: grown("rx_packets"), tx: grown("tx_packets"),
        rxBytes: grown("rx_bytes"), txBytes: grown("tx_bytes"),
        opened: grown("conns_opened_passive") + grown("conns_opened_active"),
        dropped: sum(now.drops) - (before ? sum(before.drops) : 0),
        conns: now.values.connections ?? NaN,
        total, idle: cycles("idle"), app: cycles("app"),
    };
}

function figuresOf(a, buckets, seconds) {
    return {
        rxPps: ratio(a.rx, seconds), txPps: ratio(a.tx, seconds),
        rxBps: ratio(8 * a.rxBytes, seconds), txBps: ratio(8 * a.txBytes, seconds),
        conns: a.conns, cps: ratio(a.opened, seconds),
        cpp: ratio(a.total - a.idle - a.app, a.rx), app: ratio(a.app, a.rx),
        busy: 100 * ratio(a.total - a.idle, a.total), drops: ratio(a.dropped, seconds),
        p50: quantileOf(buckets, 0.5), p999: quantileOf(buckets, 0.999),
    };
}

function grownBuckets(now, before) {
    return now.buckets.map(([end, count], i) => [end, count - (before?.buckets[i]?.[1] ?? 0)]);
}

function stateOf(core) {
    if (core.values.stalled_seconds > 0)
        return `stalled ${core.values.stalled_seconds.toFixed(1)} s`;
    return core.values.useful_ratio > 0 ? "running" : "idle";
}

function addBuckets(into, buckets) {
    buckets.forEach(([end, count], i) => {
        into[i] = [end, (into[i]?.[1] ?? 0) + count];
    });
}

function addDrops(into, now, before, seconds) {
    for (const [reason, count] of Object.entries(now.drops)) {
        const d = (into[reason] ??= { reason, rate: 0, total: 0 });
        d.rate += ratio(count - (before?.drops[reason] ?? 0), seconds);
        d.total += count;
    }
}

const grownOf = (is, was) => (is >= was ? is - was : is);  // what fell counts from zero

// Rates of a map of values; unknown before: none.
function ratesOf(now, before, seconds) {
    return Object.fromEntries(Object.entries(now).map(([name, is]) =>
        [name, before?.[name] === undefined ? NaN : ratio(grownOf(is, before[name]), seconds)]));
}

// [{name, driver, link, rates, totals}], [{name, state, open, max, rates}]
export function compareItems(now, before) {
    const seconds = now.at - before.at;
    const ports = [...now.ports].map(([name, port]) => ({
        name, driver: port.driver ?? "-", link: port.values.link_up === undefined ? "unknown" : port.values.link_up === 1 ? "up" : "down",
        rates: ratesOf(port.values, before.ports.get(name)?.values, seconds), totals: port.values,
    }));
    const services = [...now.services].map(([name, service]) => ({
        name, state: service.state ?? "-", open: service.values.connections ?? NaN, max: service.values.connections_max ?? NaN,
        rates: ratesOf(service.events, before.services.get(name)?.events, seconds),
    }));
    return { ports, services };
}

// {cores: [{name, state, figures}], total: figures, drops: [{reason, rate, total}]}
export function compare(now, before) {
    const seconds = now.at - before.at;
    const all = {}, allBuckets = [], drops = {}, cores = [];
    for (const [name, core] of now.cores) {
        let earlier = before.cores.get(name);
        if (earlier !== undefined && fell(core, earlier))
            earlier = undefined;
        const amounts = amountsOf(core, earlier), buckets = grownBuckets(core, earlier);
        for (const key of Object.keys(amounts))
            all[key] = (all[key] ?? 0) + amounts[key];
        addBuckets(allBuckets, buckets);
        addDrops(drops, core, earlier, seconds);
        cores.push({ name, state: stateOf(core), figures: figuresOf(amounts, buckets, seconds) });
    }
    const reasons = Object.values(drops).filter((d) => d.total > 0);
    reasons.sort((a, b) => b.rate - a.rate || b.total - a.total);
    return { cores, total: figuresOf(all, allBuckets, seconds), drops: reasons };
}

// Three digits and a unit, as c10m top shows them.
function withUnit(value, units) {
    let unit = 0;
    while (value >= 999.5 && unit < units.length - 1) {
        value /= 1000;
        unit++;
    }
    return value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0) + units[unit];
}

export function show(value, kind) {
    if (!Number.isFinite(value))
        return "-";
    if (value === 0)
        return "0";
    if (kind === "time")
        return withUnit(value * 1e9, [" ns", " us", " ms", " s"]);
    if (kind === "share")
        return value.toFixed(value < 9.95 ? 1 : 0);
    if (value < 9.95 && Math.abs(value - Math.round(value)) >= 0.05)
        return value.toFixed(1);
    return value < 9999.5 ? String(Math.round(value)) : withUnit(value / 1000, ["k", "M", "G", "T", "P"]);
}
