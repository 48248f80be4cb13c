"""RFC 7915 sections 5 and 5.1: from an IPv6 header to an IPv4 header."""

from configurations import siit
from packets import *
from table import *

rfc(7915)
SIIT = siit()
TOS_IGNORED = siit("siit-traffic-class-ignored", more="tos = 0\n")
TOS_SET = siit("siit-tos-set", more="tos = 72\n")

HBH = IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)])
DO = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
LONG_DO = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 20)])


def routing(left, kind=4, addresses=("2001:db8::9",)):
    """A routing header with this many segments left."""
    return IPv6ExtHdrRouting(type=kind, segleft=left, addresses=list(addresses))


requirement("5", MUST, "The IPv6 header is replaced by an IPv4 header, the transport checksum follows, and the payload is "
            "unchanged.")
vector("udp", SIIT, send(ip6() / udp() / data(), to4() / udp() / data()))
vector("tcp", SIIT, send(ip6() / tcp() / data(), to4() / tcp() / data()))
vector("udp-empty", SIIT, send(ip6() / udp(), to4() / udp()))
vector("udp-odd-length", SIIT, send(ip6() / udp() / data(7), to4() / udp() / data(7)))
vector("no-payload-at-all", SIIT, send(ip6(nh=253), to4(proto=253)))
vector("padding-behind-payload-length-is-cut", SIIT, send(
    Raw(bytes(ip6() / udp() / data(2)) + b"\0" * 8), to4() / udp() / data(2)))

requirement("5", SHOULD, "Packets of one flow leave in the order in which they came.")
vector("order", SIIT, *[send(ip6() / udp() / data(n), to4() / udp() / data(n)) for n in range(1, 6)])

requirement("5.1", MUST, "Version 4, header length 5, total length the payload length plus 20, offset 0, no more fragments, and "
            "a header checksum.")
vector("lengths", SIIT, send(ip6() / udp() / data(1000), to4() / udp() / data(1000)))
vector("flow-label-vanishes", SIIT, send(ip6(fl=0xfffff) / udp() / data(), to4() / udp() / data()))

requirement("5.1", MUST, "By default the type of service octet is the traffic class, all eight bits.")
for octet in (0x00, 0x01, 0x03, 0x10, 0xb8, 0xff):
    vector(f"traffic-class-{octet:02x}-copied", SIIT, send(ip6(tc=octet) / udp() / data(), to4(tos=octet) / udp() / data()))
requirement("5.1", SHOULD, "The operator can have the traffic class ignored and the type of service set to a value.")
vector("traffic-class-ignored", TOS_IGNORED, send(ip6(tc=0xff) / udp() / data(), to4(tos=0) / udp() / data()))
vector("tos-set", TOS_SET, send(ip6(tc=0xff) / udp() / data(), to4(tos=72) / udp() / data()))

requirement("5.1", MUST, "The identification comes from a generator of the translator.")
first, second = Choice("first"), Choice("second")
second.differs = ["first"]
vector("identifications-differ", SIIT,
       send(ip6() / udp() / data(), to4(id=first) / udp() / data()),
       send(ip6() / udp() / data(), to4(id=second) / udp() / data()))

requirement("5.1", MUST, "Don't Fragment is clear if the IPv4 packet has at most 1260 bytes, else set.")
for total, flags in [(28, 0), (1259, 0), (1260, 0), (1261, "DF"), (1480, "DF")]:
    vector(f"df-of-{total}", SIIT, send(ip6() / udp() / data(total - 28), to4(flags=flags) / udp() / data(total - 28)))

requirement("5.1", MUST, "As a router the translator decrements the hop limit, checks for zero, and sends Hop Limit Exceeded.")
vector("hop-limit-255", SIIT, send(ip6(hlim=255) / udp(), to4(ttl=254) / udp()))
vector("hop-limit-2-is-forwarded", SIIT, send(ip6(hlim=2) / udp(), to4(ttl=1) / udp()))
for limit in (1, 0):
    late = ip6(hlim=limit) / udp()
    vector(f"hop-limit-{limit}-time-exceeded", SIIT, reply(
        late, error6(ICMPv6TimeExceeded(code=0), late), "hop-limit-exceeded"))
