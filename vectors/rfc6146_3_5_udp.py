"""RFC 6146 sections 3.1, 3.5.1 and 5.2: UDP bindings, filtering, allocation."""

from configurations import nat64
from nat64_packets import *
from table import *

rfc(6146)
NAT64 = nat64(prefix=PREFIX)
ADDRESS_DEPENDENT = nat64("nat64-address-dependent", PREFIX, more='filtering = "address-dependent"\n')
p, q, r = port("p"), None, None

requirement("5.2", MUST, "Mapping is endpoint-independent: one inner transport address has one outer one, for all destinations.")
requirement("3.1", MUST, "A transport address appears in at most one entry of a BIB, on either side.")
vector("udp-two-destinations", NAT64,
       send(out6() / udp() / data(), out4() / udp(p) / data()),
       send(out6(server=S2) / udp() / data(), out4(S2) / udp(p) / data()),
       send(out6(server=S) / udp(dport=123) / data(), out4() / udp(p, 123) / data()),
       counters={"binding-created": 1, "session-created": 3})
q = port("q", differs=[p])
vector("udp-two-hosts", NAT64,
       send(out6(A) / udp() / data(), out4() / udp(p) / data()),
       send(out6(B) / udp() / data(), out4() / udp(q) / data()),
       send(in4() / udp(53, p) / data(), in6(host=A) / udp(53, 40000) / data()),
       send(in4() / udp(53, q) / data(), in6(host=B) / udp(53, 40000) / data()),
       counters={"binding-created": 2, "session-created": 2})
odd = port("odd", "odd")
vector("udp-two-ports", NAT64,
       send(out6() / udp(40000) / data(), out4() / udp(p) / data()),
       send(out6() / udp(40001) / data(), out4() / udp(odd) / data()))

requirement("1.2.3", MAY, "Only IPv6 packets that the administrator allows make entries: those of hosts in `inside`.")
INSIDE = nat64("nat64-inside", PREFIX, more='inside = ["2001:db8:1:b::/64", "2001:db8:1:a::1/128"]\n')
vector("udp-inside", INSIDE,
       send(out6(A) / udp() / data(), out4() / udp(p) / data()),
       send(in4() / udp(53, p) / data(), in6(host=A) / udp(53, 40000) / data()))
vector("udp-not-inside", INSIDE,
       drop(out6(A2) / udp() / data(), "not-inside"),
       drop(out6(C) / udp() / data(), "not-inside"),
       send(out6(B) / udp() / data(), out4() / udp(p) / data()))
vector("tcp-not-inside", INSIDE, drop(out6(C) / tcp("S"), "not-inside"))
vector("echo-not-inside", INSIDE, drop(out6(C) / ICMPv6EchoRequest(id=7, seq=1), "not-inside"))
requirement("3.5.1", MUST, "From outside, without a BIB entry for the destination, a packet is dropped.")
lost = in4() / udp(53, 40000) / data(0)
unreachable = error4(ICMP(type=3, code=0), lost)
unreachable.free += [(21, 1), (22, 2)]
vector("udp-no-binding", NAT64, drop(lost, "no-binding", may=unreachable))
requirement("3.5.1", MUST, "Without filtering (endpoint-independent) a packet from anywhere goes through an entry.")
vector("udp-endpoint-independent-filtering", NAT64,
       send(out6() / udp() / data(), out4() / udp(p) / data()),
       send(in4(S2) / udp(9999, p) / data(), in6(S2) / udp(9999, 40000) / data()))
requirement("3.5.1", MUST, "A packet from outside without a session makes one. Here the answer to it does: until then a stranger "
            "leaves nothing behind (section 5.3).")
vector("udp-strangers-make-no-session", NAT64,
       send(out6() / udp() / data(), out4() / udp(p) / data()),
       *[send(in4(S2) / udp(port, p) / data(), in6(S2) / udp(port, 40000) / data()) for port in range(9000, 9008)],
       counters={"session-created": 1})
vector("udp-an-answer-makes-the-session", NAT64,
       send(out6() / udp() / data(), out4() / udp(p) / data()),
       send(in4(S2) / udp(9999, p) / data(), in6(S2) / udp(9999, 40000) / data()),
       send(out6(server=S2) / udp(40000, 9999) / data(), out4(S2) / udp(p, 9999) / data()),
       counters={"session-created": 2})
