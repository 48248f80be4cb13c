"""RFC 5508: what a NAT within IPv4 does to ICMP."""

from nat44_packets import *
from table import *

rfc(5508)
i, j, p, q = identifier("i"), identifier("j"), port("p"), port("q")
j.differs, q.differs = ["i"], ["p"]
ROUTER, INSIDE_ROUTER = "198.51.100.254", "192.168.7.1"


def ping(id=7, kind=8):
    return ICMP(type=kind, id=id, seq=3) / Raw(b"ping")


ASK = through(go() / ping(), gone() / ping(i), at=0)
requirement("3.1", MUST, "REQ-1: a query from inside and its answer pass, with an identifier that no other host has.")
vector("echo", NAT44, ASK, through(come() / ping(i, 0), came() / ping(7, 0)))
vector("echo-two-hosts", NAT44, ASK, through(go(J) / ping(), gone() / ping(j)),
       through(come() / ping(j, 0), came(host=J) / ping(7, 0)))
requirement("3.1", SHOULD, "REQ-1 a: the identifier is the same for all hosts that are asked.")
vector("echo-endpoint-independent", NAT44, ASK, through(go(server=S2) / ping(), gone(S2) / ping(i)))
large = go() / ICMP(type=8, id=7, seq=3) / data(1600), gone() / ICMP(type=8, id=i, seq=3) / data(1600)
requirement("3.1", MUST, "Queries in fragments pass.")
vector("echo-in-fragments", NAT44,
       held(fragment4(large[0], 0, 1000)),
       through(fragment4(large[0], 1000), fragment4(large[1], 0, 1480), fragment4(large[1], 1480),
               counters={"translated-4to4": 1, "split": 1}))
requirement("3.1", MUST, "REQ-1: so do all other queries with an identifier: timestamp, information, address mask "
            "(RFC 792, RFC 950), extended echo (RFC 8335).")


def query(kind, id):
    """Any ICMP message: type, code, identifier, sequence number, and 12 bytes."""
    return Query(type=kind, id=id) / data(12)


for name, ask, answer in [("timestamp", 13, 14), ("information", 15, 16), ("address-mask", 17, 18), ("extended-echo", 42, 43)]:
    vector(name, NAT44, through(go() / query(ask, 7), gone() / query(ask, i)),
           through(come() / query(answer, i), came() / query(answer, 7)))
vector("timestamp-two-hosts", NAT44, through(go() / query(13, 7), gone() / query(13, i)),
       through(go(J) / query(13, 7), gone() / query(13, j)),
       through(come() / query(14, j), came(host=J) / query(14, 7)))
vector("timestamp-reply-without-binding", NAT44, drop(come() / query(14, 7), "no-binding"))
vector("inbound-about-timestamp", NAT44, through(go() / query(13, 7), gone() / query(13, i)),
       through(come(ROUTER) / ICMP(type=3, code=1) / quote(gone() / query(13, i)),
               came(ROUTER) / ICMP(type=3, code=1) / quote(gone(source=I) / query(13, 7))))
requirement("3.2", MUST, "REQ-2: a query session lives for 60 seconds at least.")
vector("alive-after-59-seconds", NAT44, ASK, through(come() / ping(i, 0), came() / ping(7, 0), at=59))
vector("gone-after-62-seconds", NAT44, ASK, drop(come() / ping(i, 0), "no-binding", at=62))
refused("timer-below-60-seconds", nat44("nat44-icmp-59", more="[instance.timers]\nicmp = 59\n"), "icmp")

OPEN = through(go() / udp() / data(), gone() / udp(p) / data())
requirement("4.1", SHOULD, "REQ-3: an error with a wrong checksum is dropped, also if the header that it quotes has one.")
sent = gone() / udp(p) / data(), gone(source=I) / udp() / data()
vector("wrong-checksum", NAT44, OPEN, drop(come() / ICMP(type=3, code=3, chksum=0x1234) / quote(gone() / udp(p) / data()), "malformed-transport"))
vector("wrong-inner-checksum", NAT44, OPEN, drop(come() / ICMP(type=3, code=3) / quote(gone(chksum=0x1234) / udp(p) / data()), "icmp-inner"))
requirement("4.2", SHOULD, "REQ-4: an error from outside about a packet without a mapping is dropped silently.")
vector("inbound-without-mapping", NAT44, drop(come() / ICMP(type=3, code=3) / quote(gone() / udp(40000) / data()), "icmp-inner"))
requirement("4.2", MUST, "REQ-4: otherwise the quoted source and the outer destination become the inside host's; the outer source stays.")
for name, message in [("unreachable", ICMP(type=3, code=1)), ("time-exceeded", ICMP(type=11, code=0)),
                      ("too-big", ICMP(type=3, code=4, nexthopmtu=1280)), ("parameter-problem", ICMP(type=12, code=0, ptr=1))]:
    vector(f"inbound-{name}", NAT44, OPEN,
           through(come(ROUTER) / message / quote(sent[0]), came(ROUTER) / message / quote(sent[1])))
