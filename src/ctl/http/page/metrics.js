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

// A port or service of a reading, made at its first sample.
function itemOf(map, name) {
    if (!map.has(name))
        map.set(name, { values: {}, events: {} });
    return map.get(name);
}

// c10m_port_* and c10m_service_*: true where the sample was one of them.
function takeItem(reading, name, labels, value) {
    if (labels.port !== undefined) {
        const port = itemOf(reading.ports, labels.port);
        if (name === "c10m_port_info")
            port.driver = labels.driver;
        port.values[name.slice(10).replace(/_total$/, "")] = value;
    } else if (labels.service !== undefined) {
        const service = itemOf(reading.services, labels.service);
        if (name === "c10m_service_state")
            service.state = value === 1 ? labels.state : service.state;
        else if (name === "c10m_service_events_total")
            service.events[labels.counter] = value;
        else if (name !== "c10m_service_value")
            service.values[name.slice(13)] = value;
    }
}

// The reading made at `at` (seconds of the page's clock): cores in the server's order.
export function parseMetrics(text, at) {
    const reading = { at, version: "", started: 0, connectionsMax: 0, bytes: 0, cores: new Map(), ports: new Map(), services: new Map() };
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
        } else if (labels.port !== undefined || labels.service !== undefined)
            takeItem(reading, match[1], labels, value);
        else if (match[1] === "c10m_build_info")
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
