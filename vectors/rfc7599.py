"""RFC 7599: MAP-T, shared addresses by translation."""

from sharing_packets import *
from table import *

rfc(7599)
p = port("p")

requirement("8.4", MUST, "The BR translates to the customer's IPv6 address; the source is under the default mapping rule.")
vector("appendix-a-example-2", MAP_T_BR, send(
    ip4(SERVER, SHARED) / udp(80, PORT) / data(), ip6(SERVER6, CE6, 63) / udp(80, PORT) / data()))
vector("tcp-to-a-customer", MAP_T_BR, send(
    ip4(SERVER, SHARED) / tcp(sport=80, dport=64723) / data(), ip6(SERVER6, CE6, 63) / tcp(sport=80, dport=64723) / data()))
vector("echo-to-a-customer", MAP_T_BR, send(
    ip4(SERVER, SHARED) / ICMP(type=0, id=PORT, seq=1), ip6(SERVER6, CE6, 63) / ICMPv6EchoReply(id=PORT, seq=1)))
NOBODY = ip4(SERVER, SHARED) / udp(80, 1023) / data()
vector("system-port", MAP_T_BR, reply(NOBODY, error4(ICMP(type=3, code=1), NOBODY), "tunnel-destination"))
requirement("8.3", MUST, "The BR checks that address and port of a packet belong to the IPv6 source.")
vector("from-a-customer", MAP_T_BR, send(
    ip6(CE6, SERVER6) / udp(PORT, 80) / data(), to4(SHARED, SERVER) / udp(PORT, 80) / data()))
vector("echo-from-a-customer", MAP_T_BR, send(
    ip6(CE6, SERVER6) / ICMPv6EchoRequest(id=PORT, seq=1), to4(SHARED, SERVER) / ICMP(type=8, id=PORT, seq=1)))
requirement("8.3", MUST, "A packet with a port of somebody else is dropped and counted.")
requirement("8.3", SHOULD, "Its sender is told: source address failed ingress/egress policy.")


def source_policy(about):
    """The ICMPv6 error about a packet from somebody who has another port set."""
    return error6(ICMPv6DestUnreach(code=5), about, "2001:db8:eeee::1")


for name, rest in [("port", udp(OTHERS_PORT, 80) / data()), ("tcp-port", tcp("S", OTHERS_PORT)), ("system-port", udp(80, 80) / data()),
                   ("identifier", ICMPv6EchoRequest(id=OTHERS_PORT, seq=1))]:
    spoofed = ip6(CE6, SERVER6) / rest
    vector(f"spoofed-{name}", MAP_T_BR, reply(spoofed, source_policy(spoofed), "tunnel-spoofed"))
spoofed = ip6(CE6, "2001:db8:ffff:0:c0:2:1200:0") / udp(OTHERS_PORT, OTHERS_PORT) / data()
vector("spoofed-port-to-a-customer", MAP_T_BR, reply(spoofed, source_policy(spoofed), "tunnel-spoofed"))
requirement("8.3", MUST, "Packets are taken from customers only.")
vector("no-customer", MAP_T_BR, drop(ip6("2001:db9::1", SERVER6) / udp(PORT, 80) / data(), "tunnel-source"))
vector("customer-to-customer", MAP_T_BR, send(
    ip6(CE6, "2001:db8:ffff:0:c0:2:1200:0") / udp(PORT, OTHERS_PORT) / data(),
    ip6("2001:db8:ffff:0:c0:2:1200:0", OTHER6, 63) / udp(PORT, OTHERS_PORT) / data()))
requirement("9", MUST, "ICMP errors are translated, and find the customer by the ports of the packet that they are about.")
ABOUT4, ABOUT6 = ip4(SHARED, SERVER, 50) / udp(PORT, 80) / data(), ip6(CE6, SERVER6, 50) / udp(PORT, 80) / data()
vector("icmp-error-to-a-customer", MAP_T_BR, send(
    ip4("198.51.100.77", SHARED) / ICMP(type=11, code=0) / quote(ABOUT4),
    ip6("2001:db8:ffff:0:c6:3364:4d00:0", CE6, 63) / ICMPv6TimeExceeded(code=0) / quote(ABOUT6)))
HEARD4, HEARD6 = to4(SERVER, SHARED, 50, id=0) / udp(80, PORT) / data(), ip6(SERVER6, CE6, 50) / udp(80, PORT) / data()
vector("icmp-error-from-a-customer", MAP_T_BR, send(
    ip6(CE6, SERVER6) / ICMPv6DestUnreach(code=4) / quote(HEARD6), to4(SHARED, SERVER) / ICMP(type=3, code=3) / quote(HEARD4)))
vector("icmp-error-about-anothers-packet", MAP_T_BR, drop(
    ip6(CE6, SERVER6) / ICMPv6DestUnreach(code=4) / quote(ip6(SERVER6, CE6, 50) / udp(80, OTHERS_PORT) / data()), "icmp-inner"))