late = ip6(hlim=1) / ICMPv6EchoRequest(id=7, seq=9)
vector("hop-limit-1-echo-time-exceeded", SIIT, reply(
    late, error6(ICMPv6TimeExceeded(code=0), late), "hop-limit-exceeded"))
late = ip6(hlim=1) / udp() / data(1400)
vector("hop-limit-1-error-fits-1280", SIIT, reply(late, error6(ICMPv6TimeExceeded(code=0), late), "hop-limit-exceeded"))
vector("hop-limit-1-no-error-about-an-error", SIIT, drop(
    ip6(hlim=1) / ICMPv6DestUnreach(code=4) / quote(ip6(H4_V6, H6) / udp()), "hop-limit-exceeded"))

requirement("5.1", MUST, "Protocol is the first next header that is not skipped, but 1 for ICMPv6.")
vector("protocol-icmpv6", SIIT, send(ip6() / ICMPv6EchoRequest(id=7, seq=9, data=bytes(data())),
                                     to4() / ICMP(type=8, id=7, seq=9) / data()))
for number, name in [(4, "ipip"), (33, "dccp"), (41, "ipv6"), (47, "gre"), (50, "esp"), (51, "ah"), (59, "none"),
                     (132, "sctp"), (135, "mobility"), (136, "udplite"), (139, "hip"), (253, "experimental")]:
    vector(f"protocol-{name}", SIIT, send(ip6(nh=number) / data(24), to4(proto=number) / data(24)))
requirement("5.1", MUST, "So it is with 1, which is ICMPv4 already: it is copied, with its payload.")
vector("protocol-icmpv4", SIIT, send(
    ip6(nh=1) / Raw(bytes(ICMP(type=8, id=7, seq=9) / data())), to4() / ICMP(type=8, id=7, seq=9) / data()))
vector("protocol-icmpv4-behind-options", SIIT, send(
    ip6() / IPv6ExtHdrDestOpt(nh=1, options=[PadN(optdata=b"\0" * 4)]) / Raw(bytes(ICMP(type=8, id=7, seq=9) / data())),
    to4() / ICMP(type=8, id=7, seq=9) / data()))

requirement("5.1", MUST, "Hop-by-hop options, destination options and routing headers without segments left are skipped; "
            "total length and protocol skip them.")
for name, chain in [
    ("hop-by-hop", HBH), ("destination", DO), ("destination-24-bytes", LONG_DO), ("routing-0", routing(0, 0)),
    ("routing-2", routing(0, 2)), ("routing-3-addresses", routing(0, 0, ["2001:db8::7", "2001:db8::8", "2001:db8::9"])),
    ("hop-by-hop-destination", HBH / DO), ("hop-by-hop-destination-routing-destination", HBH / DO / routing(0) / LONG_DO),
]:
    vector(f"extension-{name}", SIIT, send(ip6() / chain / udp() / data(), to4() / udp() / data()))
