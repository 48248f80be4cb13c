"""RFC 4787: what a NAT within IPv4 does to UDP."""

from nat44_packets import *
from table import *

rfc(4787)
p, q = port("p"), port("q")
q.differs = ["p"]
ADF = nat44("nat44-address-dependent", more='filtering = "address-dependent"\n')

requirement("4.1", MUST, "REQ-1: a mapping is independent of the endpoint that is spoken to.")
vector("same-mapping-for-all", NAT44,
       through(go() / udp() / data(), gone() / udp(p) / data()),
       through(go(server=S2) / udp() / data(), gone(S2) / udp(p) / data()),
       through(go() / udp(dport=54) / data(), gone() / udp(p, 54) / data()),
       through(come() / udp(53, p) / data(), came() / udp(53, 40000) / data()))
vector("fields-stay", NAT44, through(
    go(tos=0xb9, id=0xfedc, flags="DF") / udp() / data(), gone(tos=0xb9, id=0xfedc, flags="DF") / udp(p) / data()))
vector("without-checksum", NAT44,
       through(go() / udp(chksum=0) / data(), gone() / udp(p, chksum=0) / data()),
       through(come() / udp(53, p, chksum=0) / data(), came() / udp(53, 40000, chksum=0) / data()))
OPTIONS = [IPOption_RR(routers=["0.0.0.0"])]
vector("options-stay", NAT44, through(
    go(options=OPTIONS) / udp() / data(), gone(options=OPTIONS) / udp(p) / data()))
requirement("4.1", SHOULD, "REQ-2: the mappings of a host have the same address of the pool (paired).", tests=[
    "nat_subscriber::rfc4787_req2_a_subscriber_keeps_its_address"])
requirement("4.2.1", MUST, "REQ-3: a port is not shared by two hosts.")
vector("no-overloading", NAT44,
       through(go() / udp() / data(), gone() / udp(p) / data()),
       through(go(J) / udp() / data(), gone() / udp(q) / data()),
       through(come() / udp(53, q) / data(), came(host=J) / udp(53, 40000) / data()))
requirement("4.2.2", SHOULD, "REQ-4: the parity of the port stays.")
odd = port("odd", "odd")
vector("parity", NAT44,
       through(go() / udp() / data(), gone() / udp(p) / data()),
       through(go() / udp(40001) / data(), gone() / udp(odd) / data()))
requirement("4.3", MUST, "REQ-5: a mapping lives for 2 minutes at least; 5 by default.")
opened = through(go() / udp() / data(), gone() / udp(p) / data(), at=0)
vector("alive-after-299-seconds", NAT44, opened, through(come() / udp(53, p) / data(), came() / udp(53, 40000) / data(), at=299))
vector("gone-after-302-seconds", NAT44, opened, drop(come() / udp(53, p) / data(), "no-binding", at=302))
refused("lifetime-below-2-minutes", nat44("nat44-udp-119", more="[instance.timers]\nudp = 119\n"), "udp")
requirement("4.3", MUST, "REQ-6: a packet from inside prolongs the mapping.")
vector("outbound-refreshes", NAT44, opened,
       through(go() / udp() / data(), gone() / udp(p) / data(), at=250),
       through(come() / udp(53, p) / data(), came() / udp(53, 40000) / data(), at=500))
requirement("5", SHOULD, "REQ-8: filtering is independent of the endpoint, or of its port.")
vector("anybody-may-answer", NAT44, opened, through(come(S2) / udp(9, p) / data(), came(S2) / udp(9, 40000) / data()))
vector("address-dependent", ADF, opened, drop(come(S2) / udp(53, p) / data(), "filtered"),
       through(come() / udp(9, p) / data(), came() / udp(9, 40000) / data()))
vector("without-binding", NAT44, drop(come() / udp(53, 5353) / data(), "no-binding"))
requirement("6", MUST, "REQ-9: hairpinning, with the outside address and port as the source.")
OUT_FROM_J = through(go(J) / udp(50000) / data(), gone() / udp(q) / data())
TURNED = [
    turned(go(server=OUT) / udp(40000, q) / data(), came(OUT, J) / udp(p, 50000) / data()),
    turned(go(J, OUT) / udp(50000, p) / data(), came(OUT, I) / udp(q, 40000) / data()),
]
vector("hairpin", NAT44, OUT_FROM_J, *TURNED)
vector("hairpin-goes-on", NAT44, OUT_FROM_J, *TURNED, *TURNED)
vector("hairpin-static", STATIC, turned(go(J, OUT) / udp(50000, 5353) / data(), came(OUT, I) / udp(p, 53) / data()))
requirement("7", MUST, "REQ-10: gateways of applications are off.", status="yes: there are none")
requirement("8", MUST, "REQ-11: the behaviour is the same at all times.", see=["rfc4787-4.2.1-no-overloading"])
requirement("9", MUST, "REQ-12: an ICMP error does not end a mapping.")
about = gone() / udp(p) / data()
vector("survives-errors", NAT44, opened,
       through(come() / ICMP(type=3, code=3) / quote(about), came() / ICMP(type=3, code=3) / quote(gone(source=I) / udp() / data())),
       through(come() / udp(53, p) / data(), came() / udp(53, 40000) / data()))
requirement("10", MUST, "REQ-13: a packet that does not fit, with DF, is answered with Fragmentation Needed.")
NARROW = nat44("nat44-narrow", link="ipv4-mtu = 1400")
long = go(flags="DF") / udp() / data(1400)
vector("too-big", NARROW, reply(long, error4(ICMP(type=3, code=4, nexthopmtu=1400), long), "too-big"))
whole = go() / udp() / data(1400), gone() / udp(p) / data(1400)
vector("cut-without-df", NARROW, through(
    whole[0], fragment4(whole[1], 0, 1376), fragment4(whole[1], 1376), counters={"translated-4to4": 1, "split": 1}))
requirement("11", MUST, "REQ-14: fragments are translated, in order and out of order; resources for them are bounded.")
SPANS = [(0, 504), (504, 1000), (1000, None)]
vector("fragments-in-order", NAT44, *[through(fragment4(whole[0], *s), fragment4(whole[1], *s)) for s in SPANS])
vector("fragments-out-of-order", NAT44,
       held(fragment4(whole[0], *SPANS[2])), held(fragment4(whole[0], *SPANS[1])),
       through(fragment4(whole[0], *SPANS[0]), *[fragment4(whole[1], *s) for s in SPANS], any_order=True))
back = come() / udp(53, p) / data(1400), came() / udp(53, 40000) / data(1400)
vector("fragments-inbound", NAT44, opened, held(fragment4(back[0], *SPANS[1])),
       through(fragment4(back[0], *SPANS[0]), fragment4(back[1], *SPANS[0]), fragment4(back[1], *SPANS[1]), any_order=True),
       through(fragment4(back[0], *SPANS[2]), fragment4(back[1], *SPANS[2])))
vector("fragment-without-the-first", NAT44, held(fragment4(whole[0], *SPANS[1])), counters={"fragment-timeout": 1})
requirement("3", MUST, "Only packets from inside to outside, and to the pool, are the NAT's.")
vector("not-between-inside-hosts", NAT44, ignored(go(server=J) / udp() / data()))
vector("not-from-elsewhere", NAT44, ignored(ip4(S2, S) / udp() / data()))
requirement("3", MUST, "It is a router: TTL counts down, and its end is told.")
last = go(ttl=1) / udp() / data()
vector("ttl-one", NAT44, reply(last, error4(ICMP(type=11, code=0), last), "hop-limit-exceeded"))
