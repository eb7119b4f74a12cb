"""The list of differences between the kernel and the agent, and its comparison with those found.

    differences.py PAGE           PAGE says what the list says, between its two marks
    differences.py --write PAGE   it does from now on

A line of the list is CASE: LABEL: REASON, a continuation is indented, # begins a comment. CASE is a
name without its family; LABEL one of its transcript's, or * for all of them.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = "<!-- from tests/agent/differences.txt -->", "<!-- to here -->"


def read(path):
    """{(case, label): reason}."""
    listed, last = {}, None
    for number, line in enumerate(pathlib.Path(path).read_text().split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] == " " and last:
            listed[last] += " " + line.strip()
            continue
        parts = [p.strip() for p in line.split(": ", 2)]
        if len(parts) != 3:
            raise ValueError(f"{path}:{number}: not CASE: LABEL: REASON")
        last = parts[0], parts[1]
        if last in listed:
            raise ValueError(f"{path}:{number}: twice")
        listed[last] = parts[2]
    return listed


def differing(one, other):
    """[(label, value of one, value of other)]: labels are matched in their order; a label that occurs more
    than once has its values compared one by one."""
    def by_label(transcript):
        got = {}
        for label, value in transcript:
            got.setdefault(label, []).append(value)
        return got
    a, b = by_label(one), by_label(other)
    return [(label, a.get(label, ["-"]), b.get(label, ["-"])) for label in list(a) + [x for x in b if x not in a]
            if a.get(label) != b.get(label)]


def unlisted(first, second, listed):
    """The names of the cases that differ in what is not listed."""
    return [name for name, other in second.items() if name in first and
            any(not {(name.split("/")[0], label), (name.split("/")[0], "*")} & listed.keys()
                for label, _, _ in differing(first[name], other))]


def judge(first, second, path, titles, part=False):
    """Prints what differs and is not listed, and what is listed and does not differ; whether there is any.
    path None: nothing is listed. part: not all cases ran, so a listed one may be missing."""
    listed = read(path) if path else {}
    met, bad, known = set(), 0, 0
    for name, other in second.items():
        if name not in first:
            first = {**first, name: [["ok", "True"]]}
        case = name.split("/")[0]
        for label, a, b in differing(first[name], other):
            key = next((k for k in ((case, label), (case, "*")) if k in listed), None)
            if key:
                met.add(key)
                known += 1
                continue
            bad += 1
            print(f"DIFFERS {name}: {label}\n    {titles[0]}: {' | '.join(a)}\n    {titles[1]}: {' | '.join(b)}")
    for key in listed:
        if key not in met and not part:
            bad += 1
            print(f"LISTED but the same: {key[0]}: {key[1]}")
    print(f"{len(second)} compared, {known} differences as listed, {bad} wrong")
    return bad != 0


def told(listed):
    """The list for a page: one item a reason, with its cases."""
    by_reason = {}
    for (case, label), reason in listed.items():
        by_reason.setdefault(reason, {}).setdefault(case, []).append(label)
    return "".join(f"- {reason} ({', '.join(f'`{c}`' for c in cases)})\n" for reason, cases in by_reason.items())


def page(arguments):
    """Whether the page is as the list has it."""
    path = pathlib.Path(arguments[-1])
    text = path.read_text()
    before, rest = text.split(BEGIN + "\n", 1)
    after = rest.split(END, 1)[1]
    new = before + BEGIN + "\n" + told(read(HERE / "differences.txt")) + END + after
    if "--write" in arguments:
        path.write_text(new)
        return True
    return text == new


if __name__ == "__main__":
    sys.exit(0 if page(sys.argv[1:]) else f"{sys.argv[-1]} differs from the list: differences.py --write")
