#!/usr/bin/env python3
"""mutants_rewrite: finds the conditions of a C file and writes each so that one of its mutants can be chosen at run time.

  mutants_rewrite.py list FILE       the mutants of FILE, one a line
  mutants_rewrite.py text FILE       FILE as it is compiled (tests/mutants/mutant.h)
  mutants_rewrite.py self-test

A condition is what decides an if, while, for or ?:, an operand of && or ||, and a comparison wherever it stands. Lines
stay where they are. What preprocessor lines, CHECK, static initializers and constants hold is not changed, but counted.
"""
import collections
import re
import sys

# What a mutant does. NEGATE: of a whole condition; == to != anywhere. BOUND: < to <=, <= to <, > to >=, >= to >.
# TRUE, FALSE: an operand of && or ||. Of `a && b && c`, false for any operand is false for the whole: the first one
# stands for all; likewise true in ||.
NEGATE, BOUND, TRUE, FALSE = 1, 2, 4, 8
NAMES = {NEGATE: "negated", BOUND: "bound", TRUE: "true", FALSE: "false"}

TOKEN = re.compile(r"""
    (?P<space>(?:\s|\\\n)+ | //[^\n]* | /\*.*?\*/)
  | (?P<text>"(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.X | re.S)
OPEN = {"(": ")", "[": "]", "{": "}"}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
RELATIONAL = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
EQUALITY = {"==": "!=", "!=": "=="}
UNTOUCHED = {"CHECK", "DCHECK", "sizeof", "static_assert", "_Static_assert", "offsetof", "typeof", "__typeof__", "__attribute__"}
TYPES = {"const", "volatile", "struct", "union", "enum", "unsigned", "signed", "char", "short", "int", "long", "bool", "float", "double",
         "void", "size_t", "ssize_t"}
Token = collections.namedtuple("Token", "kind text at line")
Mutant = collections.namedtuple("Mutant", "file line function text mutation number")


def tokens_of(text):
    """The tokens of a file without spaces, comments and preprocessor lines, and how many conditions those lines hold."""
    out, at, line, skipped = [], 0, 1, 0
    start_of_line = True
    while at < len(text):
        if start_of_line and (m := re.compile(r"[ \t]*#(?:[^\n\\]|\\\n|\\.)*").match(text, at)):
            if re.match(r"\s*#\s*define", m[0]):
                skipped += len(re.findall(r"&&|\|\||[<>=!]=|\?|\bif\b|\bwhile\b", m[0]))
            line += m[0].count("\n")
            at = m.end()
            continue
        m = TOKEN.match(text, at)
        if m.lastgroup != "space":
            out.append(Token(m.lastgroup, m[0], at, line))
            start_of_line = False
        if "\n" in m[0]:
            start_of_line = True
        line += m[0].count("\n")
        at = m.end()
    return out, skipped


def is_type(tokens):
    """Whether the tokens between two parentheses are a type's: then those are a cast."""
    words = [t.text for t in tokens if t.text != "*"]
    return bool(words) and all(re.fullmatch(r"[A-Za-z_]\w*", w) for w in words) and (
        words[0] in TYPES or words[0].endswith("_t")) and (len(words) == 1 or words[0] in TYPES)


class File:
    """One file: its tokens, its mutants, and the places where text is put in."""

    def __init__(self, name, text, first=1):
        self.name, self.text, self.first = name, text, first
        self.tokens, self.skipped = tokens_of(text)
        self.mutants, self.site_of = [], {}  # site_of: the first number of the condition of each
        self.before, self.after = collections.defaultdict(list), collections.defaultdict(list)
        self.close, self.opened, stack = {}, {}, []
        for i, t in enumerate(self.tokens):
            if t.text in OPEN:
                stack.append(i)
            elif t.text in OPEN.values():
                j = stack.pop()
                assert OPEN[self.tokens[j].text] == t.text, f"{name}:{t.line}: unbalanced"
                self.close[j], self.opened[i] = i, j
        self.function, self.seen = "", collections.Counter()
        self.top()

    # Statements. [i, end) are indices of tokens; each returns the index behind what it read.

    def word(self, i):
        return self.tokens[i].text if i < len(self.tokens) else ""

    def top(self):
        i, name = 0, ""
        while i < len(self.tokens):
            t = self.word(i)
            if t == "(" and self.tokens[i - 1].kind == "word" and self.word(i - 1) not in UNTOUCHED:
                name = self.word(i - 1)
            if t == "{" and self.word(i - 1) == ")" and name:
                self.function = name
                self.block(i)
            if t in OPEN:
                i = self.close[i]
            elif t == ";":
                name = ""
            i += 1

    def block(self, i):
        end = self.close[i]
        i += 1
        while i < end:
            i = self.statement(i)
        return end + 1

    def until(self, i, stop):
        """The index of the next `stop` of this depth."""
        while self.word(i) != stop:
            i = self.close[i] + 1 if self.word(i) in OPEN else i + 1
        return i

    def statement(self, i):
        t = self.word(i)
        if t == "{":
            return self.block(i)
        if t in ("if", "while", "switch"):
            end = self.close[i + 1]
            self.expression(i + 2, end, "plain" if t == "switch" else "whole")
            i = self.statement(end + 1)
            return self.statement(i + 1) if t == "if" and self.word(i) == "else" else i
        if t == "do":
            i = self.statement(i + 1)
            end = self.close[i + 1]
            self.expression(i + 2, end, "whole")
            return end + 2
        if t == "for":
            end = self.close[i + 1]
            one = self.until(i + 2, ";")
            two = self.until(one + 1, ";")
            self.expression(i + 2, one, "plain")
            self.expression(one + 1, two, "whole")
            self.expression(two + 1, end, "plain")
            return self.statement(end + 1)
        if t in ("case", "default"):
            return self.until(i, ":") + 1
        if self.tokens[i].kind == "word" and self.word(i + 1) == ":":
            return i + 2
        end = self.until(i, ";")
        if t in ("static", "enum", "static_assert", "_Static_assert", "typedef"):
            self.count_skipped(i, end)
        else:
            self.expression(i + 1 if t == "return" else i, end, "plain")
        return end + 1

    def count_skipped(self, i, end):
        self.skipped += sum(self.word(k) in ("&&", "||", "?") or self.word(k) in EQUALITY or self.word(k) in RELATIONAL
                            for k in range(i, end))

    # Expressions, from the operators that bind least. place: "whole" decides something, "inner" lies below a ! that
    # does, "and" and "or" are operands ("and1", "or1" the first one), "plain" is a value.

    def split(self, i, end, signs):
        """The indices of `signs` of this depth between two operands; ?: keeps what is between its signs together."""
        found, k, nest = [], i, 0
        while k < end:
            t = self.word(k)
            if t in signs and nest == 0 and self.is_binary(i, k):
                found.append(k)
            nest += (t == "?") - (t == ":" and nest > 0)
            k = self.close[k] + 1 if t in OPEN else k + 1
        return found

    def is_binary(self, i, k):
        """Whether the sign at k has a left operand: & and * may be unary."""
        if k == i:
            return False
        before = self.tokens[k - 1]
        if before.text == ")":
            j = self.opened[k - 1]
            return not is_type(self.tokens[j + 1:k - 1]) or (j > i and self.tokens[j - 1].kind == "word")
        return before.kind in ("word", "number", "text") and before.text != "return" or before.text in ("]", "}", "++", "--")

    def expression(self, i, end, place):
        if i >= end:
            return
        if commas := self.split(i, end, {","}):
            edges = [i - 1] + commas + [end]
            for a, b in zip(edges, edges[1:]):
                self.expression(a + 1, b, place if b == end and place == "whole" else "plain")
            return
        if assigns := self.split(i, end, ASSIGN):
            self.expression(i, assigns[0], "plain")
            self.expression(assigns[0] + 1, end, "plain")
            if place != "plain":
                self.site(i, end, place, None)
            return
        if asks := self.split(i, end, {"?"}):
            ask = asks[0]
            colon, nest = ask + 1, 0
            while self.word(colon) != ":" or nest != 0:
                t = self.word(colon)
                nest += (t == "?") - (t == ":")
                colon = self.close[colon] + 1 if t in OPEN else colon + 1
            if place != "plain":
                self.site(i, end, place, None)
            self.expression(i, ask, "whole")
            self.expression(ask + 1, colon, "plain")
            self.expression(colon + 1, end, "plain")
            return
        for sign, name in (("||", "or"), ("&&", "and")):
            if signs := self.split(i, end, {sign}):
                if place in ("whole", "plain"):
                    self.site(i, end, "whole", None)
                if place in ("and1", "or1"):  # the other constant is that of its own first operand
                    self.site(i, end, place, None, FALSE if place == "and1" else TRUE)
                edges = [i - 1] + signs + [end]
                for n, (a, b) in enumerate(zip(edges, edges[1:])):
                    self.expression(a + 1, b, name + "1" if n == 0 else name)
                return
        for signs in ({"|"}, {"^"}, {"&"}):
            if found := self.split(i, end, signs):
                if place not in ("plain", "inner"):
                    self.site(i, end, place, None)
                edges = [i - 1] + found + [end]
                for a, b in zip(edges, edges[1:]):
                    self.expression(a + 1, b, "plain")
                return
        for signs in (EQUALITY, RELATIONAL):
            if found := self.split(i, end, signs):
                k = found[-1]
                if self.is_constant(i, k) and self.is_constant(k + 1, end):
                    self.skipped += 1
                    return
                self.site(i, end, place, k)
                self.expression(i, k, "plain")
                self.expression(k + 1, end, "plain")
                return
        self.leaf(i, end, place)

    def leaf(self, i, end, place):
        """An expression without operators that bind less than a shift."""
        if self.word(i) == "(" and self.close[i] == end - 1 and not is_type(self.tokens[i + 1:end - 1]):
            self.expression(i + 1, end - 1, place)
            return
        if self.word(i) in ("likely", "unlikely") and self.close[i + 1] == end - 1:
            self.expression(i + 2, end - 1, place)
            return
        if self.is_constant(i, end):
            self.skipped += place != "plain"
            return
        if place not in ("plain", "inner"):
            self.site(i, end, place, None)
        if place in ("whole", "inner") and self.word(i) == "!":
            self.expression(i + 1, end, "inner")
            return
        k = i
        while k < end:
            if self.word(k) in UNTOUCHED and self.word(k + 1) == "(":
                self.count_skipped(k + 1, self.close[k + 1])
                k = self.close[k + 1] + 1
            elif self.word(k) == "(" and self.word(k + 1) == "{":  # a statement expression
                self.block(k + 1)
                k = self.close[k] + 1
            elif self.word(k) in OPEN:
                inner = "inner" if self.word(k - 1) == "!" and k > i else "plain"
                self.expression(k + 1, self.close[k], inner)
                k = self.close[k] + 1
            else:
                k += 1

    def is_constant(self, i, end):
        k = i
        while k < end:
            t = self.tokens[k]
            if t.text == "sizeof" and self.word(k + 1) == "(":
                k = self.close[k + 1]
            elif t.kind == "word" and t.text not in ("true", "false") and not re.fullmatch(r"[A-Z][A-Z0-9_]*|U?INT\d+_MAX", t.text):
                return False
            k += 1
        return True

    # What is written.

    def site(self, i, end, place, sign, kinds=None):
        """Mutants of the condition [i, end); sign: where its comparison is, if it is one."""
        if kinds is None:
            kinds = {"whole": NEGATE, "plain": NEGATE, "inner": 0, "and1": TRUE | FALSE, "or1": TRUE | FALSE, "and": TRUE, "or": FALSE}[place]
            if sign is not None:
                kinds |= NEGATE if self.word(sign) in EQUALITY and place != "inner" else 0
                kinds |= BOUND if self.word(sign) in RELATIONAL else 0
        if kinds == 0:
            return
        first, line = self.first + len(self.mutants), self.tokens[i].line
        text = re.sub(r"\s*//[^\n]*", "", self.text[self.tokens[i].at:self.tokens[end - 1].at + len(self.tokens[end - 1].text)])
        text = re.sub(r"\s+", " ", text)
        for kind in NAMES:
            if kinds & kind:
                key = (self.function, text, NAMES[kind])
                self.seen[key] += 1
                self.site_of[self.first + len(self.mutants)] = first
                self.mutants.append(Mutant(self.name, line, self.function, text, NAMES[kind], self.seen[key]))
        tail = self.tokens[end - 1]
        if sign is None:
            self.before[self.tokens[i].at].append(f"mutant_is({first}, {kinds}, (")
            self.after[tail.at + len(tail.text)].insert(0, "), false)")
            return
        at = self.tokens[sign]
        other = {**RELATIONAL, **EQUALITY}[at.text]
        # A bit-field is promoted by + 0; what is compared with NULL may point to a type that is not known here.
        plus = "" if "NULL" in (self.word(sign - 1), self.word(sign + 1)) else " + 0"
        self.before[self.tokens[i].at].append(f"({{ __auto_type l_{first} = (")
        self.after[self.tokens[sign - 1].at + len(self.tokens[sign - 1].text)].insert(0, f"){plus}; __auto_type r_{first} = ")
        self.before[at.at].append("\0")
        self.before[self.tokens[sign + 1].at].insert(0, "(")
        self.after[tail.at + len(tail.text)].insert(
            0, f"){plus}; mutant_is({first}, {kinds}, l_{first} {at.text} r_{first}, l_{first} {other} r_{first}); }})")

    def rewritten(self):
        out = []
        for at in range(len(self.text) + 1):
            out += self.after.get(at, [])
            before = self.before.get(at, [])
            if "\0" in before:
                assert before == ["\0"]
                out.append("\0")
            else:
                out += before
            if at < len(self.text):
                out.append(self.text[at])
        return re.sub(r"\0(==|!=|<=|>=|<|>)", "", "".join(out))


def self_test():
    def mutants(body):
        return [(m.text, m.mutation) for m in File("x.c", "int f(int a)\n{\n" + body + "\n}\n").mutants]

    assert mutants("if (a < b) c();") == [("a < b", "negated"), ("a < b", "bound")]
    assert mutants("if (likely(!p)) c();") == [("!p", "negated")]
    assert mutants("return x & F;") == [] and mutants("while (true) c();") == [] and mutants("CHECK(a < b);") == []
    assert mutants("if (a && b == c) d();") == [("a && b == c", "negated"), ("a", "true"), ("a", "false"), ("b == c", "negated"),
                                                ("b == c", "true")]
    assert mutants("if ((a && b) || c) d();") == [
        ("(a && b) || c", "negated"), ("a && b", "true"), ("a", "true"), ("a", "false"), ("b", "true"), ("c", "false")]
    assert mutants("x = (uint8_t)&y == z ? 1 : a->b[c >= 2];") == [
        ("(uint8_t)&y == z", "negated"), ("c >= 2", "negated"), ("c >= 2", "bound")]
    assert mutants("for (int i = 0; i < n; i++) if (!(a & B)) k(i > 1);") == [
        ("i < n", "negated"), ("i < n", "bound"), ("!(a & B)", "negated"), ("i > 1", "negated"), ("i > 1", "bound")]
    assert mutants("static const int k[] = {A < B};") == []
    one = File("x.c", "#define M(a) ((a) > 1 && x)\nint f(void)\n{\n    return a->b <= c  // why\n        || !d(e == 1);\n}\n", 7)
    assert one.skipped == 1 and [m.line for m in one.mutants] == [4, 4, 4, 4, 5, 5], one.mutants
    assert one.rewritten().count("\n") == 6
    assert "mutant_is(12, 1, l_12 == r_12, l_12 != r_12)" in one.rewritten(), one.rewritten()
    pointer = File("x.c", "int f(struct s *a)\n{\n    return a == NULL || a->n == 1;\n}\n").rewritten()
    assert "l_2 = (a); " in pointer and "l_5 = (a->n) + 0;" in pointer, pointer
    print("mutants_rewrite: self-test passed")


if __name__ == "__main__":
    if sys.argv[1:] == ["self-test"]:
        self_test()
    elif len(sys.argv) == 3 and sys.argv[1] in ("list", "text"):
        with open(sys.argv[2], encoding="utf-8") as source:
            file = File(sys.argv[2], source.read())
        if sys.argv[1] == "text":
            print(file.rewritten(), end="")
        else:
            for m in file.mutants:
                print(f"{m.file}:{m.line}: {m.function}: {m.text}: {m.mutation}")
    else:
        sys.exit(__doc__.strip())