requirement("3.5.1", MUST, "With address-dependent filtering only addresses that the host sent to get through, from any port.")
stranger = in4(S2) / udp(53, p)
vector("udp-address-dependent-same-address", ADDRESS_DEPENDENT,
       send(out6() / udp() / data(), out4() / udp(p) / data()),
       send(in4(S) / udp(9999, p) / data(), in6(S) / udp(9999, 40000) / data()))
refusal = Output(error4(ICMP(type=3, code=13), ip4(S2, OUT) / udp(53, 0)).packet, [*OWN4, (20, 36)], optional=True)
vector("udp-address-dependent-stranger", ADDRESS_DEPENDENT,
       send(out6() / udp() / data(), out4() / udp(p) / data()),
       Step(stranger, [refusal], {"filtered": 1}))
vector("udp-address-dependent-after-sending", ADDRESS_DEPENDENT,
       send(out6() / udp() / data(), out4() / udp(p) / data()),
       send(out6(server=S2) / udp() / data(), out4(S2) / udp(p) / data()),
       send(in4(S2) / udp(53, p) / data(), in6(S2) / udp(53, 40000) / data()))

requirement("3.5.1", SHOULD, "A session lives for at least 5 minutes by default, from its latest packet.")
vector("udp-alive-after-299-seconds", NAT64,
       send(out6() / udp() / data(), out4() / udp(p) / data(), at=0),
       send(in4() / udp(53, p) / data(), in6() / udp(53, 40000) / data(), at=299))
vector("udp-refreshed-from-inside", NAT64,
       send(out6() / udp() / data(), out4() / udp(p) / data(), at=0),
       send(out6() / udp() / data(), out4() / udp(p) / data(), at=250),
       send(in4() / udp(53, p) / data(), in6() / udp(53, 40000) / data(), at=540))

requirement("3.5.1", MUST, "When the timer expires the session is deleted, and with the last session a dynamic BIB entry.")
vector("udp-gone-after-301-seconds", NAT64,
       send(out6() / udp() / data(), out4() / udp(p) / data(), at=0), no_binding(p, at=301))
requirement("3.5.1", MAY, "The lifetime is configurable.")
TWO_MINUTES = nat64("nat64-udp-120", PREFIX, more="[instance.timers]\nudp = 120\n")
vector("udp-120-seconds-alive", TWO_MINUTES,
       send(out6() / udp() / data(), out4() / udp(p) / data(), at=0),
       send(in4() / udp(53, p) / data(), in6() / udp(53, 40000) / data(), at=119))
vector("udp-120-seconds-gone", TWO_MINUTES,
       send(out6() / udp() / data(), out4() / udp(p) / data(), at=0), no_binding(p, at=121))
requirement("3.5.1", MUST, "The lifetime is not below 2 minutes.")
refused("udp-lifetime-below-2-minutes", nat64("nat64-udp-119", PREFIX, more="[instance.timers]\nudp = 119\n"), "udp")

requirement("3.5.1.1", SHOULD, "A host keeps the IPv4 address that it has.")
PAIR = nat64("nat64-two-addresses", PREFIX, pool=[("203.0.113.0/31", "1024-65535")])
t = Choice("t", 0x7100, 0x7101)
q1, q2, i1 = port("q1"), port("q2", "odd"), identifier("i1")


def from_pool(packet, l4=None):
    """A packet whose source is either address of the pool."""
    return Output(packet, words=[(t, 14, [10] + ([l4] if l4 else []))])


vector("udp-paired-address", PAIR,
       send(out6() / udp(40000) / data(), from_pool(out4(source="203.0.0.0") / udp(q1) / data(), 26)),
       send(out6() / udp(40001) / data(), from_pool(out4(source="203.0.0.0") / udp(q2) / data(), 26)))
requirement("3.5.2.3", SHOULD, "So it does for TCP, if any BIB has one.")
vector("tcp-paired-with-udp", PAIR,
       send(out6() / udp(40000) / data(), from_pool(out4(source="203.0.0.0") / udp(q1) / data(), 26)),
       send(out6() / tcp("S", 40001), from_pool(out4(source="203.0.0.0") / tcp("S", Choice("q3", 1024)), 36)))
requirement("3.5.3", MUST, "And for ICMP queries.")
vector("echo-paired-with-udp", PAIR,
       send(out6() / udp(40000) / data(), from_pool(out4(source="203.0.0.0") / udp(q1) / data(), 26)),
       send(out6() / ICMPv6EchoRequest(id=7, seq=1), from_pool(out4(source="203.0.0.0") / ICMP(type=8, id=i1, seq=1))))

