# HTTP over TRex's own TCP (ASTF, started with t-rex-64 -i --astf). Each connection sends ten requests for / and closes.
#   start -f http_requests.py -m 1000 -d 60              1,000 connections a second
#   start -f http_requests.py -m 1000 -t answer=318      bytes of one answer, header included: curl -si http://198.18.0.2/ | wc -c
# TRex plays both sides of a template. Here its clients talk to c10m: start it with one port of the pair as a dummy
# (interfaces: ["01:00.0", "dummy"]).
import argparse

from trex_astf_lib.api import *

REQUEST = b"GET / HTTP/1.1\r\nHost: 198.18.0.2\r\n\r\n"
REQUESTS = 10


class Http(object):
    def get_profile(self, tunables=(), **kwargs):
        parser = argparse.ArgumentParser(description="HTTP with keep-alive")
        parser.add_argument("--answer", type=int, default=318, help="bytes of one answer, header included")
        answer = parser.parse_args(list(tunables)).answer

        client = ASTFProgram()
        client.set_var("left", REQUESTS)
        client.set_label("next:")
        client.send(REQUEST)
        client.recv(answer, True)
        client.jmp_nz("left", "next:")
        # The other side of the template, which ASTF requires. It is not used: the server is c10m.
        server = ASTFProgram()
        server.recv(len(REQUEST))

        addresses = ASTFIPGen(
            dist_client=ASTFIPGenDist(ip_range=["198.19.0.1", "198.19.0.255"], distribution="seq"),
            dist_server=ASTFIPGenDist(ip_range=["198.18.0.2", "198.18.0.2"], distribution="seq"))
        return ASTFProfile(
            default_ip_gen=addresses,
            templates=ASTFTemplate(
                client_template=ASTFTCPClientTemplate(program=client, ip_gen=addresses, cps=1),
                server_template=ASTFTCPServerTemplate(program=server)))


def register():
    return Http()
