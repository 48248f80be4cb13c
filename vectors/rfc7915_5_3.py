"""RFC 7915 sections 5.3 and 5.5: packets in ICMPv6 errors, transport headers."""

from configurations import siit
from packets import *
from table import *

rfc(7915)
SIIT = siit()
R6, R6_V4 = "2001:db8:1c0:2:63::", "192.0.2.99"
DO = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
HBH = IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)])


def error(about6, about4):
    """Port Unreachable from R6 about a packet of H4."""
    return send(ip6(R6) / ICMPv6DestUnreach(code=4) / about6, to4(R6_V4) / ICMP(type=3, code=3) / about4)


def both(rest6, rest4=None, limit=61, fields6=None, fields4=None):
    """A packet of H4 to H6 as IPv6 and as IPv4."""
    return (ip6(H4_V6, H6, limit, **(fields6 or {})) / rest6,
            to4(H4, H6_V4, limit, **(fields4 or {})) / (rest6 if rest4 is None else rest4))


requirement("5.3", MUST, "The packet in error is translated like any packet, except for its hop limit, and the outer total length "
            "follows.")
echo6, echo4 = ICMPv6EchoRequest(id=7, seq=9, data=bytes(data())), ICMP(type=8, id=7, seq=9) / data()
back6, back4 = ICMPv6EchoReply(id=7, seq=9, data=bytes(data())), ICMP(type=0, id=7, seq=9) / data()
for name, pair in [
    ("udp", both(udp() / data())), ("tcp", both(tcp("S") / data())),
    ("echo-request", both(echo6, echo4)), ("echo-reply", both(back6, back4)),
    ("traffic-class", both(udp() / data(), fields6={"tc": 0xb8}, fields4={"tos": 0xb8})),
    ("gre", both(data(24), fields6={"nh": 47}, fields4={"proto": 47})),
    ("esp", both(data(24), fields6={"nh": 50}, fields4={"proto": 50})),
    ("hop-limit-0", both(udp() / data(), limit=0)), ("hop-limit-1", both(udp() / data(), limit=1)),
    ("destination-options", both(DO / udp() / data(), udp() / data())),
    ("hop-by-hop-destination-options", both(HBH / DO / tcp() / data(), tcp() / data())),
]:
    vector(f"inner-{name}", SIIT, error(quote(pair[0]), quote(pair[1])))
requirement("5.3", MUST, "So is one of which only a part is quoted: its length fields and DF speak of the whole packet.")
for name, make in [
    ("udp", lambda: both(udp() / data(1000))), ("tcp", lambda: both(tcp() / data(1000))),
    ("echo", lambda: both(ICMPv6EchoRequest(id=7, seq=9, data=bytes(data(1000))), ICMP(type=8, id=7, seq=9) / data(1000))),
    ("gre", lambda: both(data(1000), fields6={"nh": 47}, fields4={"proto": 47})),
    ("udp-1500", lambda: both(udp() / data(1452), fields4={"flags": "DF"})),
]:
    for length in (8, 9, 20, 100, 900):
        pair = make()
        vector(f"inner-{name}-{length}-bytes", SIIT, error(quote(pair[0], 40 + length), quote(pair[1], 20 + length)))
requirement("5.3", MUST, "A fragment in error becomes an IPv4 fragment.")
for name, span in [("first", (0, 800)), ("middle", (800, 1600)), ("last", (1600, None))]:
    whole = both(udp() / data(2400), fields4={"id": 0xbeef})
    vector(f"inner-fragment-{name}", SIIT, error(
        quote(fragment6(whole[0], *span, 0x1234beef), 88), quote(fragment4(whole[1], *span), 60)))
requirement("5.3", MUST, "Reserved bits of a quoted fragment header go, and the checksum of the error knows.")
for name, bits in [("reserved-octet", {"res1": 0xa5}), ("reserved-bits", {"res2": 3}), ("all-reserved", {"res1": 0xff, "res2": 3})]:
    whole = both(udp() / data(2400), fields4={"id": 0xbeef})
    part = fragment6(whole[0], 0, 800, 0x1234beef)
    for field, value in bits.items():
        part[IPv6ExtHdrFragment].setfieldval(field, value)
    vector(f"inner-fragment-{name}", SIIT, error(quote(part, 88), quote(fragment4(whole[1], 0, 800), 60)))
