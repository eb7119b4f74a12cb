// page.js: reads /metrics once a second and shows it. The token, where the server wants one, is in
// a variable of this file and nowhere else.
import { FIGURES, compare, compareItems, show } from "/page/figures.js";
import { historyPoints, pastVerdicts } from "/page/history.js";
import { parseMetrics } from "/page/metrics.js";
import { addGap, addPoints, colorOf, coreOf, makePlots, recolor, setHistory, toggleCore, toggleSpan } from "/page/plots.js";

const INTERVAL_MS = 1000, LIMIT_MS = 5000, RATES_SHOWN = 5, DROPS_SHOWN = 20, PAST_SHOWN = 50;
const SAME_START_S = 2, HISTORY_MS = 60000;
const at = (id) => document.getElementById(id);
let token = "", before = null, paused = false, timer = 0;
let historyAt = 0;  // when to read it again
let started = 0;  // of the server whose history is shown
let reasons = new Map();  // of drops: what each means

function cell(text, className = "") {
    const td = document.createElement("td");
    td.textContent = text;
    td.className = className;
    return td;
}

function makeHead() {
    const row = document.createElement("tr");
    for (const text of ["core", "state", ...Object.values(FIGURES).map((f) => f.head)]) {
        const th = document.createElement("th");
        th.textContent = text;
        row.append(th);
    }
    at("cores").tHead.append(row);
}

function figureCells(figures) {
    return Object.entries(FIGURES).map(([name, { kind }]) =>
        cell(show(figures[name], kind), name === "drops" && figures.drops > 0 ? "alarm" : ""));
}

function rowOf(core) {
    const row = document.createElement("tr"), name = cell(core.name), mark = document.createElement("span");
    mark.className = "mark";
    mark.style.background = colorOf(coreOf(core.name).index);
    name.prepend(mark);
    row.dataset.core = core.name;
    row.className = coreOf(core.name).hidden ? "hidden" : "";
    row.append(name, cell(core.state, core.state.startsWith("stalled") ? "word alarm" : "word"), ...figureCells(core.figures));
    return row;
}

function showTables(compared) {
    const total = document.createElement("tr");
    total.append(cell("all"), cell(""), ...figureCells(compared.total));
    at("cores").tBodies[0].replaceChildren(...compared.cores.map(rowOf));
    at("cores").tFoot.replaceChildren(total);
    at("drops").tBodies[0].replaceChildren(...compared.drops.slice(0, DROPS_SHOWN).map((d) => rowWith(
        cell(d.reason), cell(show(d.rate, "count"), d.rate > 0 ? "alarm" : ""), cell(show(d.total, "count")),
        cell(reasons.get(d.reason) ?? "", "help"))));
}

function rowWith(...cells) {
    const row = document.createElement("tr");
    row.append(...cells);
    return row;
}

// The counters that move most, by name.
function ratesText(rates) {
    const moving = Object.entries(rates).filter(([, rate]) => rate > 0).sort((a, b) => b[1] - a[1]).slice(0, RATES_SHOWN);
    return moving.map(([name, rate]) => `${name} ${show(rate, "count")}`).join(", ");
}

function showItems({ ports, services }) {
    at("services").tBodies[0].replaceChildren(...services.map((s) => rowWith(
        cell(s.name), cell(s.state, s.state === "open" ? "word" : "word alarm"), cell(show(s.open, "count"), s.open >= s.max ? "alarm" : ""),
        cell(show(s.max, "count")), cell(ratesText(s.rates), "word"))));
    const losses = ["rx_missed", "rx_nombuf", "rx_errors", "tx_errors"];
    at("ports").tBodies[0].replaceChildren(...ports.map((p) => rowWith(
        cell(p.name), cell(p.driver, "word"), cell(p.link, p.link === "down" ? "word alarm" : "word"),
        ...["rx_packets", "tx_packets"].map((name) => cell(show(p.rates[name], "count"))),
        ...["rx_bytes", "tx_bytes"].map((name) => cell(show(8 * p.rates[name], "count"))),
        ...losses.map((name) => cell(show(p.totals[name] ?? NaN, "count"), p.rates[name] > 0 ? "alarm" : "")))));
}

// The lines of the file verdict: SEVERITY SINCE SENTENCE, or a word.
function showVerdict(text) {
    at("verdict").replaceChildren(...text.trim().split("\n").map((line) => {
        const item = document.createElement("li"), match = /^(alarm|warning|note) (\S+) (.*)$/.exec(line);
        item.className = match === null ? "ok" : match[1];
        item.textContent = match === null ? line : match[3];
        item.title = match === null ? "" : `${match[1]} since ${match[2]}`;
        return item;
    }));
}

