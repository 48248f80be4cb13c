"""RFC 6146 section 3.8: hairpinning."""

from configurations import nat64
from nat64_packets import *
from table import *

rfc(6146)
NAT64 = nat64(prefix=PREFIX)
STATIC = nat64("nat64-static-b", PREFIX, more='static = [\n  { protocol = "udp", inside = "[2001:db8:1:b::1]:53", '
               'outside = "203.0.113.1:5353" },\n  { protocol = "tcp", inside = "[2001:db8:1:b::1]:80", '
               'outside = "203.0.113.1:8080" },\n]\n')
p, q = port("p"), port("q")
q.differs = ["p"]


def turned(*args, **fields):
    """A hairpinned packet. RFC 6146 does not say whether its hop limit counts down once or twice."""
    return ip6(*args, fresh("hops", 62, 63, 1), **fields)


requirement("3.8", MUST, "A packet to an address of the translator itself turns back: its outgoing tuple is an incoming one, "
            "as if it had come from the IPv4 side.")
requirement("3.6", MUST, "Destinations from inside and sources from outside are mapped by the algorithm, not by the BIB.")
HAIR = {"hairpinned": 1}
vector("hairpin-udp", STATIC,
       send(ip6(A, mapped(OUT)) / udp(40000, 5353) / data(), turned(mapped(OUT), B) / udp(p, 53) / data()),
       send(ip6(B, mapped(OUT)) / udp(53, p) / data(), turned(mapped(OUT), A) / udp(5353, 40000) / data()))
OUT_FROM_B = send(out6(B) / udp(50000) / data(), out4() / udp(q) / data())
TURNED = [
    send(ip6(A, mapped(OUT)) / udp(40000, q) / data(), turned(mapped(OUT), B) / udp(p, 50000) / data()),
    send(ip6(B, mapped(OUT)) / udp(50000, p) / data(), turned(mapped(OUT), A) / udp(q, 40000) / data()),
]
vector("hairpin-udp-dynamic", NAT64, OUT_FROM_B, *TURNED)
vector("hairpin-udp-goes-on", NAT64, OUT_FROM_B, *TURNED, *TURNED)
t = Choice("t", 1024)
vector("hairpin-tcp", STATIC,
       send(ip6(A, mapped(OUT)) / tcp("S", 40000, 8080), turned(mapped(OUT), B) / tcp("S", t, 80)),
       send(ip6(B, mapped(OUT)) / tcp("SA", 80, t), turned(mapped(OUT), A) / tcp("SA", 8080, 40000)),
       send(ip6(A, mapped(OUT)) / tcp("A", 40000, 8080), turned(mapped(OUT), B) / tcp("A", t, 80)))
# The identifier is both ends of a query, so that a host reaches its own binding only: it pings itself.
vector("hairpin-echo", NAT64,
       send(ip6(A, mapped(OUT)) / ICMPv6EchoRequest(id=7, seq=1), turned(mapped(OUT), A) / ICMPv6EchoRequest(id=7, seq=1)),
       send(ip6(A, mapped(OUT)) / ICMPv6EchoReply(id=7, seq=1), turned(mapped(OUT), A) / ICMPv6EchoReply(id=7, seq=1)))
vector("hairpin-without-binding", NAT64, Step(
    ip6(A, mapped(OUT)) / udp(40000, 5353), [
        Output(ip6("2001:db8:ffff::1", A) / ICMPv6DestUnreach(code=1) / Raw(bytes(48)), [(0, 96)], optional=True)],
    {"no-binding": 1}))
requirement("3.8", MUST, "An ICMP error about a hairpinned packet turns back too.")
vector("hairpin-error", STATIC,
       send(ip6(A, mapped(OUT)) / udp(40000, 5353) / data(), turned(mapped(OUT), B) / udp(p, 53) / data()),
       send(ip6(B, mapped(OUT)) / ICMPv6DestUnreach(code=4) / quote(ip6(mapped(OUT), B, 63) / udp(p, 53) / data()),
            turned(mapped(OUT), A) / ICMPv6DestUnreach(code=4) / quote(ip6(A, mapped(OUT), 63) / udp(40000, 5353) / data())))
requirement("3.8", MUST, "So does a packet to an address of another translator of the same gateway.")
PREFIX2, OUT2 = "2001:db8:64:ff9c::", "198.51.100.9"
TWO = (f"{STATIC[0]}-beside-another", NAT64[1] + nat64("nat64-other", f"{PREFIX2}/96", pool=[(OUT2, "1024-65535")], more='static = [ { protocol = '
       '"udp", inside = "[2001:db8:1:b::1]:53", outside = "198.51.100.9:5353" } ]\n')[1])
vector("hairpin-between-two", TWO,
       send(ip6(A, mapped(OUT2)) / udp(40000, 5353) / data(), turned(f"{PREFIX2}{OUT}", B) / udp(p, 53) / data()),
       send(ip6(B, f"{PREFIX2}{OUT}") / udp(53, p) / data(), turned(mapped(OUT2), A) / udp(5353, 40000) / data()))
vector("hairpin-between-two-error", TWO,
       send(ip6(A, mapped(OUT2)) / udp(40000, 5353) / data(), turned(f"{PREFIX2}{OUT}", B) / udp(p, 53) / data()),
       send(ip6(B, f"{PREFIX2}{OUT}") / ICMPv6DestUnreach(code=4) / quote(ip6(f"{PREFIX2}{OUT}", B, 63) / udp(p, 53) / data()),
            turned(mapped(OUT2), A) / ICMPv6DestUnreach(code=4) / quote(ip6(A, mapped(OUT2), 63) / udp(40000, 5353) / data())))
requirement("3.8", MUST, "A packet that turns back and does not fit is an IPv6 host's: that is told, in its own family (RFC 7915 section 1.4).")
NARROW = nat64("nat64-narrow", PREFIX, more='static = [ { protocol = "udp", inside = "[2001:db8:1:b::1]:53", outside = "203.0.113.1:5353" } ]\n')
NARROW = NARROW[0], "[link]\nipv6-mtu = 1400\n" + NARROW[1]
big = ip6(A, mapped(OUT)) / udp(40000, 5353) / data(1401 - 48)
vector("hairpin-too-big", NARROW, reply(big, error6(ICMPv6PacketTooBig(mtu=1400), big), "too-big"))
requirement("3.3", MUST, "The session of the other host is found when the outgoing packet is there to turn back: one that does not fit keeps none alive.")
beyond = ip6(A, mapped(OUT)) / udp(40000, q) / data(1401 - 48)
told = error6(ICMPv6PacketTooBig(mtu=1400), beyond)
# It quotes the port, and the checksum that goes with that.
told.free += [(90, 2), (94, 2)]
vector("hairpin-too-big-refreshes-one-half", NARROW, OUT_FROM_B, *TURNED,
       reply(beyond, told, "too-big", at=200),
       no_binding(q, at=310))
requirement("5.4", MUST, "A binding cannot be made for a source inside the prefix, so that nothing loops.")
vector("hairpin-loop-refused", NAT64, drop(ip6(mapped(OUT), mapped(S)) / udp(500, 500), "loop"))
