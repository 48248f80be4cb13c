"""RFC 7757: explicit address mappings and hairpinning."""

from configurations import EAMT, eam, siit
from packets import *
from table import *

rfc(7757)


def table(rows=EAMT, hairpin="off", label="eam", prefix="64:ff9b::/96", more="", hosts=("192.0.2.0/24",)):
    return siit(f"{label}-{hairpin}", prefix, hosts, f'allow-non-global = true\nhairpin = "{hairpin}"\n{more}{eam(rows)}')


OFF, SIMPLE, INTRINSIC = table(), table(hairpin="simple"), table(hairpin="intrinsic")
#: Figure 7. 192.0.2.225 has no way back: 64:ff9b::1 is in the translation prefix, but the EAM is longer.
FIGURE_7 = [
    ("192.0.2.1", "2001:db8:aaaa::"), ("192.0.2.2", "2001:db8:bbbb::b"), ("192.0.2.16", "2001:db8:cccc::"),
    ("192.0.2.24", "2001:db8:cccc::8"), ("192.0.2.31", "2001:db8:cccc::f"), ("192.0.2.128", "2001:db8:dddd::"),
    ("192.0.2.152", "2001:db8:dddd:0:6000::"), ("192.0.2.183", "2001:db8:dddd:0:dc00::"),
    ("192.0.2.191", "2001:db8:dddd:0:fc00::"), ("192.0.2.195", "2001:db8:eeee:9:8000::"),
    ("192.0.2.225", "64:ff9b::1"), ("192.0.2.248", "64:ff9b::c000:2f8"),
]
HOST4, HOST6 = "203.0.113.5", "64:ff9b::203.0.113.5"

requirement("3.2", MUST, "A missing prefix length means 32 or 128.")
requirement("3.3", MUST, "From IPv4 to IPv6: the mapping with the longest match; its IPv6 prefix, then the suffix bits, then zeros. "
            "Without a match RFC 7915 applies.")
for v4, v6 in FIGURE_7:
    vector(f"figure-7-{v4}-4to6", OFF, send(ip4(HOST4, v4) / udp() / data(), to6(HOST6, v6) / udp() / data()))
requirement("3.3", MUST, "From IPv6 to IPv4: the mapping with the longest match; its IPv4 prefix, then the suffix bits, cut at 32. "
            "Without a match RFC 7915 applies.")
for v4, v6 in FIGURE_7:
    vector(f"figure-7-{v4}-6to4", OFF, send(ip6(v6, HOST6) / udp() / data(), to4(v4, HOST4) / udp() / data()))
requirement("3.3", MUST, "Bits beyond the 32 that IPv4 has are discarded.")
vector("trailing-bits-of-64", OFF, send(
    ip6("2001:db8:dddd:0:6123:4567:89ab:cdef", HOST6) / udp() / data(), to4("192.0.2.152", HOST4) / udp() / data()))
vector("trailing-bits-of-62", OFF, send(
    ip6("2001:db8:eeee:9:9fff::1", HOST6) / udp() / data(), to4("192.0.2.195", HOST4) / udp() / data()))

requirement("3.2", MUST, "Each address in the packet is translated by itself, that in ICMP errors too.")
inner = (ip6(HOST6, "2001:db8:bbbb::b", 61) / udp() / data(), to4(HOST4, "192.0.2.2", 61) / udp() / data())
vector("icmp-error-6to4", OFF, send(
    ip6("2001:db8:bbbb::b", HOST6) / ICMPv6DestUnreach(code=4) / quote(inner[0]),
    to4("192.0.2.2", HOST4) / ICMP(type=3, code=3) / quote(inner[1])))
inner = (ip4("192.0.2.24", HOST4, 61) / udp() / data(), to6("2001:db8:cccc::8", HOST6, 61) / udp() / data())
vector("icmp-error-4to6", OFF, send(
    ip4(HOST4, "192.0.2.24") / ICMP(type=3, code=3) / quote(inner[0]),
    to6(HOST6, "2001:db8:cccc::8") / ICMPv6DestUnreach(code=4) / quote(inner[1])))
vector("both-addresses-mapped", OFF, send(
    ip4("192.0.2.1", "192.0.2.2") / udp() / data(), to6("2001:db8:aaaa::", "2001:db8:bbbb::b") / udp() / data()))

OVERLAP = table([("192.0.2.0/24", "2001:db8:1::/120"), ("192.0.2.128/25", "2001:db8:2::/121"),
                 ("192.0.2.130/32", "2001:db8:3::1/128"), ("198.51.100.7/32", "2001:db8:1::7/128")], label="eam-overlap")
requirement("5", MUST, "Where mappings overlap the longest match wins, on either side.")
for v4, v6 in [("192.0.2.1", "2001:db8:1::1"), ("192.0.2.129", "2001:db8:2::1"), ("192.0.2.130", "2001:db8:3::1"),
               ("192.0.2.255", "2001:db8:2::7f")]:
    vector(f"longest-match-{v4}-4to6", OVERLAP, send(ip4(HOST4, v4) / udp() / data(), to6(HOST6, v6) / udp() / data()))
    vector(f"longest-match-{v4}-6to4", OVERLAP, send(ip6(v6, HOST6) / udp() / data(), to4(v4, HOST4) / udp() / data()))