// The hour that the server kept, at opening and when another server answers. Of 64 workers it takes the server a part of a
// second: what is wrong now is shown before. A failure leaves what is shown, and is tried again a minute later.
async function showHistory(reading) {
    started = reading.started;
    historyAt = performance.now() + HISTORY_MS;
    const answer = await ask("/history").catch(() => null), history = answer?.ok ? await answer.json().catch(() => null) : null;
    if (history === null)
        return;
    setHistory(performance.now() / 1000, historyPoints(history, performance.now() / 1000));
    at("past").tBodies[0].replaceChildren(...pastVerdicts(history).slice(0, PAST_SHOWN).map((v) => rowWith(
        cell(new Date(1000 * v.began).toLocaleTimeString()), cell(v.on ? "goes on" : `${Math.round(v.seconds)} s`),
        cell(v.sentence, v.severity === "note" ? "word" : `word ${v.severity}`))));
}

// NAME SIDE CAUSE HELP a line.
function takeReasons(text) {
    reasons = new Map(text.split("\n").map((line) => line.split(" ")).map(([name, , , ...help]) => [name, help.join(" ")]));
}

function showAbout(reading) {
    const up = Math.max(0, Math.floor(Date.now() / 1000 - reading.started));
    const clock = [up / 3600 % 24, up / 60 % 60, up % 60].map((n) => String(Math.floor(n)).padStart(2, "0")).join(":");
    const days = up >= 86400 ? `${Math.floor(up / 86400)} d ` : "";
    const memory = reading.bytes > 0 ? `, ${(reading.bytes / 2 ** 20).toFixed(1)} MiB reserved` : "";
    at("about").textContent = `${reading.version}, up ${days}${clock}, ${reading.cores.size} core${reading.cores.size === 1 ? "" : "s"}, ` +
        `room for ${show(reading.connectionsMax, "count")} connections${memory}`;
}

function take(text) {
    const reading = parseMetrics(text, performance.now() / 1000);
    if (before !== null) {
        const compared = compare(reading, before);
        addPoints(reading.at, compared);
        showTables(compared);
        showItems(compareItems(reading, before));
    }
    before = reading;
    showAbout(reading);
    at("trouble").textContent = "";
    return reading;
}

// The server is not there, or will not say: what is shown stays, and the lines break.
function fail(why) {
    at("trouble").textContent = why;
    at("verdict").replaceChildren();
    addGap(performance.now() / 1000);
    before = null;
}

function ask(path) {
    const headers = token === "" ? {} : { Authorization: `Bearer ${token}` };
    return fetch(path, { headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(LIMIT_MS) });
}

async function read() {
    const answer = await ask("/metrics");
    if (answer.status === 401) {
        at("ask").hidden = false;
        paused = true;
        return fail(token === "" ? "" : "the server does not take this token");
    }
    if (!answer.ok)
        return fail(`/metrics: ${answer.status} ${(await answer.text()).trim()}`);
    at("ask").hidden = true;
    const verdict = await ask("/proc/verdict");
    if (reasons.size === 0) {
        const told = await ask("/proc/net/drop_reasons");
        takeReasons(told.ok ? await told.text() : "");
    }
    const reading = take(await answer.text());
    showVerdict(verdict.ok ? await verdict.text() : "");
    if (Math.abs(reading.started - started) > SAME_START_S || performance.now() > historyAt)
        await showHistory(reading);
}

async function tick() {
    const began = performance.now();
    clearTimeout(timer);
    try {
        await read();
    } catch (error) {
        fail(`the server does not answer (${error.message}); trying again`);
    }
    if (!paused)
        timer = setTimeout(tick, Math.max(0, INTERVAL_MS - (performance.now() - began)));
}

function goOn() {
    paused = false;
    before = null;
    at("pause").textContent = "pause";
    tick();
}

at("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    token = at("token").value.trim();
    at("token").value = "";
    goOn();
});
at("pause").addEventListener("click", () => {
    if (paused)
        return goOn();
    paused = true;
    clearTimeout(timer);
    addGap(performance.now() / 1000);
    at("pause").textContent = "go on";
});
at("span").addEventListener("click", () => {
    at("span").textContent = toggleSpan() > 300 ? "five minutes" : "an hour";
});
at("theme").addEventListener("click", () => {
    document.documentElement.classList.toggle("dark");
    recolor();
});
at("cores").addEventListener("click", (event) => {
    const row = event.target.closest("tbody tr");
    if (row === null)
        return;
    toggleCore(row.dataset.core);
    row.classList.toggle("hidden");
});

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => {
    document.documentElement.classList.toggle("dark", dark.matches);
    recolor();
};
makeHead();
makePlots(at("plots"));
dark.addEventListener("change", follow);
follow();
tick();