ALL_PORTS = nat64("nat64-all-ports", PREFIX, pool=[(OUT, "1-65535")])
requirement("3.5.1.1", SHOULD, "A port of 0 to 1023 gets one of that range, if there is one; any other gets one above.")
for sport, parity in [(53, "odd"), (500, "even"), (1023, "odd"), (1024, "even"), (65535, "odd"), (40000, "even")]:
    low, high = (1, 1023) if sport < 1024 else (1024, 65535)
    vector(f"udp-range-of-{sport}", ALL_PORTS, send(
        out6() / udp(sport) / data(), out4() / udp(port("x", parity, low, high)) / data()))
requirement("3.5.1.1", SHOULD, "The parity of the port is kept.")
for sport in (40002, 40003, 1025, 65534):
    vector(f"udp-parity-of-{sport}", NAT64, send(
        out6() / udp(sport) / data(), out4() / udp(port("x", "odd" if sport % 2 else "even")) / data()))
requirement("3.5.1.1", MAY, "If the range has no port left another one serves.")
vector("udp-range-not-in-the-pool", NAT64, send(
    out6() / udp(53) / data(), out4() / udp(port("x", None)) / data()))
requirement("3.5.1.1", MUST, "An outer transport address is in one entry of a BIB only, but may be in other BIBs.")
ONE_PORT = nat64("nat64-one-port", PREFIX, pool=[(OUT, "40000-40000")])
vector("one-port-in-three-bibs", ONE_PORT,
       send(out6() / udp() / data(), out4() / udp(40000) / data()),
       send(out6() / tcp("S"), out4() / tcp("S", 40000)),
       send(out6(B) / ICMPv6EchoRequest(id=7, seq=1), out4() / ICMP(type=8, id=identifier("i"), seq=1)))
requirement("3.5.1.1", SHOULD, "If nothing can be allocated the packet is dropped, and answered with Address Unreachable.")
lost = out6(B) / udp() / data()
vector("udp-pool-exhausted", ONE_PORT,
       send(out6(A) / udp() / data(), out4() / udp(40000) / data()),
       reply(lost, error6(ICMPv6DestUnreach(code=3), lost), "pool-exhausted"))
vector("udp-port-free-again", ONE_PORT,
       send(out6(A) / udp() / data(), out4() / udp(40000) / data(), at=0),
       send(out6(B) / udp() / data(), out4() / udp(40000) / data(), at=301),
       send(in4() / udp(53, 40000) / data(), in6(host=B) / udp(53, 40000) / data(), at=302))

STATIC = nat64("nat64-static", PREFIX, more='static = [\n  { protocol = "udp", inside = "[2001:db8:1:a::1]:53", outside = "203.0.113.1:53" },\n'
               '  { protocol = "tcp", inside = "[2001:db8:1:a::1]:80", outside = "203.0.113.1:8080" },\n]\n')
requirement("3.1", SHOULD, "Entries can be made by hand, in any BIB.")
vector("static-udp-inbound", STATIC,
       send(in4() / udp(5000, 53) / data(), in6() / udp(5000, 53) / data()),
       send(out6() / udp(53, 5000) / data(), out4() / udp(53, 5000) / data()))
vector("static-udp-outbound", STATIC, send(out6() / udp(53, 5000) / data(), out4() / udp(53, 5000) / data()))
vector("static-tcp-inbound", STATIC,
       send(in4() / tcp("S", 5000, 8080), in6() / tcp("S", 5000, 80)),
       send(out6() / tcp("SA", 80, 5000), out4() / tcp("SA", 8080, 5000)))
vector("static-wrong-protocol", STATIC, no_binding(8080, sport=5000, at=0))
requirement("3.1", MUST, "They stay when their sessions are gone.")
vector("static-survives", STATIC,
       send(in4() / udp(5000, 53) / data(), in6() / udp(5000, 53) / data(), at=0),
       send(in4() / udp(5000, 53) / data(), in6() / udp(5000, 53) / data(), at=1000))

