"""RFC 6888: what a NAT of a provider does besides."""

from nat44_packets import *
from table import *

rfc(6888)
p, q, r = port("p"), port("q"), port("r")
q.differs, r.differs = ["p"], ["p", "q"]

requirement("3", MUST, "REQ-1: the requirements of UDP, TCP and ICMP are met.", see=[
    "rfc4787-4.1-same-mapping-for-all", "rfc5382-4.2-handshake-data-close", "rfc5508-3.1-echo"])
requirement("3", MUST, "REQ-2: pooling is paired by default.", tests=[
    "nat_subscriber::rfc4787_req2_a_subscriber_keeps_its_address"])
requirement("3", MUST, "REQ-3: the addresses of the pool need not be neighbours.")
FAR = nat44("nat44-two-far-addresses", pool=[("203.0.113.1", "1024-65535"), ("198.18.0.1", "1024-65535")])
vector("pool-of-two", FAR, drop(come(destination="198.18.0.1") / udp(53, 5353) / data(), "no-binding"),
       drop(come() / udp(53, 5353) / data(), "no-binding"))
requirement("3", MUST, "REQ-4 a: the ports of a subscriber are limited, by configuration.")
LIMITED = nat44("nat44-two-bindings", more="subscriber-bindings = 2\n")
third = go() / udp(40004) / data()
vector("binding-limit", LIMITED,
       through(go() / udp(40000) / data(), gone() / udp(p) / data()),
       through(go() / udp(40002) / data(), gone() / udp(q) / data()),
       reply(third, error4(ICMP(type=3, code=1), third), "subscriber-limit"),
       through(go(J) / udp(40004) / data(), gone() / udp(r) / data()))
requirement("3", MAY, "REQ-4 b: by transport protocol.", status="no: `subscriber-bindings` counts all of them")
requirement("3", SHOULD, "REQ-4 c: the work that a subscriber makes can be bounded, by the rate of new mappings.",
            tests=["rfc6888_req5_sessions_per_subscriber_and_second_are_bounded"])
requirement("3", SHOULD, "REQ-5, REQ-5 a: so is the state of a subscriber, by configuration.")
SESSIONS = nat44("nat44-two-sessions", more="subscriber-sessions = 2\n")
lost = go(server="198.51.100.3") / udp(40002) / data()
vector("session-limit", SESSIONS,
       through(go() / udp() / data(), gone() / udp(p) / data()),
       through(go(server=S2) / udp() / data(), gone(S2) / udp(p) / data()),
       reply(lost, error4(ICMP(type=3, code=1), lost), "subscriber-limit"))
requirement("3", SHOULD, "REQ-5 b: the rate can be limited at which a subscriber makes state.",
            tests=["rfc6888_req5_sessions_per_subscriber_and_second_are_bounded"])
requirement("3", MUST, "REQ-6: translation can be turned off for some destinations.")
EXEMPT = nat44("nat44-exempt", more='exempt = ["198.51.100.128/25"]\n')
vector("exempt-destination", EXEMPT,
       ignored(go(server="198.51.100.200") / udp() / data()),
       ignored(ip4("198.51.100.200", I) / udp(53, 40000) / data()),
       through(go() / udp() / data(), gone() / udp(p) / data()))
requirement("3", SHOULD, "REQ-7: filtering is endpoint-independent, or address-dependent.", see=[
    "rfc4787-5-anybody-may-answer", "rfc4787-5-address-dependent"])
requirement("3", SHOULD, "REQ-8: a port is not given to another for 120 seconds.",
            status="partly: for TCP, whose sessions are tracked, with address-dependent filtering and with deterministic blocks "
                   "it may be at once; other UDP ports are chosen at random among the free ones, so that it is unlikely")
requirement("3", MUST, "REQ-9: subscribers control their mappings by PCP.",
            status="yes: `[instance.pcp]`; shown by `crates/pcp/tests` and, in all engines, by the `up` tests `softwires::ports`")
requirement("3", SHOULD, "REQ-10: it can be managed.", status="yes: control socket, metrics, records")
requirement("3", MUST, "REQ-8: that time, and the number of such ports, can be configured.", status="no: no port waits")
requirement("3", MUST, "REQ-11 a: a packet that gets no mapping is dropped.")
requirement("3", SHOULD, "REQ-11 b: its sender is told Host Unreachable.")
requirement("3", MUST, "REQ-11 d: no mapping is deleted to make room for it.")
ONE = nat44("nat44-one-port", pool=[(OUT, "40000-40000")])
full = go(J) / udp() / data()
vector("pool-exhausted", ONE,
       through(go() / udp() / data(), gone() / udp(40000) / data()),
       reply(full, error4(ICMP(type=3, code=1), full), "pool-exhausted"),
       through(come() / udp(53, 40000) / data(), came() / udp(53, 40000) / data()))
requirement("3", SHOULD, "REQ-11 c: a management system is notified.",
            status="partly: `pool-exhausted`, `subscriber-limit` and `table-full` are metrics, for which an alert can be set")
requirement("4", SHOULD, "REQ-12: destinations are not logged, unless the operator has to.",
            tests=["rfc6888_req12_destinations_can_be_left_out"])
requirement("3", SHOULD, "REQ-13, REQ-14: ports are given in blocks, which are logged once.")
BLOCKS = nat44("nat44-blocks", more="port-blocks = { size = 64, per-subscriber = 1 }\n")
vector("port-block", BLOCKS,
       through(go() / udp() / data(), gone() / udp(p) / data()),
       through(come() / udp(53, p) / data(), came() / udp(53, 40000) / data()))
FIXED = nat44("nat44-deterministic", more='deterministic = { inside = "192.168.0.0/27", size = 1024 }\n')
# RFC 7422: 192.168.0.10 is subscriber 10, whose block begins at port 1024 + 10 * 1024.
block = port("block", low=11 * 1024, high=12 * 1024 - 1)
vector("deterministic-block", FIXED, through(go() / udp() / data(), gone() / udp(block) / data()))
requirement("3", SHOULD, "REQ-15: ports are hard to guess.", status="yes: they are random in the pool or the block")
