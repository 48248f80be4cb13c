"""RFC 7915 sections 1 and 4 to 4.1: from an IPv4 header to an IPv6 header, without fragments."""

from scapy.layers.inet import IPOption_EOL, IPOption_LSRR, IPOption_NOP, IPOption_RR, IPOption_SSRR

from configurations import siit
from packets import *
from table import *

rfc(7915)
SIIT = siit()
TOS_IGNORED = siit("siit-tos-ignored", more="traffic-class = 0\n")

requirement("4", MUST, "The IPv4 header is replaced by an IPv6 header, the transport checksum follows, and "
            "the payload is unchanged.")
vector("udp", SIIT, send(ip4() / udp() / data(), to6() / udp() / data()))
vector("tcp", SIIT, send(ip4() / tcp() / data(), to6() / tcp() / data()))
vector("tcp-syn-with-options", SIIT, send(
    ip4() / tcp("S", options=[("MSS", 1460), ("SAckOK", b""), ("WScale", 7)]),
    to6() / tcp("S", options=[("MSS", 1460), ("SAckOK", b""), ("WScale", 7)])))
vector("udp-empty", SIIT, send(ip4() / udp(), to6() / udp()))
vector("udp-odd-length", SIIT, send(ip4() / udp() / data(7), to6() / udp() / data(7)))
vector("no-payload-at-all", SIIT, send(ip4(proto=253), to6(nh=253)))
vector("padding-behind-total-length-is-cut", SIIT, send(
    Raw(bytes(ip4() / udp() / data(6)) + b"\0" * 12), to6() / udp() / data(6)))

requirement("4", SHOULD, "Packets of one flow leave in the order in which they came.")
vector("order", SIIT, *[send(ip4(id=n) / udp() / data(n), to6() / udp() / data(n)) for n in range(1, 6)])

requirement("4.1", MUST, "Version is 6, flow label is 0, payload length is the total length without the IPv4 header.")
vector("lengths", SIIT, send(ip4() / udp() / data(1000), to6(fl=0) / udp() / data(1000)))
vector("id-and-flags-vanish", SIIT, send(ip4(id=0xffff, flags="DF") / udp() / data(), to6() / udp() / data()))
vector("reserved-flag-vanishes", SIIT, send(ip4(flags="evil") / udp() / data(), to6() / udp() / data()))

requirement("4.1", MUST, "By default the traffic class is the type of service octet, all eight bits.")
for tos in (0x00, 0x01, 0x03, 0x10, 0xb8, 0xff):
    vector(f"tos-{tos:02x}-copied", SIIT, send(ip4(tos=tos) / udp() / data(), to6(tc=tos) / udp() / data()))

requirement("4.1", SHOULD, "The operator can have the type of service ignored and the traffic class set to zero.")
vector("tos-ignored", TOS_IGNORED, send(ip4(tos=0xff) / udp() / data(), to6(tc=0) / udp() / data()))

requirement("4.1", MUST, "Next header is the protocol, but 58 for ICMPv4.")
vector("protocol-icmp", SIIT, send(ip4() / ICMP(type=8, id=7, seq=9) / data(),
                                   to6() / ICMPv6EchoRequest(id=7, seq=9, data=bytes(data()))))
for number, name in [(4, "ipip"), (33, "dccp"), (41, "ipv6"), (46, "rsvp"), (47, "gre"), (50, "esp"),
                     (89, "ospf"), (132, "sctp"), (136, "udplite"), (253, "experimental")]:
    vector(f"protocol-{name}", SIIT, send(ip4(proto=number) / data(24), to6(nh=number) / data(24)))
requirement("4.1", MUST, "So it is with protocols whose numbers are those of IPv6 extension headers, and with 58: they are copied. What such a packet "
            "says in IPv6 is its sender's doing, and no more than any IPv6 host may say.")
for number, name in [(0, "hop-by-hop"), (43, "routing"), (44, "fragment"), (51, "ah"), (59, "none"), (60, "destination"),
                     (135, "mobility"), (139, "hip"), (140, "shim6")]:
    vector(f"protocol-of-an-extension-{name}", SIIT, send(ip4(proto=number) / data(24), to6(nh=number) / data(24)))
ping = to6() / ICMPv6EchoRequest(id=7, seq=9)
vector("protocol-icmpv6-in-ipv4", SIIT, send(ip4(proto=58) / Raw(bytes(ping)[40:]), ping))
vector("protocol-of-an-extension-in-fragments", SIIT, *[
    send(fragment4(ip4(proto=60, id=7) / data(1000), *span), fragment6(to6(nh=60) / data(1000), *span, 7)) for span in [(0, 504), (504, None)]])

