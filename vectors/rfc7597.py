"""RFC 7597: MAP-E, shared addresses by encapsulation."""

from sharing_packets import *
from table import *

rfc(7597)
p, q = port("p"), port("q", differs=())
q.differs = ["p"]

requirement("5.3", MUST, "The BR finds the customer's IPv6 address from the IPv4 address and port of a packet.")
requirement("6", MUST, "The interface identifier is 16 zero bits, the IPv4 address and the PSID.")
vector("appendix-a-example-2", MAP_E_BR, enters(
    ip4(SERVER, SHARED) / udp(80, PORT) / data(), over6(BR6, CE6) / ip4(SERVER, SHARED, 63) / udp(80, PORT) / data()))
vector("tcp-to-a-customer", MAP_E_BR, enters(
    ip4(SERVER, SHARED) / tcp(sport=80, dport=64723) / data(),
    over6(BR6, CE6) / ip4(SERVER, SHARED, 63) / tcp(sport=80, dport=64723) / data()))
vector("to-the-other-customer", MAP_E_BR, enters(
    ip4(SERVER, SHARED) / udp(80, OTHERS_PORT) / data(),
    over6(BR6, OTHER6) / ip4(SERVER, SHARED, 63) / udp(80, OTHERS_PORT) / data()))
requirement("8.2", MUST, "The identifier of an ICMP query is used like a port.")
vector("echo-reply-to-a-customer", MAP_E_BR, enters(
    ip4(SERVER, SHARED) / ICMP(type=0, id=PORT, seq=1), over6(BR6, CE6) / ip4(SERVER, SHARED, 63) / ICMP(type=0, id=PORT, seq=1)))
requirement("8.2", MUST, "An ICMP error about a customer's packet finds the customer by the ports of that packet.")
ABOUT = ip4(SHARED, SERVER, 50) / udp(PORT, 80) / data()
ERROR = ICMP(type=3, code=1) / quote(ABOUT)
vector("icmp-error-to-a-customer", MAP_E_BR, enters(
    ip4("198.51.100.77", SHARED) / ERROR, over6(BR6, CE6) / ip4("198.51.100.77", SHARED, 63) / ERROR))
HEARD = ip4(SERVER, SHARED, 50) / udp(80, PORT) / data()
vector("icmp-error-from-a-customer", MAP_E_BR, leaves(
    over6(CE6, BR6) / ip4(SHARED, SERVER) / ICMP(type=3, code=3) / quote(HEARD),
    ip4(SHARED, SERVER, 63) / ICMP(type=3, code=3) / quote(HEARD)))
requirement("5.1", MUST, "Ports that nobody has are no customer's.")
NOBODY = ip4(SERVER, SHARED) / udp(80, 1023) / data()
vector("system-port", MAP_E_BR, reply(NOBODY, error4(ICMP(type=3, code=1), NOBODY), "tunnel-destination"))

requirement("8.1", MUST, "The BR checks that address and port of a packet belong to the IPv6 source.")
vector("from-a-customer", MAP_E_BR, leaves(
    over6(CE6, BR6) / ip4(SHARED, SERVER) / udp(PORT, 80) / data(), ip4(SHARED, SERVER, 63) / udp(PORT, 80) / data()))
vector("echo-from-a-customer", MAP_E_BR, leaves(
    over6(CE6, BR6) / ip4(SHARED, SERVER) / ICMP(type=8, id=PORT, seq=1), ip4(SHARED, SERVER, 63) / ICMP(type=8, id=PORT, seq=1)))
vector("spoofed-port", MAP_E_BR, drop(
    over6(CE6, BR6) / ip4(SHARED, SERVER) / udp(OTHERS_PORT, 80) / data(), "tunnel-spoofed"))
vector("spoofed-address", MAP_E_BR, drop(
    over6(CE6, BR6) / ip4("192.0.2.19", SERVER) / udp(PORT, 80) / data(), "tunnel-spoofed"))
vector("spoofed-identifier", MAP_E_BR, drop(
    over6(CE6, BR6) / ip4(SHARED, SERVER) / ICMP(type=8, id=OTHERS_PORT, seq=1), "tunnel-spoofed"))
vector("no-customer", MAP_E_BR, drop(
    over6("2001:db9::1", BR6) / ip4(SHARED, SERVER) / udp(PORT, 80) / data(), "tunnel-source"))
