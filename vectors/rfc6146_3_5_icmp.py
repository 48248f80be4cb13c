"""RFC 6146 sections 3.4, 3.5.3 and 3.6: ICMP queries, and ICMP errors through sessions."""

from configurations import nat64
from nat64_packets import *
from table import *

rfc(6146)
NAT64 = nat64(prefix=PREFIX)
ADDRESS_DEPENDENT = nat64("nat64-address-dependent", PREFIX, more='filtering = "address-dependent"\n')
STATIC_BINDINGS = """static = [
  { protocol = "udp", inside = "[2001:db8:1:a::1]:40000", outside = "203.0.113.1:50000" },
  { protocol = "tcp", inside = "[2001:db8:1:a::1]:40000", outside = "203.0.113.1:50000" },
]
"""
STATIC = nat64("nat64-static-both", PREFIX, more=STATIC_BINDINGS)
i, j = identifier("i"), None
j = identifier("j", differs=[i])


def ping6(host=A, server=S, id=7, seq=1):
    return out6(host, server) / ICMPv6EchoRequest(id=id, seq=seq, data=b"ping")


def ping4(server=S, id=i, seq=1):
    return out4(server) / ICMP(type=8, id=id, seq=seq) / Raw(b"ping")


def pong4(server=S, id=i, seq=1):
    return in4(server) / ICMP(type=0, id=id, seq=seq) / Raw(b"ping")


def pong6(server=S, host=A, id=7, seq=1):
    return in6(server, host) / ICMPv6EchoReply(id=id, seq=seq, data=b"ping")


def refused(packet, counter="no-binding", at=None):
    """A query that is dropped; an error may be sent."""
    may = Output(in4().copy() / ICMP(type=3, code=1) / Raw(bytes(28)), [(0, 56)], shortest=56, optional=True)
    return Step(packet, [may], {counter: 1}, at)


requirement("3.5.3", MUST, "An ICMPv6 query makes a binding of address and identifier, and a session; the identifier is any free one.")
vector("echo", NAT64, send(ping6(), ping4()), counters={"binding-created": 1, "session-created": 1})
requirement("5.2", MUST, "Mapping is endpoint-independent for queries too.")
vector("echo-two-destinations", NAT64, send(ping6(), ping4()), send(ping6(server=S2), ping4(S2)),
       counters={"binding-created": 1, "session-created": 2})
vector("echo-two-hosts", NAT64,
       send(ping6(A), ping4()), send(ping6(B), ping4(id=j)), send(pong4(id=j), pong6(host=B)), send(pong4(), pong6()))
vector("echo-two-identifiers", NAT64,
       send(ping6(id=7), ping4()), send(ping6(id=8), ping4(id=j)), send(pong4(id=j), pong6(id=8)))
requirement("3.5.3", MUST, "From outside, without an entry for address and identifier, a query is dropped.")
vector("echo-no-binding", NAT64, refused(in4() / ICMP(type=8, id=99, seq=1)))
vector("echo-reply-no-binding", NAT64, refused(in4() / ICMP(type=0, id=99, seq=1)))
requirement("3.5.3", MUST, "Through an entry a query from outside passes, from anywhere unless filtered.")
vector("echo-request-from-outside", NAT64,
       send(ping6(), ping4()),
       send(in4(S2) / ICMP(type=8, id=i, seq=5) / Raw(b"ping"), in6(S2) / ICMPv6EchoRequest(id=7, seq=5, data=b"ping")),
       send(out6(A, S2) / ICMPv6EchoReply(id=7, seq=5, data=b"ping"), out4(S2) / ICMP(type=0, id=i, seq=5) / Raw(b"ping")))
requirement("3.5.3", MUST, "With address-dependent filtering only addresses that the host sent to get through.")
vector("echo-address-dependent", ADDRESS_DEPENDENT,
       send(ping6(), ping4()), refused(pong4(S2), "filtered"), send(pong4(), pong6()))
requirement("3.5.3", MUST, "A session lives for 60 seconds by default.")
requirement("3.5.3", MUST, "When the timer expires the session is deleted, and with the last session a dynamic BIB entry.")
vector("echo-alive-after-59-seconds", NAT64, send(ping6(), ping4(), at=0), send(pong4(), pong6(), at=59))
vector("echo-gone-after-61-seconds", NAT64, send(ping6(), ping4(), at=0), refused(pong4(), at=61))
requirement("3.5.3", SHOULD, "The lifetime is configurable.")
QUICK = nat64("nat64-icmp-10", PREFIX, more="[instance.timers]\nicmp = 10\n")
vector("echo-10-seconds-alive", QUICK, send(ping6(), ping4(), at=0), send(pong4(), pong6(), at=9))
vector("echo-10-seconds-gone", QUICK, send(ping6(), ping4(), at=0), refused(pong4(), at=11))
requirement("3.5.3", MAY, "The policy can be to filter ICMPv6 queries.", status="no: there is no such option")

# The connections that errors complain about: UDP and TCP of A, behind 203.0.113.1:50000.
ROUTER4, ROUTER6 = "198.51.100.254", "2001:db8:7::1"
UDP6, UDP4 = out6(hlim=60) / udp() / data(), ip4(OUT, S, 60) / udp(50000) / data()
TCP6, TCP4 = out6(hlim=60) / tcp(), ip4(OUT, S, 60) / tcp(sport=50000)
OPENED = [send(out6() / udp() / data(), out4() / udp(50000) / data()), send(out6() / tcp("S"), out4() / tcp("S", 50000))]
ERRORS = [("port-unreachable", ICMP(type=3, code=3), ICMPv6DestUnreach(code=4)),
          ("fragmentation-needed", ICMP(type=3, code=4, nexthopmtu=1300), ICMPv6PacketTooBig(mtu=1320)),
          ("time-exceeded", ICMP(type=11, code=0), ICMPv6TimeExceeded(code=0))]