requirement("10.2", MUST, "Fragments to a shared address go where the port of the first belongs. If that comes first, none waits.")
SPANS = FIRST, SECOND = [(0, 504), (504, None)]
into = ip4(SERVER, SHARED, id=0x99) / udp(80, PORT) / data(992), ip6(SERVER6, CE6, 63) / udp(80, PORT) / data(992)
vector("fragments-to-a-customer", MAP_T_BR, *[
    send(fragment4(into[0], *span), fragment6(into[1], *span, 0x99)) for span in SPANS])
vector("fragments-to-a-customer-last-first", MAP_T_BR,
       held(fragment4(into[0], *SECOND)),
       send(fragment4(into[0], *FIRST), *[fragment6(into[1], *span, 0x99) for span in SPANS], any_order=True,
            counters={"translated-4to6": 2}))
out = ip6(CE6, SERVER6) / udp(PORT, 80) / data(992), to4(SHARED, SERVER, id=0xbeef) / udp(PORT, 80) / data(992)
vector("fragments-from-a-customer", MAP_T_BR, *[
    send(fragment6(out[0], *span, 0xbeef), fragment4(out[1], *span)) for span in SPANS])
vector("fragments-from-a-customer-last-first", MAP_T_BR,
       held(fragment6(out[0], *SECOND, 0xbeef)),
       send(fragment6(out[0], *FIRST, 0xbeef), *[fragment4(out[1], *span) for span in SPANS], any_order=True,
            counters={"translated-6to4": 2}))
requirement("10.2", MUST, "Whatever protocol a fragment behind the first names: to which datagram it belongs does not depend on it (RFC 8200 section "
            "4.5).")
strange = out[0].copy(), out[1].copy()
strange[0].nh = strange[1].proto = 1
vector("fragments-from-a-customer-strange-last-first", MAP_T_BR,
       held(fragment6(strange[0], *SECOND, 0xbeef)),
       send(fragment6(out[0], *FIRST, 0xbeef), fragment4(out[1], *FIRST), fragment4(strange[1], *SECOND), any_order=True,
            counters={"translated-6to4": 2}))
requirement("12.2", MUST, "In hub-and-spoke mode all traffic of a CE goes through the BR, to other CEs too.")
OTHER_AS_V4 = "2001:db8:ffff:0:c0:2:1200:0"
for label, payload in [("", lambda *ports: udp(*ports) / data()), ("-tcp", lambda *ports: tcp("PA", *ports) / data())]:
    vector(f"customer-to-customer{label}", MAP_T_BR, send(
        ip6(CE6, OTHER_AS_V4) / payload(PORT, OTHERS_PORT), ip6(OTHER_AS_V4, OTHER6, 63) / payload(PORT, OTHERS_PORT)))
requirement("10.1", SHOULD, "Fragmentation is that of RFC 7915: a fragment header round a whole packet (RFC 6946), which a CE that follows "
            "RFC 6145 adds to every packet without Don't Fragment, changes nothing, at the BR...")
ATOMIC = IPv6ExtHdrFragment(id=0xaaaabeef)
vector("atomic-from-a-customer", MAP_T_BR, send(
    ip6(CE6, SERVER6) / ATOMIC / udp(PORT, 80) / data(), to4(SHARED, SERVER, id=0xbeef) / udp(PORT, 80) / data()))
vector("atomic-tcp-from-a-customer", MAP_T_BR, send(
    ip6(CE6, SERVER6) / ATOMIC / tcp("S", sport=PORT), to4(SHARED, SERVER, id=0xbeef) / tcp("S", sport=PORT)))
vector("atomic-echo-from-a-customer", MAP_T_BR, send(
    ip6(CE6, SERVER6) / ATOMIC / ICMPv6EchoRequest(id=PORT, seq=1), to4(SHARED, SERVER, id=0xbeef) / ICMP(type=8, id=PORT, seq=1)))
spoofed = ip6(CE6, SERVER6) / ATOMIC / udp(OTHERS_PORT, 80) / data()
vector("atomic-spoofed", MAP_T_BR, reply(spoofed, source_policy(spoofed), "tunnel-spoofed"))
vector("atomic-customer-to-customer", MAP_T_BR, send(
    ip6(CE6, OTHER_AS_V4) / ATOMIC / udp(PORT, OTHERS_PORT) / data(),
    ip6(OTHER_AS_V4, OTHER6, 63) / udp(PORT, OTHERS_PORT) / data()))
vector("atomic-icmp-error-from-a-customer", MAP_T_BR, send(
    ip6(CE6, SERVER6) / ATOMIC / ICMPv6DestUnreach(code=4) / quote(ip6(SERVER6, CE6, 50) / udp(80, PORT) / data()),
    to4(SHARED, SERVER, id=0xbeef) / ICMP(type=3, code=3) / quote(to4(SERVER, SHARED, 50, id=0) / udp(80, PORT) / data())))