vector("longest-match-of-ipv6-prefixes", OVERLAP, send(
    ip6("2001:db8:1::7", HOST6) / udp() / data(), to4("198.51.100.7", HOST4) / udp() / data()))
FIGURE_2 = table([("0.0.0.0/0", "2001:db8:ff00::/40"), ("198.51.100.64/32", "2001:db8::abcd/128")], label="eam-figure-2")
vector("figure-2-one-way", FIGURE_2, send(
    ip6("2001:db8:ffc6:3364:4000::", "2001:db8:ffcb:71:500::") / udp() / data(), to4("198.51.100.64", HOST4) / udp() / data()))
TURNING = table([("0.0.0.0/0", "2001:db8:ff00::/40"), ("198.51.100.64/32", "2001:db8::abcd/128")], "intrinsic", "eam-figure-2")
vector("figure-2-no-hairpin-to-everybody", TURNING, send(
    ip6("2001:db8::abcd", "2001:db8:ffcb:71:500::") / udp() / data(), to4("198.51.100.64", HOST4) / udp() / data()))
vector("figure-2-other-way", FIGURE_2, send(
    ip4(HOST4, "198.51.100.64") / udp() / data(), to6("2001:db8:ffcb:71:500::", "2001:db8::abcd") / udp() / data()))

requirement("6", MUST, "A mapping is not neutral to the checksum, whatever the prefix: transport checksums are updated.")
vector("checksum-tcp", OFF, send(
    ip4(HOST4, "192.0.2.183") / tcp() / data(), to6(HOST6, "2001:db8:dddd:0:dc00::") / tcp() / data()))

A6, A4, B6, B4 = "2001:db8:aaaa::", "192.0.2.1", "2001:db8:bbbb::b", "192.0.2.2"
A_AS_6, B_AS_6 = f"64:ff9b::{A4}", f"64:ff9b::{B4}"
requirement("4.2", SHOULD, "Hairpinning is supported, and on by default.")
DEFAULT = siit("eam-default", "64:ff9b::/96", more=f"allow-non-global = true\n{eam(EAMT)}")
vector("default-turns-back", DEFAULT, send(ip6(A6, B_AS_6) / udp() / data(), to6(A_AS_6, B6) / udp() / data()))
vector("default-from-ipv4", DEFAULT, send(ip4(A4, B4) / udp() / data(), to6(A6, B6) / udp() / data()))
requirement("4.2.1", MUST, "Simple hairpinning, from IPv4 to IPv6: the source of a packet that is no error is not looked up in the table.")
vector("simple-rule-1", SIMPLE, send(ip4(A4, B4) / udp() / data(), to6(A_AS_6, B6) / udp() / data()))
vector("simple-no-hairpin-no-difference", SIMPLE, send(
    ip4(HOST4, B4) / udp() / data(), to6(HOST6, B6) / udp() / data()))
requirement("4.2.1", MUST, "In an error the inner destination is not looked up (rule 2); neither is the outer source if it is the same "
            "address (rule 3).")
inner = (ip4(A4, B4, 61) / udp() / data(), to6(A6, B_AS_6, 61) / udp() / data())
vector("simple-rule-2-figure-9", SIMPLE, send(
    ip4("198.51.100.1", A4) / ICMP(type=3, code=3) / quote(inner[0]),
    to6("64:ff9b::198.51.100.1", A6) / ICMPv6DestUnreach(code=4) / quote(inner[1])))
vector("simple-rule-3-figure-10", SIMPLE, send(
    ip4(B4, A4) / ICMP(type=3, code=3) / quote(inner[0]),
    to6(B_AS_6, A6) / ICMPv6DestUnreach(code=4) / quote(inner[1])))
vector("simple-rule-2-without-3", SIMPLE, send(
    ip4("192.0.2.24", A4) / ICMP(type=11, code=0) / quote(inner[0]),
    to6("2001:db8:cccc::8", A6) / ICMPv6TimeExceeded(code=0) / quote(inner[1])))
vector("simple-leaves-as-ipv4", SIMPLE, send(ip6(A6, B_AS_6) / udp() / data(), to4(A4, B4) / udp() / data()))

requirement("4.2.2", MUST, "Intrinsic hairpinning: a packet whose destination went through the prefix and has a mapping (set A) is "
            "translated back at once, by the rules of section 4.2.1.")
requirement("4.2.2", SHOULD, "The hop limit is not decremented a second time.")
vector("intrinsic-figure-8", INTRINSIC, send(
    ip6(A6, B_AS_6) / udp() / data(), to6(A_AS_6, B6) / udp() / data()))
vector("intrinsic-figure-11", INTRINSIC, send(
    ip6(B6, A_AS_6) / udp(53, 40000) / data(), to6(B_AS_6, A6) / udp(53, 40000) / data()))