requirement("5.3", MUST, "Bindings and sessions are bounded.")
FEW = nat64("nat64-sixteen-sessions", PREFIX, bounds="max-sessions = 16\nmax-bindings = 16\nmax-subscribers = 64\n")
lost = out6(server=S3) / udp(42000) / data()
own = [port(f"p{n}") for n in range(16)]
FILLED = [send(out6() / udp(41000 + 2 * n) / data(), out4() / udp(own[n]) / data()) for n in range(16)]
vector("session-table-full", FEW, *FILLED,
       drop(lost, "table-full", may=error6(ICMPv6DestUnreach(code=3), lost)))
requirement("5.3", MAY, "A packet that finds no room for its session passes by its binding, where the filtering needs no session: "
                        "so strangers whom a host answers cannot use its sessions up.")
vector("session-table-full-known-endpoint", FEW, *FILLED,
       send(out6(server=S3) / udp(41000) / data(), out4(S3) / udp(own[0]) / data()),
       send(in4(S3) / udp(53, own[0]) / data(), in6(S3) / udp(53, 41000) / data()))
SAME = [send(out6(server=f"192.0.2.{n}") / udp() / data(), out4(f"192.0.2.{n}") / udp(p) / data()) for n in range(1, 17)]
requirement("5.3", MAY, "The last eighth of the sessions is for endpoints without a binding, so that the answers of one do not take it.")
vector("sessions-left-to-others", FEW, *SAME, send(out6(B) / udp() / data(), out4() / udp(q) / data()),
       send(out6(B, S2) / udp(40002) / data(), out4(S2) / udp(port("r", differs=[p, q])) / data()),
       drop(lost, "table-full", may=error6(ICMPv6DestUnreach(code=3), lost)))
DEPENDENT = nat64("nat64-sixteen-sessions-address-dependent", PREFIX, more='filtering = "address-dependent"\n',
                  bounds="max-sessions = 16\nmax-bindings = 16\nmax-subscribers = 64\n")
unknown = out6(server=S3) / udp() / data()
vector("session-table-full-address-dependent", DEPENDENT, *SAME,
       drop(unknown, "table-full", may=error6(ICMPv6DestUnreach(code=3), unknown)))
GREEDY = nat64("nat64-two-sessions-per-subscriber", PREFIX, more="subscriber-sessions = 2\n")
vector("subscriber-limit", GREEDY,
       send(out6(A, S) / udp() / data(), out4(S) / udp(p) / data()),
       send(out6(A, S2) / udp() / data(), out4(S2) / udp(p) / data()),
       drop(lost, "subscriber-limit", may=error6(ICMPv6DestUnreach(code=3), lost)),
       send(out6(B, S) / udp() / data(), out4(S) / udp(q) / data()))
requirement("5.3", SHOULD, "Who sends from the addresses of many hosts cannot take all sessions.",
            tests=["a_network_of_spoofed_subscribers_leaves_places_to_newcomers",
                   "a_wide_network_cannot_take_all_with_many_narrow_ones"])

requirement("3.5.4", MUST, "IPv6 representations follow RFC 6052, for any prefix length up to 96.")
for length, server in [(32, "2001:db8:c000:201::"), (40, "2001:db8:1c0:2:1::"), (48, "2001:db8:122:c000:2:100::"),
                       (56, "2001:db8:122:3c0:0:201::"), (64, "2001:db8:122:344:c0:2:100::")]:
    prefix = {32: "2001:db8::/32", 40: "2001:db8:100::/40", 48: "2001:db8:122::/48", 56: "2001:db8:122:300::/56",
              64: "2001:db8:122:344::/64"}[length]
    host = "2001:dead::1"
    vector(f"prefix-{length}", nat64(f"nat64-prefix-{length}", prefix),
           send(ip6(host, server) / udp() / data(), out4() / udp(p) / data()),
           send(in4() / udp(53, p) / data(), ip6(server, host, 63) / udp(53, 40000) / data()))
requirement("3.5.4", SHOULD, "Without a prefix in the configuration the well-known one is used.",
            status="no: `prefix` must be written down, so that nobody translates under a prefix by accident")
requirement("3.5.4", MUST, "The mapping is reversible and depends on the IPv4 address, the prefix and the configuration only.",
            see=["rfc6146-3.5.4-prefix-32", "rfc6146-3.5.4-prefix-64"])
requirement("5.2", MAY, "Mapping can be address-dependent.", status="no: it is always endpoint-independent")
requirement("5.3", MAY, "Packets from outside do not prolong a session.", status="no: they do, as section 3.5 says")
