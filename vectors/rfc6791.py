"""RFC 6791: sources for ICMP errors of IPv6 hops without an IPv4 address."""

from configurations import siit
from packets import *
from table import *

rfc(6791)
SIIT = siit()
ONE = siit("siit-pool-of-one", more='icmp-source-v4 = ["198.18.0.1/32"]\n')
EIGHT = siit("siit-pool-of-eight", more='icmp-source-v4 = ["198.18.0.8/29"]\n')
HOP = "2001:db8:7::1"


def about6():
    return quote(ip6(H4_V6, H6, 61) / udp() / data())


def about4():
    return quote(to4(H4, H6_V4, 61) / udp() / data())


MESSAGES = [
    ("time-exceeded", ICMPv6TimeExceeded(code=0), ICMP(type=11, code=0)),
    ("too-big", ICMPv6PacketTooBig(mtu=1400), ICMP(type=3, code=4, nexthopmtu=1380)),
    ("unreachable", ICMPv6DestUnreach(code=0), ICMP(type=3, code=1)),
    ("parameter-problem", ICMPv6ParamProblem(code=0, ptr=7), ICMP(type=12, code=0, ptr=8)),
]

requirement("3", SHOULD, "An ICMPv6 error whose source has no IPv4 address is translated with one that does not get it dropped, "
            "not a private one: the pool, and the dummy address 192.0.0.8 (RFC 7600) where there is none.")
for name, old, new in MESSAGES:
    vector(f"dummy-{name}", SIIT, send(ip6(HOP) / old / about6(), to4("192.0.0.8") / new / about4()))
requirement("3.2", SHOULD, "One public address, or a few, are used as source.")
for name, old, new in MESSAGES:
    vector(f"pool-of-one-{name}", ONE, send(ip6(HOP) / old / about6(), to4("198.18.0.1") / new / about4()))
requirement("5", SHOULD, "The source is selected from the pool at random.")
for number in range(3):
    vector(f"pool-of-eight-{number}", EIGHT, send(
        ip6(f"2001:db8:7::{number}") / ICMPv6TimeExceeded(code=0) / about6(),
        Output(to4("198.18.0.8") / ICMP(type=11, code=0) / about4(),
               free=[(10, 2), (12, 4)], within=[(12, "198.18.0.8/29")])))
requirement("3", MUST, "A source that has an IPv4 address keeps it.")
vector("translatable-source", EIGHT, send(
    ip6("2001:db8:1c0:2:63::") / ICMPv6TimeExceeded(code=0) / about6(),
    to4("192.0.2.99") / ICMP(type=11, code=0) / about4()))
requirement("3", MUST, "Only errors get a source from the pool: queries have no way back.")
vector("echo-from-a-stranger", ONE, drop(ip6(HOP) / ICMPv6EchoRequest(id=1, seq=1), "untranslatable-source",
                                         may=error6(ICMPv6DestUnreach(code=1), ip6(HOP) / ICMPv6EchoRequest(id=1, seq=1))))
requirement("4", SHOULD, "The error carries the IPv6 source in an extension of RFC 5837.",
            status="no: the extension is not added; extensions that are there are passed on")
