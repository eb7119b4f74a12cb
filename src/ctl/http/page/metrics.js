// metrics.js: a reading of /metrics, sorted by core. Knows no page.

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

// A core of a reading: values by their names without c10m_core_ and _total; drops and stages (of
// cycles) by name; buckets of the rx-to-tx times as [upper end in seconds, count up to it].
function newCore() {
    return { values: {}, drops: {}, stages: {}, buckets: [] };
}

function takeCore(core, name, labels, value) {
    if (name === "drops_total")
        core.drops[labels.reason] = value;
    else if (name === "stage_cycles_total")
        core.stages[labels.stage] = value;
    else if (name === "rx_to_tx_seconds_bucket")
        core.buckets.push([labels.le === "+Inf" ? Infinity : Number(labels.le), value]);
    else if (labels.le === undefined && labels.cause === undefined)
        core.values[name.replace(/_total$/, "")] = value;
}

// The reading made at `at` (seconds of the page's clock): cores in the server's order.
export function parseMetrics(text, at) {
    const reading = { at, version: "", started: 0, connectionsMax: 0, bytes: 0, cores: new Map() };
    for (const line of text.split("\n")) {
        const match = line[0] === "#" ? null : LINE.exec(line);
        if (match === null)
            continue;
        const labels = {}, value = Number(match[3]);
        for (const [, name, raw] of (match[2] ?? "").matchAll(LABEL))
            labels[name] = raw.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
        if (match[1].startsWith("c10m_core_") && labels.core !== undefined) {
            if (!reading.cores.has(labels.core))
                reading.cores.set(labels.core, newCore());
            takeCore(reading.cores.get(labels.core), match[1].slice(10), labels, value);
        } else if (match[1] === "c10m_build_info")
            reading.version = labels.version;
        else if (match[1] === "process_start_time_seconds")
            reading.started = value;
        else if (match[1] === "c10m_connections_max")
            reading.connectionsMax = value;
        else if (match[1] === "c10m_memory_bytes")
            reading.bytes += value;
    }
    return reading;
}