# A BPF program does not read as far into a packet.
for size in [784, 1000, 1024, 1400]:
    padding = [PadN(optdata=b"\0" * 198)] * ((size - 2) // 200)
    padding += [PadN(optdata=b"\0" * ((size - 2) % 200 - 2))]
    vector(f"extension-{size}-bytes", SIIT, send(ip6() / IPv6ExtHdrDestOpt(options=padding) / udp() / data(), to4() / udp() / data()))
    vector(f"extension-hop-by-hop-{size}-bytes", SIIT,
           send(ip6() / HBH / IPv6ExtHdrDestOpt(options=padding) / udp() / data(), to4() / udp() / data()))
vector("extension-tcp", SIIT, send(ip6() / DO / tcp() / data(), to4() / tcp() / data()))
vector("extension-echo", SIIT, send(ip6() / DO / ICMPv6EchoRequest(id=7, seq=9), to4() / ICMP(type=8, id=7, seq=9)))
vector("extension-gre", SIIT, send(ip6() / IPv6ExtHdrDestOpt(nh=47, options=[PadN(optdata=b"\0" * 4)]) / data(24),
                                   to4(proto=47) / data(24)))
vector("extension-df-counts-the-ipv4-packet", SIIT, send(ip6() / DO / udp() / data(1230), to4() / udp() / data(1230)))

requirement("5.1", MUST, "A packet with a routing header that has segments left is not translated.")
requirement("5.1", SHOULD, "Its sender is told: Parameter Problem, code 0, the pointer at Segments Left.")
for name, chain, pointer in [
    ("first", routing(1), 43), ("two-left", routing(2, 0, ["2001:db8::8", "2001:db8::9"]), 43),
    ("behind-hop-by-hop", HBH / routing(1), 51), ("behind-two", HBH / LONG_DO / routing(1), 75),
]:
    routed = ip6() / chain / udp()
    vector(f"segments-left-{name}", SIIT, reply(
        routed, error6(ICMPv6ParamProblem(code=0, ptr=pointer), routed), "routing-header"))

requirement("5.1", MUST, "Source and destination are mapped by the algorithms of section 6.")
vector("addresses", SIIT, send(ip6("2001:db8:1c0:2:ff::", "2001:db8:1cb:71:4d::") / tcp() / data(),
                               to4("192.0.2.255", "203.0.113.77") / tcp() / data()))

requirement("5.1", SHOULD, "A packet with an illegal source is dropped silently.")
for name, source in [("loopback", "::1"), ("unspecified", "::"), ("multicast", "ff02::1"), ("link-local", "fe80::1")]:
    vector(f"illegal-source-{name}", SIIT, drop(ip6(source) / udp() / data(), "illegal-source"))
requirement("5.1", SHOULD, "So is one whose source would become an illegal IPv4 address.")
for name, source in [("loopback", "2001:db8:17f:0:1::"), ("multicast", "2001:db8:1e0:0:1::"), ("zero", "2001:db8:100::")]:
    vector(f"illegal-embedded-source-{name}", SIIT, drop(ip6(source) / udp() / data(), "illegal-source"))
requirement("1.2", MUST, "IPv4 multicast has no unicast mapping; what is addressed to one inside the prefix is not translated.")
for name, destination in [("multicast", "2001:db8:1e0:0:1::"), ("loopback", "2001:db8:17f:0:1::"), ("broadcast", "2001:db8:1ff:ffff:ff::")]:
    lost = ip6(dst=destination) / udp() / data()
    vector(f"embedded-destination-{name}", SIIT, drop(
        lost, "illegal-destination", may=error6(ICMPv6DestUnreach(code=1), lost)))
requirement("5.6", MUST, "What is addressed to a representation of an IPv4 host is translated.")
vector("destination-in-the-prefix", SIIT, send(ip6() / udp() / data(), to4() / udp() / data()))
vector("destination-outside-the-prefix", SIIT, ignored(ip6(dst="2001:db8:2::1") / udp() / data()))
requirement("5.6", MUST, "What a more specific route reaches without translation is forwarded without it.",
            status="yes: with `forward = \"kernel\"` or a more specific route the kernel forwards")

requirement("5.4", SHOULD, "A dropped packet that is no ICMPv6 message is answered with an error.")
requirement("5.4", MUST, "That error is Destination Unreachable, code 1, unless another one is asked for.")
stranger = ip6("2001:db8:2::1") / udp() / data()
vector("source-without-mapping", SIIT, reply(
    stranger, error6(ICMPv6DestUnreach(code=1), stranger), "untranslatable-source"))
requirement("5.4", SHOULD, "The operator chooses whether ICMPv6 errors are sent, limited in rate, or not sent.")
late = ip6(hlim=1) / udp()
told = error6(ICMPv6TimeExceeded(code=0), late)
NO_ERRORS = ("siit-no-errors", siit("siit-no-errors")[1].replace("icmp-errors = 1000", "icmp-errors = 0"))
ONE_ERROR = ("siit-one-error", siit("siit-one-error")[1].replace("icmp-errors = 1000", "icmp-errors = 1"))
vector("errors-off", NO_ERRORS, drop(late, "hop-limit-exceeded"))
vector("errors-one-per-second", ONE_ERROR,
       reply(late, told, "hop-limit-exceeded", at=0), drop(late, "hop-limit-exceeded", at=0.1),
       reply(late, told, "hop-limit-exceeded", at=2.5), counters={"icmp-error-suppressed": 1})