requirement("8.1", MUST, "The CE translates its hosts to its address and ports, and then to its MAP IPv6 address.")
opened = send(ip4(HOST, SERVER) / udp() / data(), ip6(CE6, SERVER6, 63) / udp(p) / data())
vector("out-and-back", MAP_T_CE, opened, send(
    ip6(SERVER6, CE6) / udp(53, p) / data(), to4(SERVER, HOST) / udp(53, 40000) / data()))
vector("tcp-out", MAP_T_CE, send(
    ip4(HOST, SERVER) / tcp("S"), ip6(CE6, SERVER6, 63) / tcp("S", sport=p)))
vector("echo-out-and-back", MAP_T_CE,
       send(ip4(HOST, SERVER) / ICMP(type=8, id=7, seq=1), ip6(CE6, SERVER6, 63) / ICMPv6EchoRequest(id=p, seq=1)),
       send(ip6(SERVER6, CE6) / ICMPv6EchoReply(id=p, seq=1), to4(SERVER, HOST) / ICMP(type=0, id=7, seq=1)))
requirement("8.2", MUST, "The CE takes packets under the default mapping rule, and with forwarding rules from customers who "
            "send from their own address and ports.")
vector("unsolicited", MAP_T_CE, drop(ip6(SERVER6, CE6) / udp(53, PORT) / data(), "no-binding"))
vector("atomic-back", MAP_T_CE, opened, send(
    ip6(SERVER6, CE6) / ATOMIC / udp(53, p) / data(), to4(SERVER, HOST, id=0xbeef) / udp(53, 40000) / data()))
vector("stranger", MAP_T_CE, opened, drop(ip6("2001:db8:bad::1", CE6) / udp(53, p) / data(), "tunnel-source"))
straight = send(ip4(HOST, SHARED) / udp(40000, OTHERS_PORT) / data(), ip6(CE6, OTHER6, 63) / udp(p, OTHERS_PORT) / data())
vector("mesh-there-and-back", MAP_T_MESH, straight, send(
    ip6(OTHER6, CE6) / udp(OTHERS_PORT, p) / data(), to4(SHARED, HOST) / udp(OTHERS_PORT, 40000) / data()))
requirement("8.2", MUST, "The CE checks that address and port of a packet from a customer belong to the IPv6 source, and drops others.")
requirement("8.2", SHOULD, "Their sender is told: source address failed ingress/egress policy.")
spoofed = ip6(OTHER6, CE6) / udp(OTHERS_PORT + 8, PORT) / data()
vector("mesh-spoofed", MAP_T_MESH, reply(spoofed, source_policy(spoofed), "tunnel-spoofed"))

requirement("8.2", MUST, "The CE drops packets for ports that are not its own, silently.", see=["rfc7599-8.2-unsolicited"])
requirement("8.2", MUST, "Another customer's port at this CE is nobody's.")
vector("anothers-port", MAP_T_CE, drop(ip6(SERVER6, CE6) / udp(53, OTHERS_PORT) / data(), "no-binding"))
requirement("9", MUST, "The CE gives a query an identifier of its port set.", see=["rfc7599-8.1-echo-out-and-back"])
requirement("9", MUST, "The CE translates ICMP errors in both directions, by the session of the packet that they are about.")
vector("icmp-error-back", MAP_T_CE, opened, send(
    ip6("2001:db8:ffff:0:c6:3364:4d00:0", CE6) / ICMPv6TimeExceeded(code=0) / quote(ip6(CE6, SERVER6, 50) / udp(p, 53) / data()),
    to4("198.51.100.77", HOST) / ICMP(type=11, code=0) / quote(to4(HOST, SERVER, 50, id=0) / udp(40000, 53) / data())))
vector("icmp-error-out", MAP_T_CE, opened, send(
    ip4(HOST, SERVER) / ICMP(type=3, code=3) / quote(ip4(SERVER, HOST, 50) / udp(53, 40000) / data()),
    ip6(CE6, SERVER6, 63) / ICMPv6DestUnreach(code=4) / quote(ip6(SERVER6, CE6, 50) / udp(53, p) / data())))
requirement("9", SHOULD, "The BR takes the identifier of a query for the port.", see=["rfc7599-8.4-echo-to-a-customer"])
requirement("7", SHOULD, "The CE hears its parameters by DHCPv6 (RFC 7598).", status="operator: `isthmus addr dhcpv6` reads the options")
requirement("10.1", SHOULD, "The MTU of the domain lets nothing be fragmented.", status="operator")
requirement("10.3", SHOULD, "The CE gives fragments an identification of its port set.",
            status="no: that of the host stays; the space of 16 bits is too small for a share of it to be safe")
requirement("11", SHOULD, "The NAT of the CE does what RFC 4787, RFC 5382 and RFC 5508 say.", see=[
    "rfc4787-4.1-same-mapping-for-all", "rfc5382-4.2-handshake-data-close", "rfc5508-3.1-echo"])
requirement("13", SHOULD, "The filtering of the CE is address-dependent.",
            status="partly: `filtering = \"address-dependent\"` makes it so; the default is that of RFC 4787 REQ-8, for applications")
