// page.js: reads /metrics once a second and shows it. The token, where the server wants one, is in
// a variable of this file and nowhere else.
import { FIGURES, compare, show } from "/page/figures.js";
import { parseMetrics } from "/page/metrics.js";
import { addGap, addPoints, colorOf, coreOf, makePlots, recolor, toggleCore } from "/page/plots.js";

const INTERVAL_MS = 1000, LIMIT_MS = 5000;
const at = (id) => document.getElementById(id);
let token = "", before = null, paused = false, timer = 0;

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
    at("drops").tBodies[0].replaceChildren(...compared.drops.slice(0, 20).map((d) => {
        const row = document.createElement("tr");
        row.append(cell(d.reason), cell(show(d.rate, "count"), d.rate > 0 ? "alarm" : ""), cell(show(d.total, "count")));
        return row;
    }));
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
    }
    before = reading;
    showAbout(reading);
    at("trouble").textContent = "";
}

// The server is not there, or will not say: what is shown stays, and the lines break.
function fail(why) {
    at("trouble").textContent = why;
    addGap(performance.now() / 1000);
    before = null;
}

async function read() {
    const headers = token === "" ? {} : { Authorization: `Bearer ${token}` };
    const answer = await fetch("/metrics", { headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(LIMIT_MS) });
    if (answer.status === 401) {
        at("ask").hidden = false;
        paused = true;
        return fail(token === "" ? "" : "the server does not take this token");
    }
    if (!answer.ok)
        return fail(`/metrics: ${answer.status} ${(await answer.text()).trim()}`);
    at("ask").hidden = true;
    take(await answer.text());
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
