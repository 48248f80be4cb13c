"""RFC 6333: DS-Lite, hosts behind softwires share the addresses of an AFTR."""

from sharing_packets import *
from table import *

rfc(6333)
AFTR6, B4A, B4B = "2001:db8:ffff::1", "2001:db8:a::1", "2001:db8:b::1"
OUT, PC = "203.0.113.1", "10.0.0.1"
POOL = 'pool = [{ addresses = "203.0.113.1", ports = "1024-65535" }]\n'
AFTR = configuration("aftr", f'mechanism = "ds-lite"\nrole = "aftr"\nlocal = "{AFTR6}"\n{POOL}{OWN6}{BOUNDS}')
STRICT = configuration("aftr-softwires", f'mechanism = "ds-lite"\nrole = "aftr"\nlocal = "{AFTR6}"\n'
                       f'softwires = ["2001:db8:a::/48"]\n{POOL}{OWN6}{BOUNDS}')
B4 = configuration("b4", f'mechanism = "ds-lite"\nrole = "b4"\nlocal = "{B4A}"\naftr = "{AFTR6}"\n{OWN6}')
p = Choice("p", 1024, 65535, parity="even")
q = Choice("q", 1024, 65535, parity="even", differs=[p])

requirement("6.6", MUST, "The AFTR knows a host by the IPv6 address of its softwire and its IPv4 address.")
opened = leaves(over6(B4A, AFTR6) / ip4(PC, SERVER) / udp() / data(), ip4(OUT, SERVER, 63) / udp(p) / data())
back = enters(ip4(SERVER, OUT) / udp(53, p) / data(), over6(AFTR6, B4A) / ip4(SERVER, PC, 63) / udp(53, 40000) / data())
vector("out-and-back", AFTR, opened, back)
vector("same-address-behind-two-softwires", AFTR, opened,
       leaves(over6(B4B, AFTR6) / ip4(PC, SERVER) / udp() / data(), ip4(OUT, SERVER, 63) / udp(q) / data()),
       back,
       enters(ip4(SERVER, OUT) / udp(53, q) / data(), over6(AFTR6, B4B) / ip4(SERVER, PC, 63) / udp(53, 40000) / data()))
i = Choice("i")
vector("echo-out-and-back", AFTR,
       leaves(over6(B4A, AFTR6) / ip4(PC, SERVER) / ICMP(type=8, id=7, seq=1), ip4(OUT, SERVER, 63) / ICMP(type=8, id=i, seq=1)),
       enters(ip4(SERVER, OUT) / ICMP(type=0, id=i, seq=1), over6(AFTR6, B4A) / ip4(SERVER, PC, 63) / ICMP(type=0, id=7, seq=1)))
vector("tcp-out-and-back", AFTR,
       leaves(over6(B4A, AFTR6) / ip4(PC, SERVER) / tcp("S"), ip4(OUT, SERVER, 63) / tcp("S", sport=p)),
       enters(ip4(SERVER, OUT) / tcp("SA", sport=80, dport=p), over6(AFTR6, B4A) / ip4(SERVER, PC, 63) / tcp("SA", sport=80, dport=40000)))
vector("unsolicited", AFTR, drop(ip4(SERVER, OUT) / udp(53, 5000) / data(), "no-binding"))
requirement("8.2", MUST, "ICMP errors find the softwire by the packet that they are about.")
ABOUT, INSIDE = ip4(OUT, SERVER, 50) / udp(p, 53) / data(), ip4(PC, SERVER, 50) / udp(40000, 53) / data()
vector("icmp-error-in", AFTR, opened, enters(
    ip4("198.51.100.77", OUT) / ICMP(type=11) / quote(ABOUT),
    over6(AFTR6, B4A) / ip4("198.51.100.77", PC, 63) / ICMP(type=11) / quote(INSIDE)))
