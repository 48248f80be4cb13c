"""RFC 6146 section 3.5.2: the TCP state machine and its timers."""

from configurations import nat64
from nat64_packets import *
from table import *

rfc(6146)
NAT64 = nat64(prefix=PREFIX)
ADDRESS_DEPENDENT = nat64("nat64-address-dependent", PREFIX, more='filtering = "address-dependent"\n')
ONE_PORT = nat64("nat64-one-port", PREFIX, pool=[(OUT, "40000-40000")])
p = Choice("p", 1024)


def outward(flags, at=None, server=S, to=None):
    """A segment from A, translated."""
    return send(out6(server=server) / tcp(flags), out4(server) / tcp(flags, to or p), at=at)


def inward(flags, at=None, server=S, to=None):
    """A segment from a server, translated."""
    return send(in4(server) / tcp(flags, 80, to or p), in6(server) / tcp(flags, 80, 40000), at=at)


def lost(flags, at=None, server=S, to=None, counter="no-binding"):
    """A segment from a server that finds no binding."""
    return drop(in4(server) / tcp(flags, 80, to or p), counter, at=at)


def tick(at):
    """A packet that only lets the clock move on."""
    return ignored(ip6(A, "2001:db8:2::1") / udp(), at=at)


OPEN = [outward("S", 0), inward("SA", 1), outward("A", 2)]

requirement("3.5.2.2", MUST, "CLOSED, V6 SYN: binding and session are made, the segment is forwarded; V6 INIT.")
vector("closed-v6-syn", NAT64, outward("S"), counters={"binding-created": 1, "session-created": 1})
requirement("5.2", MUST, "Mapping is endpoint-independent for TCP too.")
vector("tcp-two-destinations", NAT64, outward("S"), outward("S", server=S2),
       counters={"binding-created": 1, "session-created": 2})
requirement("3.5.2.2", MUST, "CLOSED, any other segment from inside without a binding: dropped silently.")
for flags in ("A", "F", "FA", "R", "PA"):
    vector(f"closed-v6-{flags.lower()}-dropped", NAT64, drop(out6() / tcp(flags), "tcp-not-syn"))
requirement("3.5.2.2", SHOULD, "CLOSED, any other segment, but a binding is there: forwarded, the state stays.")
vector("closed-v6-ack-with-binding", NAT64, outward("S"), outward("A", server=S2))
vector("closed-v4-ack-with-binding", NAT64, outward("S"), inward("A", server=S2))
requirement("3.5.2.2", MUST, "CLOSED, any other segment from outside without a binding: dropped silently.")
for flags in ("A", "FA", "R", "PA"):
    vector(f"closed-v4-{flags.lower()}-dropped", NAT64, lost(flags, to=40000))

requirement("3.5.2.2", MUST, "V6 INIT, V4 SYN: forwarded; ESTABLISHED, with a lifetime of at least 2 hours (and 4 minutes).")
vector("v6-init-v4-syn", NAT64, *OPEN, inward("A", 3))
vector("v6-init-v4-syn-without-ack", NAT64, outward("S", 0), inward("S", 1), outward("SA", 2), inward("A", 3))
vector("established-alive-after-7400-seconds", NAT64, outward("S", 0), inward("SA", 1), inward("A", 7400))
requirement("3.5.2.2", MUST, "V6 INIT, V6 SYN again: forwarded, and the lifetime starts anew.")
vector("v6-init-v6-syn-again", NAT64, outward("S", 0), outward("S", 200), inward("SA", 430))
requirement("3.5.2.2", SHOULD, "V6 INIT, anything else: forwarded.")
vector("v6-init-anything-else", NAT64, outward("S"), inward("R"), outward("A"))
requirement("3.5.2.2", MUST, "V6 INIT lasts at least 4 minutes; then the session is deleted.")
vector("v6-init-alive-after-239-seconds", NAT64, outward("S", 0), inward("SA", 239))
vector("v6-init-gone-after-241-seconds", NAT64, outward("S", 0), lost("A", 241))

requirement("3.5.2.2", MUST, "ESTABLISHED, anything: forwarded, and the lifetime starts anew.")
vector("established-refreshed-from-inside", NAT64, *OPEN, outward("A", 7000), inward("A", 14000))
vector("established-refreshed-from-outside", NAT64, *OPEN, inward("A", 7000), outward("A", 14000))
requirement("3.5.2.2", MUST, "ESTABLISHED, RST from either side: forwarded; TRANS, with 4 minutes.")
for name, reset in [("v4", inward), ("v6", outward)]:
    vector(f"established-{name}-rst-alive-after-239-seconds", NAT64, *OPEN, reset("R", 10), inward("A", 249))
    vector(f"established-{name}-rst-gone-after-241-seconds", NAT64, *OPEN, reset("R", 10), lost("A", 251))