vector("customer-to-customer", MAP_E_BR, Step(
    over6(CE6, BR6) / ip4(SHARED, SHARED) / udp(PORT, OTHERS_PORT) / data(),
    [Output(over6(BR6, OTHER6) / ip4(SHARED, SHARED, 63) / udp(PORT, OTHERS_PORT) / data())],
    {"decapsulated-4in6": 1, "hairpinned": 1}))
requirement("8.1", MUST, "A packet that fails the check is discarded silently, whatever else is wrong with it: an expired TTL, a source "
            "route (RFC 2473 section 3.3: the exit checks what it took out like any packet).")
ONE = ip4(SHARED, SERVER, 1) / udp(PORT, 80) / data()
ROUTE = IPOption_LSRR(routers=["198.51.100.9"])
ROUTED = ip4(SHARED, SERVER, options=[ROUTE]) / udp(PORT, 80) / data()
vector("ttl-one-from-a-customer", MAP_E_BR, reply(over6(CE6, BR6) / ONE, error4(ICMP(type=11, code=0), ONE), "hop-limit-exceeded"))
vector("ttl-one-from-nobody", MAP_E_BR, drop(over6("2001:db9::1", BR6) / ONE, "tunnel-source"))
vector("ttl-one-spoofed", MAP_E_BR, drop(over6(OTHER6, BR6) / ONE, "tunnel-spoofed"))
vector("ttl-one-in-a-later-fragment", MAP_E_BR, drop(
    over6("2001:db9::1", BR6) / fragment4(ip4(SHARED, SERVER, 1) / udp(PORT, 80) / data(992), 504), "hop-limit-exceeded"))
vector("source-route-from-a-customer", MAP_E_BR, reply(over6(CE6, BR6) / ROUTED, error4(ICMP(type=3, code=5), ROUTED), "source-route"))
vector("source-route-from-nobody", MAP_E_BR, drop(over6("2001:db9::1", BR6) / ROUTED, "tunnel-source"))
vector("source-route-spoofed", MAP_E_BR, drop(over6(OTHER6, BR6) / ROUTED, "tunnel-spoofed"))
requirement("8.3.2", MUST, "Fragments to a shared address go where the port of the first belongs. If that comes first, they are "
            "forwarded unchanged.")
SPANS = FIRST, SECOND = [(0, 504), (504, None)]


def passes(frm, to, ports, ttl=63):
    """A datagram between shared addresses as it comes to the border, and as it leaves."""
    return [ip4(frm, to, hops, id=0x99) / udp(*ports) / data(992) for hops in (64, ttl)]


into = passes(SERVER, SHARED, (80, PORT))
vector("fragments-to-a-customer", MAP_E_BR, *[
    enters(fragment4(into[0], *span), over6(BR6, CE6) / fragment4(into[1], *span)) for span in SPANS])
vector("fragments-to-a-customer-last-first", MAP_E_BR,
       held(fragment4(into[0], *SECOND)),
       enters(fragment4(into[0], *FIRST), *[over6(BR6, CE6) / fragment4(into[1], *span) for span in SPANS], any_order=True,
              **{"encapsulated-4in6": 2}))
unknown = passes(SERVER, SHARED, (80, 1023))
vector("fragments-to-nobody", MAP_E_BR,
       reply(fragment4(unknown[0], *FIRST), error4(ICMP(type=3, code=1), fragment4(unknown[0], *FIRST)), "tunnel-destination"),
       drop(fragment4(unknown[0], *SECOND), "tunnel-destination"))
out = passes(SHARED, SERVER, (PORT, 80))
vector("fragments-from-a-customer", MAP_E_BR, *[
    leaves(over6(CE6, BR6) / fragment4(out[0], *span), fragment4(out[1], *span)) for span in SPANS])
vector("fragments-from-a-customer-last-first", MAP_E_BR,
       held(over6(CE6, BR6) / fragment4(out[0], *SECOND)),
       leaves(over6(CE6, BR6) / fragment4(out[0], *FIRST), *[fragment4(out[1], *span) for span in SPANS], any_order=True,
              **{"decapsulated-4in6": 2}))
vector("fragments-from-a-customer-in-atomic-fragments", MAP_E_BR, *[
    leaves(atomic6(CE6, BR6) / fragment4(out[0], *span), fragment4(out[1], *span)) for span in SPANS])