ABOUT, INSIDE = ip4(SERVER, OUT, 50) / udp(53, p) / data(), ip4(SERVER, PC, 50) / udp(53, 40000) / data()
vector("icmp-error-out", AFTR, opened, leaves(
    over6(B4A, AFTR6) / ip4(PC, SERVER) / ICMP(type=3, code=3) / quote(INSIDE),
    ip4(OUT, SERVER, 63) / ICMP(type=3, code=3) / quote(ABOUT)))
requirement("8.2", MUST, "The AFTR's own errors go to the host through its softwire.")
ONE = ip4(PC, SERVER, 1) / udp() / data()


def answered(packet, error, reason):
    """The sender of a packet is told through its softwire."""
    own = error4(error, packet)
    free = [(4, 2), *((40 + at, length) for at, length in own.free)]
    shortest = None if own.shortest is None else own.shortest + 40
    told = Output(over6(AFTR6, B4A) / own.packet, free, shortest=shortest)
    return Step(over6(B4A, AFTR6) / packet, [told], {reason: 1, "icmp-error-sent": 1})


vector("ttl-one", AFTR, answered(ONE, ICMP(type=11, code=0), "hop-limit-exceeded"))
vector("ttl-one-from-elsewhere", STRICT, drop(over6("2001:db8:bad::1", AFTR6) / ONE, "tunnel-source"))
requirement("6.5", SHOULD, "The AFTR has the address 192.0.0.1 in its softwires: what is sent there is for itself and "
            "goes nowhere else. Nobody listens there without `[instance.pcp]`.")
vector("own-address", AFTR, answered(ip4(PC, "192.0.0.1") / udp(40000, 5351) / data(), ICMP(type=3, code=3), "illegal-destination"))
vector("own-address-tcp", AFTR, drop(over6(B4A, AFTR6) / ip4(PC, "192.0.0.1") / tcp("S"), "illegal-destination"))
requirement("8.1", MUST, "A host reaches another behind the same AFTR by its outside address.")
TURNED = {"decapsulated-4in6": 1, "hairpinned": 1}
THERE = Step(
    over6(B4B, AFTR6) / ip4("10.0.0.9", OUT) / udp(40002, p) / data(),
    [Output(over6(AFTR6, B4A) / ip4(OUT, PC, 63) / udp(q, 40000) / data())], TURNED)
BACK = Step(
    over6(B4A, AFTR6) / ip4(PC, OUT) / udp(40000, q) / data(),
    [Output(over6(AFTR6, B4B) / ip4(OUT, "10.0.0.9", 63) / udp(p, 40002) / data())], TURNED)
vector("hairpin", AFTR, opened, THERE)
vector("hairpin-goes-on", AFTR, opened, THERE, BACK, THERE, BACK)
requirement("6.3", MUST, "Fragments in a softwire are translated by the ports of the first.")
WHOLE = ip4(PC, SERVER, id=0x99) / udp() / data(992)
OUTSIDE = ip4(OUT, SERVER, 63, id=0x99) / udp(p) / data(992)
vector("fragments-out", AFTR,
       leaves(over6(B4A, AFTR6) / fragment4(WHOLE, 0, 504), fragment4(OUTSIDE, 0, 504)),
       leaves(over6(B4A, AFTR6) / fragment4(WHOLE, 504), fragment4(OUTSIDE, 504)))
vector("fragments-out-last-first", AFTR,
       held(over6(B4A, AFTR6) / fragment4(WHOLE, 504)),
       leaves(over6(B4A, AFTR6) / fragment4(WHOLE, 0, 504), fragment4(OUTSIDE, 0, 504), fragment4(OUTSIDE, 504),
              **{"decapsulated-4in6": 2}))
BACK = ip4(SERVER, OUT, id=0x97) / udp(53, p) / data(992), ip4(SERVER, PC, 63, id=0x97) / udp(53, 40000) / data(992)
vector("fragments-in", AFTR, opened, *[
    enters(fragment4(BACK[0], *span), over6(AFTR6, B4A) / fragment4(BACK[1], *span)) for span in [(0, 504), (504, None)]])
