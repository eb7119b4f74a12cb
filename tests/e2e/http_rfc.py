"""Raw requests against the http service: what each is answered, and whether the connection stays.
Each conversation is also sent cut at every byte; the answers must be the same but for the date."""
import re
import socket
import sys

HOST, SITE = sys.argv[1], sys.argv[2]
BIG = open(SITE + "/big", "rb").read()
H = "Host: a\r\n"
G = "GET / HTTP/1.1\r\n" + H
CHUNKED = "POST /echo HTTP/1.1\r\n" + H + "Transfer-Encoding: chunked\r\n\r\n"

# Request, statuses, and whether the connection stays.
CASES = [
    (G + "\r\n", [200], True),
    (G + "\r\n" + G + "\r\n" + G + "\r\n", [200, 200, 200], True),
    (G + "Connection: close\r\n\r\n" + G + "\r\n", [200], False),
    ("GET / HTTP/1.0\r\n\r\n", [200], False),
    ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", [200], True),
    ("GET http://a/ HTTP/1.1\r\n" + H + "\r\n", [200], True),
    ("GET /%69ndex.html HTTP/1.1\r\n" + H + "\r\n", [200], True),
    ("GET //index.html HTTP/1.1\r\n" + H + "\r\n", [200], True),
    ("GET /a[1]|^.png?q[]={`}|'\"<> HTTP/1.1\r\n" + H + "\r\n", [404], True),
    ("GET /\xe9?\xe9 HTTP/1.1\r\n" + H + "\r\n", [404], True),
    ("POST / HTTP/1.1\r\n" + H + "Content-Length: 3\r\n\r\nabc" + G + "\r\n", [405, 200], True),
    ("POST /echo HTTP/1.1\r\n" + H + "Transfer-Encoding: ,chunked,\r\n\r\n1\r\na\r\n0\r\n\r\n", [200], True),
    (G + "Content-Length: 4\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + G + "\r\n", [400], False),
    ("A" * 9000, [501], False),
    ("GET /missing HTTP/1.1\r\n" + H + "\r\n", [404], True),
    ("OPTIONS * HTTP/1.1\r\n" + H + "\r\n", [204], True),
    ("DELETE / HTTP/1.1\r\n" + H + "\r\n", [405], True),
    ("CONNECT a:80 HTTP/1.1\r\n" + H + "\r\n", [405], True),
    ("POST /echo HTTP/1.1\r\n" + H + "\r\n", [411], True),
    ("POST /echo HTTP/1.1\r\n" + H + "Content-Length: 3\r\n\r\nabc" + G + "\r\n", [200, 200], True),
    (CHUNKED + "3\r\nabc\r\n2;a=b\r\nde\r\n0\r\nT: x\r\n\r\n" + G + "\r\n", [200, 200], True),
    ("GET /big HTTP/1.1\r\n" + H + "Range: bytes=5-6\r\n\r\n", [206], True),
    ("GET /big HTTP/1.1\r\n" + H + "Range: bytes=-1,0-2000,7-7\r\n\r\n", [206], True),
    ("GET /big HTTP/1.1\r\n" + H + "Range: bytes=300000-\r\n\r\n", [416], True),
    (G + "Expect: tea\r\n\r\n", [417], True),
    (G + "If-None-Match: *\r\n\r\n", [304], True),
    (G + "If-Match: \"x\"\r\n\r\n", [412], True),
    ("BREW / HTTP/1.1\r\n" + H + "\r\n", [501], False),
    ("GET / HTTP/2.0\r\n" + H + "\r\n", [505], False),
    ("GET /../x HTTP/1.1\r\n" + H + "\r\n", [400], False),
    (G + "X: " + "a" * 9000 + "\r\n\r\n", [431], False),
    ("GET /" + "a" * 9000 + " HTTP/1.1\r\n" + H + "\r\n", [414], False),
    ("POST /echo HTTP/1.1\r\n" + H + "Content-Length: 65537\r\n\r\n", [413], False),
    # Smuggling: refused and closed, the second request never answered.
    (G + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx" + G + "\r\n", [400], False),
    (G + "Content-Length: 1, 2\r\n\r\nx" + G + "\r\n", [400], False),
    (G + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + G + "\r\n", [400], False),
    (G + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", [400], False),
    (CHUNKED + "0x3\r\nabc\r\n0\r\n\r\n" + G + "\r\n", [400], False),
    (CHUNKED + "3 \r\nabc\r\n0\r\n\r\n" + G + "\r\n", [400], False),
    (CHUNKED + "3\nabc\r\n0\r\n\r\n" + G + "\r\n", [400], False),
    (CHUNKED + "3\r\nabcd\r\n0\r\n\r\n" + G + "\r\n", [400], False),
    ("GET / HTTP/1.1\nHost: a\n\n", [400], False),
    (G + "X: a\rY: b\r\n\r\n", [400], False),
    (G + "X : a\r\n\r\n", [400], False),
    (G + "X: a\r\n b\r\n\r\n", [400], False),
    (G + "X: a\0b\r\n\r\n", [400], False),
    ("GET / HTTP/1.1\r\n\r\n", [400], False),
    ("GET / HTTP/1.1\r\n" + H + H + "\r\n", [400], False),
]


class Reader:
    def __init__(self, request, pieces):
        self.s = socket.create_connection((HOST, 80), timeout=10)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.text = b"", b""
        try:
            for piece in pieces:
                self.s.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def more(self):
        piece = self.s.recv(65536)
        self.buffer += piece
        return bool(piece)

    def response(self):
        """Status and body of the next response."""
        while b"\r\n\r\n" not in self.buffer:
            assert self.more(), ("closed", self.buffer)
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)\r\nContent-Length: (\d+)", head)
        length = int(length.group(1)) if length else 0
        while len(self.buffer) < length:
            assert self.more(), "closed within a body"
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        self.text += re.sub(rb"Date: .*", b"", head) + b"\r\n\r\n" + body
        return int(head[9:12]), head, body

    def is_closed(self):
        assert self.buffer == b"", self.buffer
        try:
            return not self.more()
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


def hold(request, statuses, stays, pieces):
    r = Reader(request, pieces)
    got = [r.response()[0] for _ in statuses]
    assert got == statuses, (got, statuses, request[:200])
    if stays:
        r.s.sendall(b"GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert r.response()[0] == 404
    assert r.is_closed(), ("not closed", request[:200])
    r.s.close()
    return r.text


for request, statuses, stays in CASES:
    data = request.encode("latin-1")
    whole = hold(request, statuses, stays, [data])
    step = 1 if len(data) < 300 else 500
    for cut in range(1, len(data), step):
        text = hold(request, statuses, stays, [data[:cut], data[cut:]])
        assert text == whole, (cut, request[:200], text, whole)

# What the answers hold.
r = Reader("", [("GET /big HTTP/1.1\r\n" + H + "Range: bytes=-1,0-2000,7-7\r\n\r\n").encode()])
status, head, body = r.response()
boundary = re.search(rb"boundary=(\w+)", head).group(1)
parts = body.split(b"\r\n--" + boundary)
assert parts[0] == b"" and parts[-1] == b"--\r\n" and len(parts) == 5
for part, (first, last) in zip(parts[1:-1], [(299999, 299999), (0, 2000), (7, 7)]):
    fields, content = part.split(b"\r\n\r\n", 1)
    assert f"Content-Range: bytes {first}-{last}/300000".encode() in fields
    assert content == BIG[first : last + 1]
r = Reader("", [("GET /headers HTTP/1.1\r\n" + H + "X-Odd:  a \r\n\r\n").encode()])
assert r.response()[2] == b"Host: a\r\nX-Odd:  a \r\n"

# 100 (Continue) comes before the content is sent.
r = Reader("", [("POST /echo HTTP/1.1\r\n" + H + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n").encode()])
assert r.response()[0] == 100
r.s.sendall(b"abc")
assert r.response()[2] == b"abc"

# Content that stops coming: 408 after body_timeout_ms.
r = Reader("", [("POST /echo HTTP/1.1\r\n" + H + "Content-Length: 3\r\n\r\na").encode()])
assert r.response()[0] == 408