between = passes(SHARED, SHARED, (PORT, OTHERS_PORT))
vector("fragments-from-customer-to-customer", MAP_E_BR, *[
    Step(over6(CE6, BR6) / fragment4(between[0], *span), [Output(over6(BR6, OTHER6) / fragment4(between[1], *span))],
         {"decapsulated-4in6": 1, "hairpinned": 1}) for span in SPANS])
requirement("8.1", MUST, "A fragment belongs to the customer from whose address its first one came.")
others = passes(SHARED, SERVER, (OTHERS_PORT, 80))
vector("fragments-of-two-customers-with-one-identification", MAP_E_BR, *[
    leaves(over6(sender, BR6) / fragment4(datagram[0], *span), fragment4(datagram[1], *span))
    for span in SPANS for sender, datagram in [(CE6, out), (OTHER6, others)]])
vector("fragment-of-another-customers-datagram", MAP_E_BR,
       leaves(over6(CE6, BR6) / fragment4(out[0], *FIRST), fragment4(out[1], *FIRST)),
       held(over6(OTHER6, BR6) / fragment4(out[0], *SECOND)), counters={"fragment-timeout": 1})
vector("fragments-with-a-port-of-another-customer", MAP_E_BR, *[
    drop(over6(CE6, BR6) / fragment4(others[0], *span), "tunnel-spoofed") for span in SPANS])
vector("atomic-from-a-customer", MAP_E_BR, leaves(
    atomic6(CE6, BR6) / ip4(SHARED, SERVER) / udp(PORT, 80) / data(),
    ip4(SHARED, SERVER, 63) / udp(PORT, 80) / data()))
requirement("8.3", MUST, "The MTU of the domain: a packet with Don't Fragment that does not fit is answered.")
BIG = ip4(SERVER, SHARED, flags="DF") / udp(80, PORT) / data(1461 - 28)
vector("too-big", MAP_E_BR, reply(BIG, error4(ICMP(type=3, code=4, nexthopmtu=1460), BIG), "too-big"))

requirement("8.1", MUST, "The CE translates its hosts to its address and to ports of its own port set.")
opened = enters(ip4(HOST, SERVER) / udp() / data(), over6(CE6, BR6) / ip4(SHARED, SERVER, 63) / udp(p) / data())
vector("out-and-back", MAP_E_CE, opened, leaves(
    over6(BR6, CE6) / ip4(SERVER, SHARED) / udp(53, p) / data(), ip4(SERVER, HOST, 63) / udp(53, 40000) / data()))
vector("two-hosts", MAP_E_CE, opened, enters(
    ip4("192.168.1.11", SERVER) / udp() / data(), over6(CE6, BR6) / ip4(SHARED, SERVER, 63) / udp(q) / data()))
vector("echo-out-and-back", MAP_E_CE,
       enters(ip4(HOST, SERVER) / ICMP(type=8, id=7, seq=1), over6(CE6, BR6) / ip4(SHARED, SERVER, 63) / ICMP(type=8, id=p, seq=1)),
       leaves(over6(BR6, CE6) / ip4(SERVER, SHARED) / ICMP(type=0, id=p, seq=1), ip4(SERVER, HOST, 63) / ICMP(type=0, id=7, seq=1)))
BACK = ip4(SHARED, SERVER, 50) / udp(p, 53) / data()
INSIDE = ip4(HOST, SERVER, 50) / udp(40000, 53) / data()
vector("icmp-error-back", MAP_E_CE, opened, leaves(
    over6(BR6, CE6) / ip4("198.51.100.77", SHARED) / ICMP(type=11) / quote(BACK),
    ip4("198.51.100.77", HOST, 63) / ICMP(type=11) / quote(INSIDE)))
HEARD, INSIDE = ip4(SERVER, SHARED, 50) / udp(53, p) / data(), ip4(SERVER, HOST, 50) / udp(53, 40000) / data()
vector("icmp-error-out", MAP_E_CE, opened, enters(
    ip4(HOST, SERVER) / ICMP(type=3, code=3) / quote(INSIDE),
    over6(CE6, BR6) / ip4(SHARED, SERVER, 63) / ICMP(type=3, code=3) / quote(HEARD)))
requirement("8.1", MUST, "The CE takes packets from the BR, and with forwarding rules from customers who send "
            "from their own address and ports.")
