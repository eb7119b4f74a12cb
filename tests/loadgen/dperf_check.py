"""dperf_check.py FILE...: configurations of dperf, held against the keywords of its documentation (docs/configuration.md
of dperf): unknown keywords, wrong values, required keywords that are missing, and what dperf refuses as a whole."""
import ipaddress
import re
import sys

NUMBER, TIME = r"\d+(\.\d+)?[km]?", r"\d+(\.\d+)?[dhms]?"
ADDRESS, COUNT = r"[0-9a-f.:]+", r"\d+"
# keyword: the pattern of its values, and whether a client needs it.
KEYWORDS = {
    "mode": ("client|server", True),
    "cpu": (r"\d+(-\d+)?( \d+(-\d+)?)*", True),
    "duration": (TIME, True),
    "cps": (NUMBER, True),
    "cc": (NUMBER, False),
    "keepalive": (r"\d+(us|ms|s)( \d+)?", False),
    "port": (r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] %s %s( [0-9a-f:]{17})?" % (ADDRESS, ADDRESS), True),
    "client": ("%s %s" % (ADDRESS, COUNT), True),
    "server": ("%s %s" % (ADDRESS, COUNT), True),
    "listen": ("%s %s" % (COUNT, COUNT), True),
    "protocol": ("tcp|udp|http", False),
    "packet_size": (COUNT, False),
    "payload_size": (COUNT, False),
    "launch_num": (COUNT, False),
    "tx_burst": (COUNT, False),
    "slow_start": (COUNT, False),
    "wait": (COUNT, False),
    "flood": ("", False),
    "rss": ("(l3|l3l4|auto)?( .*)?", False),
}


def cpus(text):
    return sum(int(last or first) - int(first) + 1 for first, last in re.findall(r"(\d+)(?:-(\d+))?", text))


def errors_of(lines):
    seen = {}
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        pattern = KEYWORDS.get(words[0], (None,))[0]
        if pattern is None:
            yield "%d: %s: no keyword of dperf" % (number, words[0])
        elif not re.fullmatch(pattern, " ".join(words[1:])):
            yield "%d: %s: expected %s" % (number, words[0], pattern)
        seen[words[0]] = words[1:]
    for word, (_, needed) in KEYWORDS.items():
        if needed and word not in seen:
            yield "%s is missing" % word
    if all(word in seen for word in ("client", "server", "cpu")):
        if not 1 <= int(seen["client"][1]) <= 254:
            yield "client: dperf takes 1 to 254 addresses"
        if "rss" not in seen and int(seen["server"][1]) != cpus(" ".join(seen["cpu"])):
            yield "without rss dperf wants as many servers as CPUs"
        first = [int(ipaddress.ip_address(seen[side][0])) & 0xFFFF for side in ("client", "server")]
        ranges = [set(range(at, at + int(seen[side][1]))) for at, side in zip(first, ("client", "server"))]
        if ranges[0] & ranges[1]:
            yield "dperf tells addresses apart by their last two bytes: those of client and server overlap"


def main():
    bad = 0
    for path in sys.argv[1:]:
        for error in errors_of(open(path)):
            print("%s:%s" % (path, error))
            bad = 1
    assert list(errors_of(["mode client", "cpus 1", "cps 1x"])), "the check finds nothing"
    sys.exit(bad)


if __name__ == "__main__":
    main()