requirement("3.5.2.2", MUST, "TRANS, anything but RST: back to ESTABLISHED and its lifetime. A FIN counts at once, as it "
            "does in RFC 6146 if it comes twice.")
vector("trans-data-back-to-established", NAT64, *OPEN, inward("R", 10), outward("A", 100), inward("A", 7000))
for name, first, second in [("v4", inward, outward), ("v6", outward, inward)]:
    vector(f"trans-{name}-fin-counts", NAT64, *OPEN, inward("R", 10), first("FA", 11), second("FA", 12), lost("A", 254))
vector("trans-rst-again-stays", NAT64, *OPEN, inward("R", 10), inward("R", 200), lost("A", 451))
requirement("3.5.2.2", MUST, "ESTABLISHED, FIN from one side: forwarded; the connection is half closed. Its lifetime starts anew, as it "
            "does in RFC 6146 if the FIN comes twice.")
for name, close, other in [("v4", inward, outward), ("v6", outward, inward)]:
    vector(f"established-{name}-fin-keeps-lifetime", NAT64, *OPEN, close("FA", 10), other("A", 11), other("A", 7000),
           close("A", 14000))
requirement("3.5.2.2", MUST, "FIN from the other side: forwarded; both have closed, 4 minutes are left.")
requirement("3.5.2.2", MUST, "Both closed: everything is forwarded until the time is over (a SYN opens the connection again: RFC 7857).")
for name, first, second in [("v4-v6", inward, outward), ("v6-v4", outward, inward)]:
    vector(f"fin-{name}-alive-after-239-seconds", NAT64, *OPEN, first("FA", 10), second("FA", 11), first("A", 12),
           inward("A", 250))
    vector(f"fin-{name}-gone-after-241-seconds", NAT64, *OPEN, first("FA", 10), second("FA", 11), lost("A", 252))
vector("fin-both-not-prolonged", NAT64, *OPEN, outward("FA", 10), inward("FA", 11), outward("A", 200), lost("A", 252))
requirement("3.5.2.2", MUST, "The lifetime of ESTABLISHED is not below 2 hours (and 4 minutes).")
refused("established-below-2-hours", nat64("nat64-established-7199", PREFIX, more="[instance.timers]\ntcp-established = 7199\n"),
        "tcp-established")
requirement("3.5.2.2", MAY, "It is configurable.")
THREE_HOURS = nat64("nat64-established-10800", PREFIX, more="[instance.timers]\ntcp-established = 10800\n")
vector("established-three-hours", THREE_HOURS, *OPEN, inward("A", 10700))
requirement("3.5.2.2", SHOULD, "When the lifetime of ESTABLISHED is over a probe is sent; the session then has 4 minutes more.",
            status="no: `tcp-established` is 2 hours and 4 minutes by default, the sum of both timers; no probe is sent")
requirement("3.5.2.1", MUST, "When the timer expires the session is deleted, and with the last session a dynamic BIB entry.")
vector("established-gone-after-all", NAT64, *OPEN, lost("A", 2 + 7440 + 241))

requirement("3.5.2.2", MUST, "CLOSED, V4 SYN, and the destination is in the BIB, without filtering: forwarded; V4 INIT. Here the "
            "answer makes the session: until then a stranger leaves nothing behind (section 5.3).")
vector("closed-v4-syn-with-binding", NAT64, outward("S"), inward("S", server=S2), counters={"session-created": 1})
vector("closed-v4-syn-with-binding-answered", NAT64, outward("S", 0), inward("S", 1, S2), outward("SA", 2, S2),
       counters={"session-created": 2})
requirement("3.5.2.2", MUST, "V4 INIT, V6 SYN: forwarded; ESTABLISHED. Here the inside has answered already, so that anything from "
            "outside but SYN and RST is enough, and a FIN counts.")
vector("v4-init-v6-syn", NAT64, outward("S", 0), inward("S", 1, S2), outward("SA", 2, S2), inward("A", 3, S2),
       inward("A", 7000, S2))