requirement("3.4", MUST, "The tuple of an ICMP error is that of the packet in error, turned around.")
requirement("3.6.1", MUST, "From IPv4: the source is represented under the prefix, the destination comes from the BIB.")
requirement("3.7", MUST, "The packet in error gets the addresses and ports of the outgoing tuple, turned around.")
for name, old, new in ERRORS:
    vector(f"error-{name}-4to6-udp", STATIC, *OPENED, send(
        ip4(ROUTER4, OUT) / old / quote(UDP4), ip6(mapped(ROUTER4), A, 63) / new / quote(UDP6)))
    vector(f"error-{name}-4to6-tcp-8-bytes", STATIC, *OPENED, send(
        ip4(ROUTER4, OUT) / old / quote(TCP4, 28), ip6(mapped(ROUTER4), A, 63) / new / quote(TCP6, 48)))
vector("error-from-the-server-4to6", STATIC, *OPENED, send(
    ip4(S, OUT) / ERRORS[0][1] / quote(UDP4), ip6(mapped(S), A, 63) / ERRORS[0][2] / quote(UDP6)))
BACK4, BACK6 = in4(ttl=60) / udp(53, 50000) / data(), in6(hlim=60) / udp(53, 40000) / data()
requirement("3.6.1", MUST, "From IPv6: the source is that of the BIB entry, the destination is taken from the prefix.")
for name, old, new in [("port-unreachable", ICMPv6DestUnreach(code=4), ICMP(type=3, code=3)),
                       ("too-big", ICMPv6PacketTooBig(mtu=1400), ICMP(type=3, code=4, nexthopmtu=1380)),
                       ("time-exceeded", ICMPv6TimeExceeded(code=0), ICMP(type=11, code=0))]:
    for who, source in [("host", A), ("router", ROUTER6)]:
        inner = in4(ttl=60, id=any_id()) / udp(53, 50000) / data()
        vector(f"error-{name}-6to4-of-the-{who}", STATIC, *OPENED, send(
            ip6(source, mapped(S)) / old / quote(BACK6), ip4(OUT, S, 63, id=any_id()) / new / quote(inner)))
requirement("1.2.3", MAY, "A router on the way to an inside host need not be inside itself.")
INSIDE = nat64("nat64-static-inside", PREFIX, more=STATIC_BINDINGS + f'inside = ["{A}/128"]\n')
inner = in4(ttl=60, id=any_id()) / udp(53, 50000) / data()
vector("error-of-a-router-that-is-not-inside", INSIDE, *OPENED, send(
    ip6(ROUTER6, mapped(S)) / ICMPv6TimeExceeded(code=0) / quote(BACK6),
    ip4(OUT, S, 63, id=any_id()) / ICMP(type=11, code=0) / quote(inner)))
requirement("3.6.2", MUST, "Errors about queries are found by address and identifier.")
vector("error-about-echo-4to6", NAT64, send(ping6(), ping4()), send(
    ip4(ROUTER4, OUT) / ICMP(type=11, code=0) / quote(ip4(OUT, S, 1) / ICMP(type=8, id=i, seq=1) / Raw(b"ping")),
    ip6(mapped(ROUTER4), A, 63) / ICMPv6TimeExceeded(code=0)
    / quote(ip6(A, mapped(S), 1) / ICMPv6EchoRequest(id=7, seq=1, data=b"ping"))))
requirement("3.5", MUST, "ICMP errors do not touch BIBs and sessions.")
lost_error = ip4(ROUTER4, OUT) / ICMP(type=3, code=3) / quote(ip4(OUT, S, 60) / udp(50001) / data())
vector("error-without-binding-dropped", STATIC, *OPENED, drop(lost_error, "icmp-inner"))
vector("error-does-not-prolong", NAT64,
       send(ping6(), ping4(), at=0),
       send(ip4(ROUTER4, OUT) / ICMP(type=11, code=0) / quote(ip4(OUT, S, 1) / ICMP(type=8, id=i, seq=1) / Raw(b"ping")),
            ip6(mapped(ROUTER4), A, 63) / ICMPv6TimeExceeded(code=0)
            / quote(ip6(A, mapped(S), 1) / ICMPv6EchoRequest(id=7, seq=1, data=b"ping")), at=50),
       refused(pong4(), at=61))
requirement("3.4", MUST, "An error whose tuple cannot be found, or that is about an error, is dropped silently.")
vector("error-too-short", STATIC, *OPENED, drop(
    ip4(ROUTER4, OUT) / ICMP(type=3, code=3) / quote(UDP4, 23), "icmp-inner"))
vector("error-about-gre", STATIC, *OPENED, drop(
    ip4(ROUTER4, OUT) / ICMP(type=3, code=3) / quote(ip4(OUT, S, proto=47) / data(24)), "icmp-inner"))
vector("error-about-an-error", STATIC, *OPENED, drop(
    ip4(ROUTER4, OUT) / ICMP(type=3, code=3) / quote(ip4(OUT, S) / ICMP(type=3, code=3) / quote(BACK4)), "icmp-nested"))