vector("fragments-in-last-first", AFTR, opened, held(fragment4(BACK[0], 504)),
       enters(fragment4(BACK[0], 0, 504), over6(AFTR6, B4A) / fragment4(BACK[1], 0, 504),
              over6(AFTR6, B4A) / fragment4(BACK[1], 504), **{"encapsulated-4in6": 2}))
ECHO = ip4(PC, SERVER, id=0x98) / ICMP(type=8, id=7, seq=1) / data(1792)
vector("fragments-in-atomic-fragments", AFTR,
       held(atomic6(B4A, AFTR6) / fragment4(WHOLE, 504)),
       leaves(atomic6(B4A, AFTR6) / fragment4(WHOLE, 0, 504), fragment4(OUTSIDE, 0, 504), fragment4(OUTSIDE, 504),
              any_order=True, **{"decapsulated-4in6": 2}))
OUTER = over6(B4A, AFTR6) / fragment4(ECHO, 0, 1448)
vector("fragments-in-fragments", AFTR,
       held(fragment6(OUTER, 0, 1024)), held(fragment6(OUTER, 1024)),
       leaves(over6(B4A, AFTR6) / fragment4(ECHO, 1448),
              Output(fragment4(ip4(OUT, SERVER, 63, id=0x98) / ICMP(type=8, id=i, seq=1) / data(1792), 0, 1480)),
              Output(fragment4(ip4(OUT, SERVER, 63, id=0x98) / ICMP(type=8, id=i, seq=1) / data(1792), 1480)), split=1))
requirement("5.3", MUST, "A packet that does not fit the softwire is sent in fragments of the outer packet; with Don't Fragment "
            "its sender is told.")
BIG = ip4(PC, SERVER, flags="DF") / udp() / data(1461 - 28)
vector("b4-too-big", B4, reply(BIG, error4(ICMP(type=3, code=4, nexthopmtu=1460), BIG), "too-big"))
identification = [(fresh("high"), 44, []), (fresh("low"), 46, [])]
LONG = over6(AFTR6, B4A) / ip4(SERVER, PC, 63) / udp(53, 40000) / data(1461 - 28)
vector("fragments-of-the-outer-packet", AFTR, opened, enters(
    ip4(SERVER, OUT) / udp(53, p) / data(1461 - 28),
    Output(fragment6(LONG, 0, 1448, id=0), words=identification),
    Output(fragment6(LONG, 1448, id=0), words=identification), split=1))
requirement("11", SHOULD, "The AFTR serves its own customers only.")
vector("stranger", STRICT, drop(over6(B4B, AFTR6) / ip4(PC, SERVER) / udp() / data(), "tunnel-source"))
vector("customer", STRICT, opened)
requirement("5.1", MUST, "The B4 puts IPv4 packets into IPv6 packets to the AFTR, and takes none from others.")
vector("b4-out", B4, enters(ip4(PC, SERVER) / udp() / data(), over6(B4A, AFTR6) / ip4(PC, SERVER, 63) / udp() / data()))
EXEMPT = configuration("b4-exempt", f'mechanism = "ds-lite"\nrole = "b4"\nlocal = "{B4A}"\naftr = "{AFTR6}"\n'
                       f'exempt = ["10.0.0.0/24"]\n{OWN6}')
vector("b4-exempt", EXEMPT, ignored(ip4("10.0.1.9", PC) / udp() / data()),
       enters(ip4(PC, "10.0.1.9") / udp() / data(), over6(B4A, AFTR6) / ip4(PC, "10.0.1.9", 63) / udp() / data()))
vector("b4-back", B4, leaves(over6(AFTR6, B4A) / ip4(SERVER, PC) / udp(53, 40000) / data(), ip4(SERVER, PC, 63) / udp(53, 40000) / data()))
vector("b4-stranger", B4, drop(over6(B4B, B4A) / ip4(SERVER, PC) / udp(53, 40000) / data(), "tunnel-source"))