requirement("4.1", MUST, "As a router the translator decrements the TTL, checks for zero, and sends Time Exceeded.")
vector("ttl-255", SIIT, send(ip4(ttl=255) / udp(), to6(hlim=254) / udp()))
vector("ttl-2-is-forwarded", SIIT, send(ip4(ttl=2) / udp(), to6(hlim=1) / udp()))
for ttl in (1, 0):
    late = ip4(ttl=ttl) / udp()
    vector(f"ttl-{ttl}-time-exceeded", SIIT, reply(late, error4(ICMP(type=11, code=0), late), "hop-limit-exceeded"))
late = ip4(ttl=1) / ICMP(type=8, id=7, seq=9)
vector("ttl-1-echo-time-exceeded", SIIT, reply(late, error4(ICMP(type=11, code=0), late), "hop-limit-exceeded"))
late = ip4(ttl=1) / tcp() / data(600)
vector("ttl-1-long-packet", SIIT, reply(late, error4(ICMP(type=11, code=0), late), "hop-limit-exceeded"))
late = ip4(ttl=1) / ICMP(type=3, code=3) / quote(ip4(H6_V4, H4) / udp() / data())
vector("ttl-1-no-error-about-an-error", SIIT, drop(late, "hop-limit-exceeded"))
late = fragment4(ip4(ttl=1) / udp() / data(200), 96)
vector("ttl-1-no-error-about-a-later-fragment", SIIT, drop(late, "hop-limit-exceeded"))

requirement("4.1", MUST, "Source and destination are mapped by the algorithms of section 6.")
vector("addresses", SIIT, send(ip4("203.0.113.77", "192.0.2.255") / tcp() / data(),
                               to6("2001:db8:1cb:71:4d::", "2001:db8:1c0:2:ff::") / tcp() / data()))

requirement("4.1", SHOULD, "A packet with an illegal source is dropped silently.")
for source in ("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "224.0.0.1", "239.1.2.3", "240.0.0.1",
               "255.255.255.255"):
    vector(f"illegal-source-{source}", SIIT, drop(ip4(source) / udp() / data(), "illegal-source"))

requirement("4.1", MAY, "The illegal source of an ICMPv4 error is translated all the same, for troubleshooting.")
inner = (ip4(H6_V4, H4, 60) / udp() / data(), to6(H6, H4_V6, 60) / udp() / data())
vector("illegal-source-of-an-icmp-error", SIIT, send(
    ip4("127.0.0.1") / ICMP(type=11, code=0) / quote(inner[0]),
    to6("2001:db8:17f:0:1::") / ICMPv6TimeExceeded(code=0) / quote(inner[1])))

requirement("4.1", MUST, "IPv4 options are ignored and the packet is translated normally.")
vector("options-nop", SIIT, send(
    ip4(options=[IPOption_NOP(), IPOption_NOP(), IPOption_NOP(), IPOption_EOL()]) / udp() / data(),
    to6() / udp() / data()))
vector("options-record-route", SIIT, send(
    ip4(options=[IPOption_RR(pointer=4, routers=["0.0.0.0"] * 3), IPOption_EOL()]) / tcp() / data(),
    to6() / tcp() / data()))
vector("options-full-header", SIIT, send(
    ip4(options=[IPOption_RR(pointer=4, routers=["0.0.0.0"] * 9), IPOption_EOL()]) / udp() / data(),
    to6() / udp() / data()))
vector("options-icmp-echo", SIIT, send(
    ip4(options=[IPOption_NOP()] * 4) / ICMP(type=8, id=7, seq=9) / data(),
    to6() / ICMPv6EchoRequest(id=7, seq=9, data=bytes(data()))))

requirement("4.1", MUST, "A packet with an unexpired source route is dropped.")
requirement("4.1", SHOULD, "Its sender is told: Destination Unreachable, Source Route Failed.")
for name, option in [("loose", IPOption_LSRR), ("strict", IPOption_SSRR)]:
    routed = ip4(options=[option(pointer=4, routers=["192.0.2.99"]), IPOption_EOL()]) / udp()
    vector(f"source-route-{name}-refused", SIIT,
           reply(routed, error4(ICMP(type=3, code=5), routed), "source-route"))
routed = ip4(options=[IPOption_NOP(), IPOption_LSRR(pointer=8, routers=["192.0.2.98", "192.0.2.99"])]) / udp()
vector("source-route-half-way-refused", SIIT, reply(routed, error4(ICMP(type=3, code=5), routed), "source-route"))
requirement("4.1", MUST, "An expired source route is an option like any other.")
for name, option in [("loose", IPOption_LSRR), ("strict", IPOption_SSRR)]:
    vector(f"source-route-{name}-expired", SIIT, send(
        ip4(proto=17, options=[option(pointer=8, routers=["192.0.2.99"]), IPOption_EOL()]) / transport(ip4() / udp() / data()),
        to6() / udp() / data()))

requirement("1.2", MUST, "IPv4 multicast has no unicast mapping; such packets are not translated.")
for destination in ("224.0.0.1", "239.255.255.250", "255.255.255.255"):
    vector(f"destination-{destination}", SIIT, ignored(ip4(dst=destination) / udp() / data()))