vector("inbound-from-the-gateway-itself", NAT44, OPEN, through(
    ip4("192.168.0.1", OUT) / ICMP(type=11, code=0) / quote(sent[0]), ip4("192.168.0.1", I, 63) / ICMP(type=11, code=0) / quote(sent[1])))
vector("inbound-quoted-with-options", NAT44, OPEN, through(
    come(ROUTER) / ICMP(type=3, code=1) / quote(gone(options=[IPOption_NOP()] * 4) / udp(p) / data()),
    came(ROUTER) / ICMP(type=3, code=1) / quote(gone(source=I, options=[IPOption_NOP()] * 4) / udp() / data())))
vector("inbound-8-bytes", NAT44, OPEN,
       through(come(ROUTER) / ICMP(type=3, code=1) / quote(sent[0], 28), came(ROUTER) / ICMP(type=3, code=1) / quote(sent[1], 28)))
vector("inbound-udp-without-checksum", NAT44, through(go() / udp(chksum=0) / data(), gone() / udp(p, chksum=0) / data()),
       through(come(ROUTER) / ICMP(type=3, code=1) / quote(gone() / udp(p, chksum=0) / data()),
               came(ROUTER) / ICMP(type=3, code=1) / quote(gone(source=I) / udp(chksum=0) / data())))
vector("inbound-about-echo", NAT44, ASK,
       through(come(ROUTER) / ICMP(type=3, code=1) / quote(gone() / ping(i)), came(ROUTER) / ICMP(type=3, code=1) / quote(gone(source=I) / ping())))
vector("inbound-about-another", NAT44, OPEN, drop(
    come(ROUTER) / ICMP(type=3, code=1) / quote(gone(source="203.0.113.2") / udp(p) / data()), "icmp-inner"))
vector("error-about-an-error", NAT44, OPEN, drop(
    come(ROUTER) / ICMP(type=3, code=1) / quote(gone() / ICMP(type=3, code=3) / Raw(bytes(28))), "icmp-nested"))
requirement("4.3", SHOULD, "REQ-5: an error from inside about a packet without a mapping is dropped silently.")
vector("outbound-without-mapping", NAT44, drop(go() / ICMP(type=3, code=3) / quote(came() / udp(53, 40000) / data()), "icmp-inner"))
requirement("4.3", MUST, "REQ-5: otherwise the quoted destination and the outer source become the outside address.")
answer = came() / udp(53, 40000) / data(), came(host=OUT) / udp(53, p) / data()
vector("outbound-unreachable", NAT44, OPEN, through(
    go() / ICMP(type=3, code=3) / quote(answer[0]), gone() / ICMP(type=3, code=3) / quote(answer[1])))
requirement("4.3", MUST, "REQ-5: so does the source of a router before the host.")
vector("outbound-from-a-router", NAT44, OPEN, through(
    go(INSIDE_ROUTER) / ICMP(type=11, code=0) / quote(answer[0]), gone() / ICMP(type=11, code=0) / quote(answer[1])))
requirement("4.4", MUST, "REQ-6: an error neither prolongs nor ends the session that it is about.")
vector("no-refresh", NAT44, ASK,
       through(come(ROUTER) / ICMP(type=3, code=1) / quote(gone() / ping(i)),
               came(ROUTER) / ICMP(type=3, code=1) / quote(gone(source=I) / ping()), at=50),
       through(come() / ping(i, 0), came() / ping(7, 0), at=59))
vector("no-refresh-gone", NAT44, ASK,
       through(come(ROUTER) / ICMP(type=3, code=1) / quote(gone() / ping(i)),
               came(ROUTER) / ICMP(type=3, code=1) / quote(gone(source=I) / ping()), at=50),
       drop(come() / ping(i, 0), "no-binding", at=62))
requirement("5", MUST, "REQ-7: an error about a hairpinned packet turns back too, with both addresses from outside.")
vector("hairpin-error", STATIC,
       turned(go(J, OUT) / udp(50000, 5353) / data(), came(OUT, I) / udp(p, 53) / data()),
       turned(go(I, OUT) / ICMP(type=3, code=3) / quote(came(OUT, I) / udp(p, 53) / data()),
              came(OUT, J) / ICMP(type=3, code=3) / quote(came(J, OUT) / udp(50000, 5353) / data())))
requirement("6", SHOULD, "REQ-8: who gets no session is told.", see=["rfc6888-3-pool-exhausted"])
requirement("7", MUST, "REQ-10: the NAT sends Destination Unreachable and Time Exceeded where a router does.",
            see=["rfc4787-3-ttl-one", "rfc4787-10-too-big"])
requirement("8", MAY, "REQ-11: messages that are neither query nor error are dropped.")
vector("other-messages", NAT44, drop(go() / ICMP(type=9) / Raw(bytes(8)), "icmp-untranslatable"))