requirement("5.3", MUST, "Errors from inside the softwire are passed on as RFC 2473 section 8 says, by the B4...")
BIG = ip4(PC, SERVER, 63, flags="DF") / udp() / data(1460 - 28)
vector("b4-too-big-inside", B4, told(
    inside6(ICMPv6PacketTooBig(mtu=1400), over6(B4A, AFTR6) / BIG, dst=B4A), error4(ICMP(type=3, code=4, nexthopmtu=1360), BIG)))
requirement("6.3", MUST, "... and by the AFTR: who sent the packet is told about the packet that it sent.")
BIG = ip4(SERVER, OUT, 63, flags="DF") / udp(53, p) / data(400), ip4(SERVER, PC, 63, flags="DF") / udp(53, 40000) / data(400)
vector("unreachable-inside", AFTR, opened, told(
    inside6(ICMPv6DestUnreach(code=0), over6(AFTR6, B4A) / BIG[1], dst=AFTR6),
    Output(IP(src="203.0.113.254", dst=SERVER, id=0) / ICMP(type=3, code=1) / quote(BIG[0]), OWN4)))
vector("unreachable-inside-of-another-softwire", AFTR, opened, drop(
    inside6(ICMPv6DestUnreach(code=0), over6(AFTR6, B4B) / BIG[1], dst=AFTR6), "icmp-inner"))
vector("unreachable-inside-without-state", AFTR, drop(
    inside6(ICMPv6DestUnreach(code=0), over6(AFTR6, B4A) / BIG[1], dst=AFTR6), "icmp-inner"))

requirement("11", MUST, "The AFTR forwards packets from private or reserved IPv4 addresses only.")
for name, address in [("10", "10.255.0.9"), ("172", "172.16.0.9"), ("192", "192.168.255.9"), ("b4", "192.0.0.2"), ("shared", "100.127.0.9")]:
    vector(f"from-{name}", AFTR, leaves(over6(B4A, AFTR6) / ip4(address, SERVER) / udp() / data(), ip4(OUT, SERVER, 63) / udp(p) / data()))
for name, address in [("the-internet", "8.8.8.8"), ("beyond-172", "172.32.0.1"), ("beyond-shared", "100.128.0.1")]:
    vector(f"from-{name}", AFTR, drop(over6(B4A, AFTR6) / ip4(address, SERVER) / udp() / data(), "tunnel-spoofed"))
requirement("5.3", MUST, "Outer fragments are put together before the packet is taken out.", see=["rfc6333-6.3-fragments-in-fragments", "rfc2473-7.1-reassembly"])
requirement("5.4", SHOULD, "The B4 finds the AFTR by DHCPv6 (RFC 6334).", status="operator: a DHCPv6 client writes `aftr`; `isthmus addr dhcpv6` reads the option and looks the name up")
requirement("5.5", SHOULD, "The B4 is a DNS proxy over IPv6.", status="operator: another program")
requirement("6.2", SHOULD, "The administrator hears before the AFTR's resources are at an end.",
            status="partly: the fill of tables and pools is in `status` and metrics, for which an alert can be set")
requirement("7.1", MUST, "Traffic classes are carried over from inner to outer headers, and back.", see=["rfc6040-4.1-4in6-copied-ect0", "rfc7596-6.2-traffic-class-down"])
requirement("7.3", MUST, "The addresses of pools do not overlap.", status="yes: `isthmus check` refuses pools that overlap")
requirement("8.1", MUST, "UDP, TCP and ICMP are treated as RFC 4787, RFC 5382 and RFC 5508 say.", see=[
    "rfc4787-4.1-same-mapping-for-all", "rfc5382-4.2-handshake-data-close", "rfc5508-3.1-echo"])
