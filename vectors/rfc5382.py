"""RFC 5382: what a NAT within IPv4 does to TCP."""

from nat44_packets import *
from table import *

rfc(5382)
p, q, n = port("p"), port("q"), port("n")
q.differs = ["p"]


def out(flags, at=None, sport=40000, dport=80, server=S):
    return through(go(server=server) / tcp(flags, sport, dport), gone(server) / tcp(flags, p, dport), at=at)


def into(flags, at=None, server=S):
    return through(come(server) / tcp(flags, 80, p), came(server) / tcp(flags, 80, 40000), at=at)


OPEN = [out("S", 0), into("SA", 1), out("A", 2)]
requirement("4.1", MUST, "REQ-1: a mapping is independent of the endpoint that is spoken to.")
vector("same-mapping-for-all", NAT44, *OPEN, out("S", server=S2), out("S", dport=443))
requirement("4.2", MUST, "REQ-2: every valid sequence of segments passes, the simultaneous open among them.")
vector("handshake-data-close", NAT44, *OPEN,
       through(go() / tcp("PA") / data(512), gone() / tcp("PA", p) / data(512)), into("A"), out("FA"), into("FA"), out("A"))
vector("simultaneous-open", NAT44, out("S", 0), into("S", 1), out("SA", 2), into("A", 3), out("PA", 7000))
vector("from-outside", STATIC,
       through(come() / tcp("S", 5000, 8080), came() / tcp("S", 5000, 80)),
       through(go() / tcp("SA", 80, 5000), gone() / tcp("SA", 8080, 5000)),
       through(come() / tcp("A", 5000, 8080), came() / tcp("A", 5000, 80)))
requirement("4.2", MUST, "A segment without a connection opens none.")
vector("no-syn-no-binding", NAT44, drop(go() / tcp("A"), "tcp-not-syn"))
requirement("4.3", SHOULD, "REQ-3: filtering is independent of the endpoint, or of its port.")
vector("anybody-may-open", NAT44, out("S"), into("S", server=S2))
requirement("4.3", MUST, "REQ-4: nobody is told of an unsolicited SYN for 6 seconds.")
requirement("4.3", SHOULD, "REQ-4: after that Port Unreachable is sent, if the operator wants it.")
ANSWER = nat44("nat44-answer", more='unsolicited-syn = "answer"\n')
CAREFUL = nat44("nat44-answer-address-dependent", pool=[(OUT, "40000-40000")], more='unsolicited-syn = "answer"\nfiltering = "address-dependent"\n')
stray = come() / tcp("S", 80, 8080)
refusal = error4(ICMP(type=3, code=3), stray)


def ask(at, *before):
    """A datagram that passes by, so that the clock goes on; `before` it comes what the time brings about."""
    return through(go() / udp() / data(), *before, gone() / udp(n) / data(), at=at,
                   counters={"translated-4to4": 1, "icmp-error-sent": len(before)})


vector("unsolicited-syn-answered", ANSWER, drop(stray, "no-binding", at=0), ask(5.9), ask(6.1, refusal), ask(12))
vector("unsolicited-syn-sent-again", ANSWER, drop(stray, "no-binding", at=0), drop(stray, "no-binding", at=1),
       ask(6.5, refusal), ask(8))
vector("unsolicited-syn-ack", ANSWER, drop(come() / tcp("SA", 80, 8080), "no-binding", at=0), ask(6.5))
vector("unsolicited-segment", ANSWER, drop(come() / tcp("A", 80, 8080), "no-binding", at=0), ask(6.5))
filtered = come() / tcp("S", 80, 40000)
vector("unsolicited-syn-filtered", CAREFUL, out("S", 0, server=S2), drop(filtered, "filtered", at=1),
       ask(7.5, error4(ICMP(type=3, code=3), filtered)))
requirement("4.3", MUST, "REQ-4: the SYN is dropped silently if an outbound SYN for the connection comes in these 6 seconds.")
vector("unsolicited-syn-met", CAREFUL, out("S", 0, server=S2), drop(filtered, "filtered", at=1), out("S", 4), into("SA", 5), ask(7.5))
requirement("4.3", MUST, "REQ-4: the unsolicited SYN itself is not forwarded.")
vector("unsolicited-syn", NAT44, drop(come() / tcp("S", 80, 8080), "no-binding"))
requirement("5", MUST, "REQ-5: an established connection may be idle for 2 hours and 4 minutes, one that opens or closes for 4 minutes.")
vector("established-alive-after-2-hours-4-minutes", NAT44, *OPEN, into("A", 7441))
vector("half-open-alive-after-239-seconds", NAT44, out("S", 0), into("SA", 239))
vector("half-open-gone-after-242-seconds", NAT44, out("S", 0), drop(come() / tcp("SA", 80, p), "no-binding", at=242))
vector("closed-gone-after-4-minutes", NAT44, *OPEN, out("FA", 3), into("FA", 4), out("A", 5),
       drop(come() / tcp("A", 80, p), "no-binding", at=250))
refused("established-below-2-hours-4-minutes",
        nat44("nat44-established-7439", more="[instance.timers]\ntcp-established = 7439\n"), "tcp-established")
requirement("6.1", MUST, "REQ-7: a port is not shared by two hosts.")
vector("no-overloading", NAT44, out("S"), through(go(J) / tcp("S"), gone() / tcp("S", q)),
       through(come() / tcp("SA", 80, q), came(host=J) / tcp("SA", 80, 40000)))
requirement("6.2", MUST, "REQ-8: hairpinning, with the outside address and port as the source.")
vector("hairpin", STATIC,
       turned(go(J, OUT) / tcp("S", 50000, 8080), came(OUT, I) / tcp("S", p, 80)),
       turned(go(I, OUT) / tcp("SA", 80, p), came(OUT, J) / tcp("SA", 8080, 50000)),
       turned(go(J, OUT) / tcp("A", 50000, 8080), came(OUT, I) / tcp("A", p, 80)))
requirement("6.3", SHOULD, "REQ-9: Destination Unreachable about a segment is translated.")
requirement("6.4", MUST, "REQ-10: no ICMP message ends a mapping or a connection.")
sent = gone() / tcp("S", p), gone(source=I) / tcp("S")
vector("unreachable", NAT44, out("S"),
       through(come() / ICMP(type=3, code=1) / quote(sent[0]), came() / ICMP(type=3, code=1) / quote(sent[1])), into("SA"))
vector("unreachable-8-bytes", NAT44, out("S"),
       through(come("198.51.100.254") / ICMP(type=3, code=4, nexthopmtu=1400) / quote(sent[0], 28),
               came("198.51.100.254") / ICMP(type=3, code=4, nexthopmtu=1400) / quote(sent[1], 28)), into("SA"))
CLAMP = nat44("nat44-clamp", more='mss-clamp = "auto"\n', link="ipv4-mtu = 1400")
vector("mss-clamp", CLAMP,
       through(go() / tcp("S", options=[("MSS", 1460)]), gone() / tcp("S", p, options=[("MSS", 1360)])),
       through(come() / tcp("SA", 80, p, options=[("MSS", 1460)]), came() / tcp("SA", 80, 40000, options=[("MSS", 1360)])))