vector("unsolicited", MAP_E_CE, drop(over6(BR6, CE6) / ip4(SERVER, SHARED) / udp(53, PORT) / data(), "no-binding"))
vector("stranger", MAP_E_CE, opened, drop(
    over6("2001:db8:bad::1", CE6) / ip4(SERVER, SHARED) / udp(53, p) / data(), "tunnel-source"))
vector("another-customer-without-mesh", MAP_E_CE, opened, drop(
    over6(OTHER6, CE6) / ip4(SHARED, SHARED) / udp(OTHERS_PORT, p) / data(), "tunnel-source"))
requirement("8.1", MUST, "So does the CE: a packet of somebody else is discarded silently, whatever else is wrong with it.")
LATE = ip4(SERVER, SHARED, 1) / udp(53, PORT) / data()
LED = ip4(SERVER, SHARED, options=[ROUTE]) / udp(53, PORT) / data()
vector("ttl-one-from-the-border", MAP_E_CE, reply(over6(BR6, CE6) / LATE, error4(ICMP(type=11, code=0), LATE), "hop-limit-exceeded"))
vector("ttl-one-from-a-stranger", MAP_E_CE, drop(over6("2001:db8:bad::1", CE6) / LATE, "tunnel-source"))
vector("source-route-from-the-border", MAP_E_CE, reply(over6(BR6, CE6) / LED, error4(ICMP(type=3, code=5), LED), "source-route"))
vector("source-route-from-a-stranger", MAP_E_CE, drop(over6("2001:db8:bad::1", CE6) / LED, "tunnel-source"))
vector("ttl-one-spoofed-in-the-mesh", MAP_E_MESH, drop(
    over6(OTHER6, CE6) / ip4(SHARED, SHARED, 1) / udp(OTHERS_PORT + 8, PORT) / data(), "tunnel-spoofed"))
requirement("8.1", MUST, "With forwarding rules customers reach each other directly.")
straight = enters(
    ip4(HOST, SHARED) / udp(40000, OTHERS_PORT) / data(),
    over6(CE6, OTHER6) / ip4(SHARED, SHARED, 63) / udp(p, OTHERS_PORT) / data())
vector("mesh-there-and-back", MAP_E_MESH, straight, leaves(
    over6(OTHER6, CE6) / ip4(SHARED, SHARED) / udp(OTHERS_PORT, p) / data(),
    ip4(SHARED, HOST, 63) / udp(OTHERS_PORT, 40000) / data()))
vector("mesh-spoofed", MAP_E_MESH, straight, drop(
    over6(OTHER6, CE6) / ip4(SHARED, SHARED) / udp(OTHERS_PORT + 8, p) / data(), "tunnel-spoofed"))
vector("mesh-to-the-internet", MAP_E_MESH, enters(
    ip4(HOST, SERVER) / udp() / data(), over6(CE6, BR6) / ip4(SHARED, SERVER, 63) / udp(p) / data()))
requirement("5", MUST, "An impossible rule is refused.")
refused("too-many-ea-bits", configuration(
    "map-e-ea", f'mechanism = "map-e"\nrole = "br"\nlocal = "{BR6}"\n'
    'rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 30 }]\n'), "EA")
refused("foreign-prefix", configuration(
    "map-e-foreign", f'mechanism = "map-e"\nrole = "ce"\nbr = "{BR6}"\n{RULE}inside = ["192.168.0.0/16"]\n'
    'end-user-prefix = "2001:db9::/56"\n'), "end-user-prefix")

requirement("8.2", SHOULD, "An error from inside the tunnel is passed on to the original source (RFC 2473 section 8): by the BR...")
BIG = ip4(SERVER, SHARED, 63, flags="DF") / udp(80, PORT) / data(1460 - 28)
TOO_BIG = ICMPv6PacketTooBig(mtu=1400)
vector("too-big-inside-to-the-border", MAP_E_BR, told(
    inside6(TOO_BIG, over6(BR6, CE6) / BIG, dst=BR6), error4(ICMP(type=3, code=4, nexthopmtu=1360), BIG)))
vector("too-big-inside-to-another-customer", MAP_E_BR, drop(
    inside6(TOO_BIG, over6(BR6, OTHER6) / BIG, dst=BR6), "icmp-inner"))
