"""page.py PART URL DIR [TOKEN]: the page of the control port in headless Chromium, driven through its DevTools pipe.
PART is a function below; DIR is for Chromium's files."""
import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time

from gentle import Load

PART, URL, DIR = sys.argv[1:4]
LIMIT_S = 60
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--window-size=1200,900"]


class Browser:
    """One page. Events that matter are kept: requests, and what was complained of."""

    def __init__(self):
        theirs, self.to = os.pipe()
        self.back, theirs_out = os.pipe()

        def wire():  # Chromium's ends are 3 and 4; copies first, for one of ours may have such a number
            a, b = fcntl.fcntl(theirs, fcntl.F_DUPFD, 10), fcntl.fcntl(theirs_out, fcntl.F_DUPFD, 10)
            os.dup2(a, 3)
            os.dup2(b, 4)
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it goes with us

        self.process = subprocess.Popen(["chromium", *FLAGS, "--user-data-dir=" + DIR, "about:blank"], preexec_fn=wire, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=open(DIR + ".log", "w"), start_new_session=True)
        os.close(theirs)
        os.close(theirs_out)
        self.buffer, self.number, self.session = b"", 0, None
        self.requests, self.complaints = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Network", "Page"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def message(self, seconds):
        end = time.time() + seconds
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, end - time.time()))[0]:
                return None
            piece = os.read(self.back, 1 << 16)
            if not piece:
                sys.exit("chromium is gone: " + open(DIR + ".log").read()[-2000:])
            self.buffer += piece
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def note(self, event):
        method, p = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: %s" % p["args"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append("exception: %s" % p["exceptionDetails"])
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.complaints.append("log: %s %s" % (p["entry"]["text"], p["entry"].get("url")))

    def call(self, method, **params):
        self.number += 1
        said = {"id": self.number, "method": method, "params": params}
        if self.session:
            said["sessionId"] = self.session
        os.write(self.to, json.dumps(said).encode() + b"\0")
        end = time.time() + LIMIT_S
        while time.time() < end:
            got = self.message(end - time.time())
            if got is not None and got.get("id") == self.number:
                if "error" in got:
                    sys.exit("%s: %s" % (method, got["error"]))
                return got["result"]
            if got is not None:
                self.note(got)
        sys.exit("%s: no answer" % method)

    def value(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in got:
            sys.exit("%s: %s" % (expression, got["exceptionDetails"]))
        return got["result"].get("value")

    def until(self, what, expression, holds=bool):
        end = time.time() + LIMIT_S
        while not holds(said := self.value(expression)):
            if time.time() > end:
                sys.exit("%s: not within %d s: %r; complaints: %s; page: %s" % (
                    what, LIMIT_S, said, self.complaints, self.value("document.body.innerText")))
            time.sleep(0.3)
        return said

    def open(self):
        self.call("Page.navigate", url=URL)
        self.until("a page", "document.readyState === 'complete' && location.href !== 'about:blank'")


POINTS = "import('/page/plots.js').then((plots) => plots.pointCounts())"
ROW = "[...document.querySelectorAll('#cores tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"


# What figures.js and metrics.js make of readings that are not met on the way: [what, expression, value].
PURE = r'''(async () => {
    const f = await import("/page/figures.js"), m = await import("/page/metrics.js");
    const text = (rx, cycles, drops) => `# HELP x y\nc10m_build_info{version="9 \\"x\\""} 1\nprocess_start_time_seconds 5.5\n` +
        `c10m_core_rx_packets_total{core="2"} ${rx}\nc10m_core_connections{core="2"} 3\n` +
        `c10m_core_stage_cycles_total{core="2",stage="rx"} ${cycles}\nc10m_core_stage_cycles_total{core="2",stage="idle"} 100\n` +
        `c10m_core_drops_total{core="2",reason="tcp_window",side="rx"} ${drops}\nc10m_memory_bytes{arena="a"} 4\n` +
        `c10m_memory_bytes{arena="b"} 5\nc10m_core_rx_to_tx_seconds_bucket{core="2",le="0.5"} ${rx}\n` +
        `c10m_core_rx_to_tx_seconds_bucket{core="2",le="+Inf"} ${rx}\nc10m_core_stalled_seconds{core="2"} 0\n`;
    const a = m.parseMetrics(text(100, 1000, 1), 10), b = m.parseMetrics(text(300, 1600, 5), 12), c = m.parseMetrics(text(50, 10, 0), 13);
    const ab = f.compare(b, a), bc = f.compare(c, b);
    return [
        ["labels", a.version, '9 "x"'], ["start", a.started, 5.5], ["memory", a.bytes, 9], ["cores", a.cores.size, 1],
        ["rate", ab.cores[0].figures.rxPps, 100], ["sum", ab.total.rxPps, 100], ["cycles", ab.cores[0].figures.cpp, 3],
        ["drops", ab.drops[0].rate, 2], ["busy", ab.cores[0].figures.busy, 100], ["connections", ab.total.conns, 3],
        ["in a bucket", ab.cores[0].figures.p50, 0.25], ["after a reset", bc.cores[0].figures.rxPps, 50],
        ["a core that is new", f.compare(b, {at: 11, cores: new Map()}).total.rxPps, 300],
        ["no packets", String(f.quantileOf([[1, 0], [Infinity, 0]], 0.5)), "NaN"],
        ["above all buckets", f.quantileOf([[1, 0], [2, 1], [Infinity, 9]], 0.9), 2],
        ["999", f.show(999.4, "count"), "999"], ["12.3k", f.show(12345, "count"), "12.3k"], ["1.00M", f.show(999960, "count"), "1.00M"],
        ["time", f.show(0.0000055, "time"), "5.50 us"], ["none", f.show(NaN, "time"), "-"],
    ].filter(([, is, should]) => is !== should && !(Math.abs(is - should) < 1e-9));
})()'''


# What history.js makes of a history, and what is wrong with the server's own.
HISTORY = r'''(async () => {
    const h = await import("/page/history.js"), wrong = [];
    const series = (ages, value) => ({ age_ms: ages, cores: [ages.map((_, i) => [value + i, null])] });
    const points = h.historyPoints({ figures: ["rx_pps", "p50_s"], cores: ["2.1"], coarse: series([9000, 4000], 10), fine: series([5000, 0], 20) }, 100).get("2.1");
    if (JSON.stringify(points.map((p) => [p.x, p.figures.rxPps])) !== "[[91,10],[95,20],[100,21]]" || !Number.isNaN(points[0].figures.p50))
        wrong.push(JSON.stringify(points));
    const change = (age_ms, on, kind, subject, sentence) => ({ age_ms, unix_s: 7, on, kind, subject, severity: "alarm", sentence });
    const past = h.pastVerdicts({ verdicts: [
        change(9500, false, "link_down", "p2", "link p2 down"), change(9000, true, "link_down", "p0", "link p0 down"),
        change(8000, true, "link_down", "p1", "link p1 down"), change(7000, true, "core_busy", "p0", "core 1 busy 95 %"),
        change(4000, false, "link_down", "p0", "link p0 down (no carrier)"), change(3000, false, "core_busy", "p0", "core 1 busy 91 %")] });
    if (JSON.stringify(past.map((p) => [p.sentence, p.seconds, p.on])) !==
        '[["core 1 busy 91 %",4,false],["link p1 down",8,true],["link p0 down (no carrier)",5,false]]')
        wrong.push(JSON.stringify(past));
    const answer = await fetch("/history"), real = await answer.json();
    if (answer.headers.get("Content-Type") !== "application/json" || real.cores.length !== 1 || real.figures.length !== 12)
        wrong.push("its form");
    if (real.fine.age_ms.length > 300 || real.coarse.age_ms.length > 720 || real.verdicts.length > 512 || real.fine.age_ms.length < 5)
        wrong.push("its bounds");
    if (real.verdicts.some((v) => typeof v.kind !== "string" || v.kind === "" || typeof v.subject !== "string"))
        wrong.push("its verdicts");
    return wrong;
})()'''


def plain():
    """Plots and table of a loaded server."""
    with Browser() as page, Load():
        page.open()
        if wrong := page.value(PURE):
            sys.exit("not as expected: %s" % wrong)
        page.until("eight plots with points", POINTS, lambda plots: len(plots) == 8 and all(p["points"] >= 2 for p in plots))
        first = page.value(POINTS)
        page.until("more points", POINTS, lambda plots: all(p["points"] >= f["points"] + 2 for p, f in zip(plots, first)))
        page.until("packets in the plot", POINTS, lambda plots: plots[0]["lines"] == "rxPps,txPps" and all((y or 0) > 20 for y in plots[0]["last"]))
        page.until("connections opened", POINTS, lambda plots: plots[3]["last"][0] > 2)
        page.until("the table's row", ROW, lambda rows: len(rows) == 1 and rows[0][:2] == ["1", "running"] and "-" not in rows[0][2:])
        drawn = "[...document.querySelectorAll('#plots canvas')].map((c) => new Set(new Uint32Array(c.getContext('2d')" \
                ".getImageData(0, 0, c.width, c.height).data.buffer)).size)"
        page.until("something drawn", drawn, lambda colors: len(colors) == 8 and all(n > 5 for n in colors))
        table = "[...document.querySelectorAll('#%s tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"
        page.until("a verdict", "[...document.querySelectorAll('#verdict li')].map((item) => item.className)", lambda lines: lines)
        page.until("services", table % "services", lambda rows: any(r[:2] == ["web", "open"] and r[3] == "16.4k" and "requests" in r[4] for r in rows))
        page.until("ports", table % "ports", lambda rows: len(rows) == 1 and rows[0][:3] == ["tap0", "tap", "up"] and "-" not in rows[0])
        page.until("drops with their help", table % "drops", lambda rows: rows and all(len(r) == 4 and len(r[3]) > 5 for r in rows))
        order = page.value("[...document.querySelectorAll('#verdict, #cores, #services, #ports, #drops, #plots')].map((e) => e.id)")
        if order != ["verdict", "cores", "services", "ports", "drops", "plots"]:
            sys.exit("not in order: %s" % order)
        about = page.value("document.getElementById('about').textContent")
        if "up 0" not in about or "16.4k connections" not in about:
            sys.exit("about: " + about)

        back = "getComputedStyle(document.body).backgroundColor"
        light = page.value(back)
        page.value("document.getElementById('theme').click()")
        if page.value(back) == light:
            sys.exit("dark is as light")
        page.value("document.querySelector('#cores tbody tr').click()")
        page.until("the core hidden", "document.querySelector('#cores tbody tr').className", lambda name: name == "hidden")
        page.value("document.querySelector('#cores tbody tr').click()")
        page.value("document.getElementById('pause').click()")
        page.value("new Promise((done) => setTimeout(done, 4000))")  # what was asked for arrives
        stopped = page.value(POINTS)
        page.value("new Promise((done) => setTimeout(done, 1500))")
        if page.value(POINTS) != stopped:
            sys.exit("goes on while paused")
        page.value("document.getElementById('pause').click()")
        page.until("points after the pause", POINTS, lambda plots: plots[0]["points"] > stopped[0]["points"])

        if page.complaints:
            sys.exit("complaints: %s" % page.complaints)
        away = [url for url in page.requests if not url.startswith((URL, "data:"))]
        if away or len(page.requests) < 10:
            sys.exit("requests: %s" % (away or page.requests))
        asked = [url for url in page.requests if "/page/" not in url and url not in (URL, URL + "metrics", URL + "proc/verdict", URL + "history") and not url.startswith("data:")]
        if asked != [URL + "proc/net/drop_reasons"]:
            sys.exit("asked for more than figures and verdict, and once for the reasons: %s" % asked)
        if page.requests.count(URL + "history") > page.value("performance.now()") / 60000 + 2:
            sys.exit("the history is asked for too often")
        read_s = page.value("performance.now()") / 1000
        if page.requests.count(URL + "metrics") > read_s + 3:
            sys.exit("more than one request a second")

        kept = page.value(POINTS)[0]["points"]
        page.call("Page.reload")
        page.until("the history after a reload", POINTS, lambda plots: len(plots) == 8 and plots[0]["points"] >= kept)
        wrong = page.value(HISTORY)
        if wrong:
            sys.exit("/history: %s" % wrong)
        page.value("document.getElementById('span').click()")
        page.until("an hour", "document.getElementById('span').textContent", lambda text: text == "five minutes")
        page.value("document.getElementById('span').click()")

        page.value("window.before = true")
        page.call("Fetch.enable", patterns=[{"urlPattern": "*/history"}])  # such requests get no answer
        page.call("Page.reload")
        page.until("the verdict without a history", "[window.before, document.querySelectorAll('#verdict li').length, document.getElementById('trouble')?.textContent]",
                   lambda said: said[0] is None and said[1] > 0 and said[2] == "")
        page.call("Fetch.disable")

        print("READY", flush=True)  # the caller stops the server
        page.until("that the server is gone", "document.getElementById('trouble').textContent", lambda text: "does not answer" in text)
        print("GONE", flush=True)  # and starts another one
        page.until("the other one", "document.getElementById('trouble').textContent", lambda text: text == "")
        now = page.value(POINTS)
        page.until("points of the other one", POINTS, lambda plots: plots[0]["points"] >= now[0]["points"] + 2)


def token():
    """A server with a token: the page asks for it, and keeps it nowhere."""
    with Browser() as page:
        page.open()
        page.until("a box for the token", "!document.getElementById('ask').hidden")
        enter = "document.getElementById('token').value = %r; document.querySelector('#ask button').click()"
        page.value(enter % "0123456789abcdefWRONG")
        page.until("a refusal", "document.getElementById('trouble').textContent", lambda text: "does not take this token" in text)
        page.value(enter % sys.argv[4])
        page.until("points", POINTS, lambda plots: len(plots) == 8 and plots[0]["points"] >= 2)
        kept = page.value("JSON.stringify([localStorage.length, sessionStorage.length, document.cookie, document.getElementById('token').value,"
                          " document.getElementById('ask').hidden])")
        if kept != '[0,0,"","",true]':
            sys.exit("kept: " + kept)
        others = [c for c in page.complaints if "401" not in c]
        if others:
            sys.exit("complaints: %s" % others)
        page.call("Page.reload")
        page.until("a box for the token, again", "document.readyState === 'complete' && document.getElementById('ask') && "
                   "!document.getElementById('ask').hidden")


if __name__ == "__main__":
    globals()[PART]()