vector("intrinsic-tcp", INTRINSIC, send(ip6(A6, B_AS_6) / tcp() / data(), to6(A_AS_6, B6) / tcp() / data()))
vector("intrinsic-echo", INTRINSIC, send(
    ip6(A6, B_AS_6) / ICMPv6EchoRequest(id=1, seq=1, data=b"ping"), to6(A_AS_6, B6) / ICMPv6EchoRequest(id=1, seq=1, data=b"ping")))
vector("intrinsic-not-if-no-mapping", INTRINSIC, send(ip6(A6, HOST6) / udp() / data(), to4(A4, HOST4) / udp() / data()))
vector("intrinsic-not-through-a-mapping", INTRINSIC, send(
    ip6(HOST6, B6) / udp() / data(), to4(HOST4, B4) / udp() / data()))
requirement("4.2.2", MUST, "The rules of section 4.2.1 are for the second pass only: a packet from IPv4 is translated by the table.")
vector("intrinsic-from-ipv4", INTRINSIC, send(ip4(A4, B4) / udp() / data(), to6(A6, B6) / udp() / data()))
inner = (ip4(A4, B4, 61) / udp() / data(), to6(A6, B6, 61) / udp() / data())
vector("intrinsic-error-from-ipv4", INTRINSIC, send(
    ip4("198.51.100.1", A4) / ICMP(type=3, code=3) / quote(inner[0]),
    to6("64:ff9b::198.51.100.1", A6) / ICMPv6DestUnreach(code=4) / quote(inner[1])))
vector("intrinsic-error-from-ipv4-of-the-host", INTRINSIC, send(
    ip4(B4, A4) / ICMP(type=3, code=3) / quote(inner[0]), to6(B6, A6) / ICMPv6DestUnreach(code=4) / quote(inner[1])))
requirement("4.2.2", MUST, "A packet that the second pass finds too large was an IPv6 host's: that is told, in its own family (RFC 7915 section 1.4).")
NARROW = table(hairpin="intrinsic", label="eam-narrow")
NARROW = NARROW[0], "[link]\nipv6-mtu = 1400\n" + NARROW[1]
big = ip6(A6, B_AS_6) / udp() / data(1401 - 48)
vector("intrinsic-too-big", NARROW, reply(big, error6(ICMPv6PacketTooBig(mtu=1400), big), "too-big"))
vector("intrinsic-just-fits", NARROW, send(
    ip6(A6, B_AS_6) / udp() / data(1400 - 48), to6(A_AS_6, B6) / udp() / data(1400 - 48)))
requirement("4.2.2", MUST, "The same for an error whose inner source went through the prefix and has a mapping (set B).")
POOL = table(hairpin="intrinsic", label="eam-pool", more='icmp-source-v4 = ["198.51.100.1/32"]\n')
about = ip6(A_AS_6, B6, 61) / udp() / data(), ip6(A6, B_AS_6, 61) / udp() / data()
vector("intrinsic-figure-9", POOL, send(
    ip6("2001:db8::1234", A_AS_6) / ICMPv6TimeExceeded(code=0) / quote(about[0]),
    to6("64:ff9b::198.51.100.1", A6) / ICMPv6TimeExceeded(code=0) / quote(about[1])))
vector("intrinsic-figure-10", POOL, send(
    ip6(B6, A_AS_6) / ICMPv6DestUnreach(code=4) / quote(about[0]),
    to6(B_AS_6, A6) / ICMPv6DestUnreach(code=4) / quote(about[1])))
inner = (ip6(B6, HOST6, 61) / udp() / data(), to4(B4, HOST4, 61, id=0) / udp() / data())
vector("intrinsic-error-not-through-a-mapping", INTRINSIC, send(
    ip6(HOST6, B6) / ICMPv6DestUnreach(code=4) / quote(inner[0]), to4(HOST4, B4) / ICMP(type=3, code=3) / quote(inner[1])))

requirement("3.2", MUST, "A mapping's IPv4 prefix has no more suffix bits than its IPv6 prefix.")
refused("suffix-too-long", table([("192.0.2.0/24", "2001:db8:1::/121")], label="eam-suffix-8-and-7"), "192.0.2.0/24")
refused("suffix-too-long-without-length", table([("192.0.2.0/31", "2001:db8:1::1")], label="eam-suffix-1-and-0"), "192.0.2.0/31")
requirement("5", MAY, "A mapping with the same prefix as another one is refused.")
refused("same-ipv6-prefix", table([("198.51.100.8/32", "2001:db8::1/128"), ("198.51.100.9/32", "2001:db8::1/128")],
                                  label="eam-figure-3"), "2001:db8::1")
requirement("5", MAY, "The operator is warned of overlapping mappings.", status="yes: `isthmus check` tells")
requirement("4.2", MAY, "Both ways of hairpinning are there.", see=[
    "rfc7757-4.2.1-simple-rule-1", "rfc7757-4.2.2-intrinsic-figure-8"])
requirement("3.1", MAY, "The table has more columns.", status="no: nothing needs them")