requirement("8.2", SHOULD, "... and by the CE, to the host behind it.")
AS_SENT = ip4(HOST, SERVER, 63) / udp() / data()
OUTSIDE = ip4(SHARED, SERVER, 63) / udp(p) / data()
for code in (0, 3):
    vector(f"unreachable-{code}-inside-to-the-edge", MAP_E_CE, opened, told(
        inside6(ICMPv6DestUnreach(code=code), over6(CE6, BR6) / OUTSIDE, dst=CE6), error4(ICMP(type=3, code=1), AS_SENT)))
vector("unreachable-inside-to-the-edge-without-state", MAP_E_CE, drop(
    inside6(ICMPv6DestUnreach(code=0), over6(CE6, BR6) / ip4(SHARED, SERVER, 63) / udp(PORT) / data(), dst=CE6), "icmp-inner"))
DIRECT = ip4(SHARED, SHARED, 63) / udp(p, OTHERS_PORT) / data()
AS_SENT = ip4(HOST, SHARED, 63) / udp(40000, OTHERS_PORT) / data()
vector("unreachable-inside-of-the-mesh", MAP_E_MESH, straight, told(
    inside6(ICMPv6DestUnreach(code=0), over6(CE6, OTHER6) / DIRECT, dst=CE6), error4(ICMP(type=3, code=1), AS_SENT)))
vector("unreachable-inside-of-the-mesh-about-another-end", MAP_E_MESH, straight, drop(
    inside6(ICMPv6DestUnreach(code=0), over6(CE6, "2001:db8:12:3600:0:c000:212:36") / DIRECT, dst=CE6), "icmp-inner"))
vector("next-sender-is-told-at-once", MAP_E_BR,
       drop(inside6(TOO_BIG, over6(BR6, CE6) / ip4(SERVER, SHARED, 63) / udp(80, PORT) / data(1460 - 28), dst=BR6), "tunnel-too-big"),
       reply(BIG, error4(ICMP(type=3, code=4, nexthopmtu=1360), BIG), "too-big"))

requirement("8.1", MUST, "The CE drops packets for IPv4 addresses and ports that are not its own.", see=["rfc7597-8.1-unsolicited"])
requirement("8.1", MUST, "Another customer's port or address at this CE is nobody's.")
vector("anothers-port", MAP_E_CE, drop(over6(BR6, CE6) / ip4(SERVER, SHARED) / udp(53, OTHERS_PORT) / data(), "no-binding"))
vector("anothers-address", MAP_E_CE, drop(over6(BR6, CE6) / ip4(SERVER, "192.0.2.19") / udp(53, PORT) / data(), "no-binding"))
requirement("5.3", MUST, "Without forwarding rules all traffic goes to the BR.", see=["rfc7597-8.1-out-and-back", "rfc7597-8.1-another-customer-without-mesh"])
requirement("5.1", MUST, "Offset and length of the PSID are the same for all that share an address.", see=["rfc7597-5-too-many-ea-bits"])
requirement("5.2", MUST, "The MAP address is on an interface of the CE.",
            status="yes: the gateway routes it to its link, and owns the packets to it")
requirement("7.2", MUST, "A BR with an anycast address sends from that address.", see=["rfc7597-6-appendix-a-example-2"])
requirement("8.3.1", SHOULD, "A BR with an anycast address does not use path MTU discovery in the domain.",
            status="partly: it takes errors that reach it (RFC 2473 section 7.1), because it does not know that its address is anycast; "
            "nothing depends on them")
requirement("8.3.3", SHOULD, "The CE gives fragments an identification of its port set.",
            status="no: that of the host stays; the space of 16 bits is too small for a share of it to be safe")
requirement("8.2", MUST, "The identifier of a query becomes one of the port set.", see=["rfc7597-8.1-echo-out-and-back"])
requirement("9", SHOULD, "The NAT of the CE does what RFC 4787, RFC 5382 and RFC 5508 say.", see=[
    "rfc4787-4.1-same-mapping-for-all", "rfc5382-4.2-handshake-data-close", "rfc5508-3.1-echo"])
requirement("9", MUST, "It uses the ports of its set only.", see=["rfc7597-8.1-two-hosts"])
requirement("10", SHOULD, "The filtering of the CE is address-dependent.",
            status="partly: `filtering = \"address-dependent\"` makes it so; the default is that of RFC 4787 REQ-8, for applications")
requirement("10", SHOULD, "The CE is a DNS proxy over IPv6.", status="operator: another program")
