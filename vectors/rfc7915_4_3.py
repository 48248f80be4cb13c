"""RFC 7915 sections 4.3 to 4.6: packets in ICMPv4 errors, own errors, transport headers."""

from scapy.layers.inet import IPOption_NOP

from configurations import OWN, configuration, eam, siit
from packets import *
from table import *

rfc(7915)
SIIT = siit()
NO_ERRORS = ("siit-no-errors", siit("siit-no-errors")[1].replace("icmp-errors = 1000", "icmp-errors = 0"))
ONE_ERROR = ("siit-one-error", siit("siit-one-error")[1].replace("icmp-errors = 1000", "icmp-errors = 1"))
DROP_ZERO = siit("siit-zero-checksum-drop", more='zero-udp-checksum = "drop"\n')

R4, R4_V6 = "198.51.100.9", "2001:db8:1c6:3364:9::"
UNREACHABLE = (ICMP(type=3, code=3), ICMPv6DestUnreach(code=4))


def error(about4, about6, **free):
    """Port Unreachable from R4 about a packet of H6."""
    return send(ip4(R4) / UNREACHABLE[0] / about4, Output(to6(R4_V6) / UNREACHABLE[1] / about6, **free))


def both(rest4, rest6=None, ttl=61, fields4=None, fields6=None):
    """A packet of H6 to H4 as IPv4 and as IPv6."""
    return (ip4(H6_V4, H4, ttl, **(fields4 or {})) / rest4,
            to6(H6, H4_V6, ttl, **(fields6 or {})) / (rest4 if rest6 is None else rest6))


requirement("4.2", MUST, "The checksum of an ICMPv4 error is not made right if it was wrong: the error is dropped.")
WRONG = ICMP(type=3, code=3, chksum=0x1234)
vector("wrong-checksum", SIIT, drop(ip4(R4) / WRONG / quote(ip4(H6_V4, H4, 61) / udp() / data()), "malformed-transport"))
vector("wrong-checksum-of-what-is-made-anew", SIIT, drop(
    ip4(R4) / WRONG / quote(ip4(H6_V4, H4, 61, options=[IPOption_NOP()] * 4) / udp() / data()), "malformed-transport"))
requirement("4.3", MUST, "The packet in error is translated like any packet, except for its TTL, and the outer payload length "
            "follows.")
for name, pair in [
    ("udp", both(udp() / data())),
    ("tcp", both(tcp("S") / data())),
    ("echo-request", both(ICMP(type=8, id=7, seq=9) / data(), ICMPv6EchoRequest(id=7, seq=9, data=bytes(data())))),
    ("echo-reply", both(ICMP(type=0, id=7, seq=9) / data(), ICMPv6EchoReply(id=7, seq=9, data=bytes(data())))),
    ("tos", both(udp() / data(), fields4={"tos": 0xb8}, fields6={"tc": 0xb8})),
    ("gre", both(data(24), fields4={"proto": 47}, fields6={"nh": 47})),
    ("esp", both(data(24), fields4={"proto": 50}, fields6={"nh": 50})),
    ("ipip", both(Raw(bytes(ip4("10.0.0.1", "10.0.0.2") / udp())), fields4={"proto": 4}, fields6={"nh": 4})),
    ("ttl-0", both(udp() / data(), ttl=0)),
    ("ttl-1", both(udp() / data(), ttl=1)),
    ("options", (ip4(H6_V4, H4, 61, options=[IPOption_NOP()] * 4) / udp() / data(), to6(H6, H4_V6, 61) / udp() / data())),
]:
    vector(f"inner-{name}", SIIT, error(quote(pair[0]), quote(pair[1])))
requirement("4.3", MUST, "So is one of which only a part is quoted: its length fields speak of the whole packet.")
long = both(udp() / data(1000))
for name, pair in [
    ("udp", long), ("tcp", both(tcp() / data(1000))),
    ("echo", both(ICMP(type=8, id=7, seq=9) / data(1000), ICMPv6EchoRequest(id=7, seq=9, data=bytes(data(1000))))),
    ("gre", both(data(1000), fields4={"proto": 47}, fields6={"nh": 47})),
]:
    # The checksum of TCP begins at byte 16.
    for length in (8, 9, *((12, 16) if name == "tcp" else ()), 20, 100, 528):
        vector(f"inner-{name}-{length}-bytes", SIIT, error(quote(pair[0], 20 + length), quote(pair[1], 40 + length)))
requirement("4.3", MUST, "A fragment in error gets a fragment header.")
whole = both(udp() / data(2400))
for name, span in [("first", (0, 800)), ("middle", (800, 1600)), ("last", (1600, None))]:
    vector(f"inner-fragment-{name}", SIIT, error(
        quote(fragment4(whole[0], *span), 60), quote(fragment6(whole[1], *span, 0x1234), 88)))
requirement("4.3", MUST, "Where UDP in error has no checksum the error is translated still.")
vector("inner-udp-without-checksum", SIIT, error(
    quote(both(udp(chksum=0) / data())[0]), quote(both(udp() / data())[1]), free=[(40 + 8 + 40 + 6, 2), (42, 2)]))
requirement("4.3", MUST, "An ICMP error about an ICMP error is dropped.")
for number, code in [(3, 3), (3, 4), (11, 0), (12, 0)]:
    nested = ip4(H6_V4, H4) / ICMP(type=number, code=code) / quote(ip4(H4, H6_V4) / udp())
    vector(f"inner-error-{number}-{code}-dropped", SIIT, drop(
        ip4(R4) / UNREACHABLE[0] / quote(nested), "icmp-nested"))
