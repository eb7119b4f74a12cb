// history.js: what /history says, as points of the plots. Knows no page.

// The figures of the server by their names on the page; those of cycles and shares are as they are.
const NAMES = {
    rx_pps: "rxPps", tx_pps: "txPps", rx_bps: "rxBps", tx_bps: "txBps", connections: "conns", opened_ps: "cps",
    stack_cycles: "cpp", app_cycles: "app", busy_percent: "busy", drops_ps: "drops", p50_s: "p50", p99_9_s: "p999",
};

// By core, [{x, figures}], oldest first; `at` is the present on the page's clock, in seconds. Coarse points are taken as far
// as there are no fine ones.
export function historyPoints(history, at) {
    const points = new Map(), names = history.figures.map((name) => NAMES[name]);
    const finest = history.fine.age_ms.length > 0 ? history.fine.age_ms[0] : -1;
    history.cores.forEach((core, c) => {
        const of = (series, keeps) => series.age_ms.flatMap((age, i) => keeps(age) ? [{
            x: at - age / 1000, figures: Object.fromEntries(names.map((name, f) => [name, series.cores[c][i][f] ?? NaN])),
        }] : []);
        points.set(core, [...of(history.coarse, (age) => age > finest), ...of(history.fine, () => true)]);
    });
    return points;
}

// What was wrong, the latest first: [{sentence, severity, began (unix seconds), seconds, on}]. An end belongs to the begin of
// the same kind and subject, whatever their sentences say. An end whose begin is no longer kept is left out.
export function pastVerdicts(history) {
    const open = new Map(), past = [];
    for (const { age_ms: age, unix_s: began, on, kind, subject, severity, sentence } of history.verdicts) {
        const key = `${kind} ${subject}`;  // a kind has no blank
        if (on) {
            const entry = { sentence, severity, began, age, seconds: age / 1000, on: true };
            open.set(key, entry);
            past.unshift(entry);
        } else if (open.has(key)) {
            Object.assign(open.get(key), { seconds: (open.get(key).age - age) / 1000, on: false, sentence });
            open.delete(key);
        }
    }
    return past;
}