vector("v4-init-v4-fin-counts", NAT64, outward("S", 0), inward("S", 1, S2), outward("SA", 2, S2), inward("FA", 3, S2),
       outward("FA", 4, S2), lost("A", 246, S2))
requirement("3.5.2.2", MUST, "V4 INIT lasts at least 4 minutes without filtering; then the session is deleted.")
STATIC = nat64("nat64-static-tcp", PREFIX, more='static = [ { protocol = "tcp", inside = "[2001:db8:1:a::1]:40000", '
               'outside = "203.0.113.1:40000" } ]\n')
vector("v4-init-alive-after-239-seconds", STATIC, inward("S", 0, to=40000), outward("SA", 239, to=40000))

requirement("3.5.2.2", MUST, "CLOSED, V4 SYN, and the policy is to drop externally initiated connections: dropped silently. It is so where "
            "the destination is not in the BIB, or address-dependent filtering does not let the SYN in.")
syn = in4() / tcp("S", 80, 40000)
vector("closed-v4-syn-dropped", NAT64, drop(syn, "no-binding", at=0), tick(7))
ADF_ONE_PORT = nat64("nat64-address-dependent-one-port", PREFIX, pool=[(OUT, "40000-40000")],
                     more='filtering = "address-dependent"\n')
vector("closed-v4-syn-of-a-stranger", ADF_ONE_PORT,
       outward("S", 0, to=40000), lost("S", 1, S2, 40000, "filtered"), tick(8))
requirement("3.5.2.2", MUST, "Without that policy the SYN is kept for 6 seconds, and goes back in a Port Unreachable if no V6 SYN meets it.")
ANSWER = nat64("nat64-answer", PREFIX, pool=[(OUT, "40000-40000")], more='unsolicited-syn = "answer"\n')
ADF_ANSWER = nat64("nat64-answer-address-dependent", PREFIX, pool=[(OUT, "40000-40000")],
                   more='unsolicited-syn = "answer"\nfiltering = "address-dependent"\n')


def answered(packet, at):
    """The clock moves on, and this SYN is answered."""
    return Step(ip6(A, "2001:db8:2::1") / udp(), [error4(ICMP(type=3, code=3), packet)], {"not-ours": 1, "icmp-error-sent": 1}, at)


stranger = in4(S2) / tcp("S", 80, 40000)
vector("closed-v4-syn-answered", ANSWER, drop(syn, "no-binding", at=0), tick(5.9), answered(syn, 6.1), tick(7))
vector("closed-v4-syn-of-a-stranger-answered", ADF_ANSWER,
       outward("S", 0, to=40000), lost("S", 1, S2, 40000, "filtered"), tick(6.9), answered(stranger, 7.1), tick(8))
vector("closed-v4-syn-met", ANSWER, drop(syn, "no-binding", at=0), outward("S", 3, to=40000), inward("S", 4, to=40000), tick(7))
vector("closed-v4-syn-of-a-stranger-met", ADF_ANSWER, outward("S", 0, to=40000), lost("S", 1, S2, 40000, "filtered"),
       outward("S", 3, S2, 40000), inward("SA", 4, S2, 40000), tick(8))
requirement("3.5.2.2", SHOULD, "A simultaneous open works: here by the SYN that is sent again.")
vector("simultaneous-open", ONE_PORT,
       drop(syn, "no-binding", at=0), outward("S", 0.5, to=40000), inward("S", 1, to=40000), outward("SA", 2, to=40000),
       inward("A", 3, to=40000), inward("A", 7000, to=40000))

requirement("3.5.2.3", SHOULD, "A port of 0 to 1023 gets one of that range, if there is one; any other gets one above.")
ALL_PORTS = nat64("nat64-all-ports", PREFIX, pool=[(OUT, "1-65535")])
for sport in (22, 1023, 1024, 65535):
    low, high = (1, 1023) if sport < 1024 else (1024, 65535)
    vector(f"tcp-range-of-{sport}", ALL_PORTS, send(
        out6() / tcp("S", sport), out4() / tcp("S", Choice("x", low, high))))
requirement("3.5.2.3", SHOULD, "If nothing can be allocated the packet is dropped, and answered with Address Unreachable.")
full = out6(B) / tcp("S")
vector("tcp-pool-exhausted", ONE_PORT, outward("S", to=40000),
       reply(full, error6(ICMPv6DestUnreach(code=3), full), "pool-exhausted"))
requirement("5.2", MAY, "Sequence numbers are tracked to verify segments.", status="no: not done")