requirement("4.3", MUST, "An error whose packet in error cannot be translated is dropped.")
vector("inner-not-ipv4", SIIT, drop(ip4(R4) / UNREACHABLE[0] / quote(both(udp())[1]), "icmp-inner"))
vector("inner-header-truncated", SIIT, drop(ip4(R4) / UNREACHABLE[0] / quote(both(udp())[0], 19), "icmp-inner"))
vector("inner-timestamp", SIIT, drop(
    ip4(R4) / UNREACHABLE[0] / quote(ip4(H6_V4, H4) / timestamp(13)), "icmp-inner"))

requirement("4.4", SHOULD, "The operator chooses whether ICMPv4 errors are sent, limited in rate, or not sent.")
late = ip4(ttl=1) / udp()
told = error4(ICMP(type=11, code=0), late)
vector("errors-sent", SIIT, *[reply(late, told, "hop-limit-exceeded") for _ in range(5)])
vector("errors-off", NO_ERRORS, drop(late, "hop-limit-exceeded"))
vector("errors-one-per-second", ONE_ERROR,
       reply(late, told, "hop-limit-exceeded", at=0), drop(late, "hop-limit-exceeded", at=0.1),
       drop(late, "hop-limit-exceeded", at=0.2), reply(late, told, "hop-limit-exceeded", at=2.5),
       counters={"icmp-error-suppressed": 2})
requirement("4.4", SHOULD, "A dropped packet is answered with Communication Administratively Prohibited, unless another answer, or "
            "silence, is asked for.")
EXPLICIT = configuration("siit-explicit", f'mechanism = "siit"\n{OWN}{eam([("192.0.2.1", "2001:db8:aaaa::1")])}')
stranger = ip4(H4, "192.0.2.1") / udp() / data()
vector("source-without-mapping", EXPLICIT, reply(stranger, error4(ICMP(type=3, code=13), stranger), "untranslatable-source"))
requirement("4.4", SHOULD, "No error is sent about an ICMPv4 error.")
vector("no-error-about-an-error", SIIT, drop(
    ip4(ttl=1) / ICMP(type=12, code=0, ptr=0) / quote(both(udp())[0]), "hop-limit-exceeded"))

requirement("4.5", MUST, "Checksums with a pseudo-header are updated for TCP, ICMP and UDP with a checksum.")
for name, make in [("tcp", lambda n: tcp() / data(n)), ("udp", lambda n: udp() / data(n))]:
    for length in (1, 2, 3, 511, 1200):
        vector(f"checksum-{name}-{length}", SIIT, send(ip4() / make(length), to6() / make(length)))

requirement("4.5", MUST, "A UDP checksum is never sent as zero: all ones stand for it (RFC 768, RFC 8200 section 8.1).")
payload = landing_on(udp(), 0xffff, H4_V6, H6, 46)
vector("checksum-udp-lands-on-zero", SIIT, send(ip4() / udp() / payload, to6() / udp() / payload))
payload = landing_on(udp(), 0xffff, H4, H6_V4, 26)
vector("checksum-udp-comes-as-all-ones", SIIT, send(ip4() / udp() / payload, to6() / udp() / payload))
requirement("4.5", MUST, "A TCP checksum of zero is a checksum like any other.")
payload = landing_on(tcp(), 0, H4_V6, H6, 56)
vector("checksum-tcp-lands-on-zero", SIIT, send(ip4() / tcp() / payload, to6() / tcp() / payload))
payload = landing_on(tcp(), 0, H4, H6_V4, 36)
vector("checksum-tcp-comes-as-zero", SIIT, send(ip4() / tcp() / payload, to6() / tcp() / payload))

requirement("4.5", SHOULD, "The operator can have UDP without a checksum forwarded with a computed one.")
for length in (0, 1, 16, 1200):
    vector(f"udp-without-checksum-computed-{length}", SIIT, send(
        ip4() / udp(chksum=0) / data(length), to6() / udp() / data(length),
        counters={"translated-4to6": 1, "checksum-computed": 1}))
payload = landing_on(udp(), 0xffff, H4_V6, H6, 46)
vector("udp-without-checksum-computed-as-zero", SIIT, send(ip4() / udp(chksum=0) / payload, to6() / udp() / payload))
requirement("4.5", SHOULD, "The operator can have UDP without a checksum dropped, with an event.")
plain = ip4() / udp(chksum=0)
vector("udp-without-checksum-dropped", DROP_ZERO, reply(
    plain, error4(ICMP(type=3, code=13), plain), "zero-checksum-udp"))
vector("udp-with-checksum-not-dropped", DROP_ZERO, send(ip4() / udp() / data(), to6() / udp() / data()))
requirement("4.5", SHOULD, "A stateless translator drops the first fragment of a UDP datagram without a checksum.")
whole = ip4(flags=0) / udp(chksum=0) / data(2400)
vector("udp-without-checksum-first-fragment", SIIT, drop(fragment4(whole, 0, 800), "zero-checksum-udp"))

requirement("4.5", MUST, "Every other transport protocol is forwarded, its payload unchanged.")
vector("sctp-unchanged", SIIT, send(ip4(proto=132) / data(40), to6(nh=132) / data(40)))
vector("dccp-unchanged", SIIT, send(ip4(proto=33) / data(40), to6(nh=33) / data(40)))
vector("ah-unchanged", SIIT, send(ip4(proto=51) / data(40), to6(nh=51) / data(40)))

requirement("4.6", MUST, "What a more specific route reaches without translation is forwarded without it.",
            status="yes: with `forward = \"kernel\"` or a more specific route the kernel forwards")