requirement("5.2", MUST, "The checksum of an ICMPv6 error is not made right if it was wrong: the error is dropped.")
WRONG = ICMPv6DestUnreach(code=4, cksum=0x1234)
vector("wrong-checksum", SIIT, drop(ip6(R6) / WRONG / quote(both(udp() / data())[0]), "malformed-transport"))
vector("wrong-checksum-of-what-is-made-anew", SIIT, drop(
    ip6(R6) / WRONG / quote(both(DO / udp() / data(), udp() / data())[0]), "malformed-transport"))
vector("wrong-checksum-behind-options", SIIT, drop(ip6(R6) / DO / WRONG / quote(both(udp() / data())[0]), "malformed-transport"))
requirement("5.3", MUST, "An ICMPv6 error about an ICMPv6 error is dropped.")
for name, message in [("unreachable", ICMPv6DestUnreach(code=4)), ("too-big", ICMPv6PacketTooBig(mtu=1280)),
                      ("time-exceeded", ICMPv6TimeExceeded()), ("parameter-problem", ICMPv6ParamProblem())]:
    nested = ip6(H4_V6, H6) / message / quote(ip6(H6, H4_V6) / udp())
    vector(f"inner-error-{name}-dropped", SIIT, drop(
        ip6(R6) / ICMPv6DestUnreach(code=4) / quote(nested), "icmp-nested"))
requirement("5.3", MUST, "An error whose packet in error cannot be translated is dropped.")
vector("inner-not-ipv6", SIIT, drop(ip6(R6) / ICMPv6DestUnreach(code=4) / quote(ip4(H4, H6_V4) / udp() / data(20), 48), "icmp-inner"))
vector("inner-header-truncated", SIIT, drop(ip6(R6) / ICMPv6DestUnreach(code=4) / quote(both(udp())[0], 39), "icmp-inner"))

requirement("5.5", MUST, "Checksums with a pseudo-header are updated for TCP, UDP and ICMP.")
for name, make in [("tcp", lambda n: tcp() / data(n)), ("udp", lambda n: udp() / data(n))]:
    for length in (1, 2, 3, 511, 1200):
        vector(f"checksum-{name}-{length}", SIIT, send(ip6() / make(length), to4() / make(length)))
requirement("5.5", MUST, "A UDP checksum is never sent as zero: all ones stand for it (RFC 768).")
payload = landing_on(udp(), 0xffff, H6_V4, H4, 26)
vector("checksum-udp-lands-on-zero", SIIT, send(ip6() / udp() / payload, to4() / udp() / payload))
payload = landing_on(udp(), 0xffff, H6, H4_V6, 46)
vector("checksum-udp-comes-as-all-ones", SIIT, send(ip6() / udp() / payload, to4() / udp() / payload))
requirement("5.5", MUST, "UDP over IPv6 without a checksum is not valid (RFC 8200 section 8.1): it is dropped.")
vector("udp-without-checksum-dropped", SIIT, drop(ip6() / udp(chksum=0) / data(), "zero-checksum-udp"))
requirement("5.5", MUST, "A TCP checksum of zero is a checksum like any other.")
payload = landing_on(tcp(), 0, H6_V4, H4, 36)
vector("checksum-tcp-lands-on-zero", SIIT, send(ip6() / tcp() / payload, to4() / tcp() / payload))
requirement("5.5", MUST, "Every other transport protocol is forwarded, its payload unchanged.")
vector("sctp-unchanged", SIIT, send(ip6(nh=132) / data(40), to4(proto=132) / data(40)))
vector("dccp-unchanged", SIIT, send(ip6(nh=33) / data(40), to4(proto=33) / data(40)))

requirement("6", MUST, "The mapping of RFC 6052 is there, and is the default.", see=["rfc6052-2.3-embed-40", "rfc6052-2.3-extract-40"])
requirement("6", SHOULD, "A stateless translator has the mapping of RFC 7757.", see=["rfc7757-3.3-figure-7-192.0.2.1-4to6"])
requirement("6", SHOULD, "A stateless translator has the sources of RFC 6791.", see=["rfc6791-3.2-pool-of-one-time-exceeded"])
