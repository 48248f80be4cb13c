"""RFC 7915 section 5.2: every row of the tables from ICMPv6 to ICMPv4."""

from configurations import siit
from packets import *
from table import *

rfc(7915)
SIIT = siit()
EGRESS4_1400 = siit("siit-ipv4-mtu-1400", link="ipv4-mtu = 1400")
EGRESS6_1400 = siit("siit-ipv6-mtu-1400", link="ipv6-mtu = 1400")
JUMBO = siit("siit-jumbo", link="ipv4-mtu = 9000\nipv6-mtu = 9000")

#: A host on the IPv6 side that has an IPv4 address, and the packet of H4 that it complains about.
R6, R6_V4 = "2001:db8:1c0:2:63::", "192.0.2.99"
ABOUT6 = ip6(H4_V6, H6, 61) / udp() / data()


def about4():
    """`ABOUT6` as it was in IPv4."""
    return to4(H4, H6_V4, 61) / udp() / data()


def error(message6, message4):
    """An ICMPv6 error of R6 and its translation."""
    return send(ip6(R6) / message6 / quote(ABOUT6), to4(R6_V4) / message4 / quote(about4()))


def lost(message6):
    """An ICMPv6 message of R6 that has no counterpart."""
    return drop(ip6(R6) / message6 / quote(ABOUT6), "icmp-untranslatable")


requirement("5.2", MUST, "The ICMPv4 checksum is made without a pseudo-header; the type changes with it. Echo Request and Reply "
            "become 8 and 0.")
for name, old, new in [("request", ICMPv6EchoRequest, 8), ("reply", ICMPv6EchoReply, 0)]:
    for length in (0, 1, 56, 1000):
        vector(f"echo-{name}-{length}", SIIT, send(
            ip6() / old(id=0xabcd, seq=0xfffe, data=bytes(data(length))),
            to4() / ICMP(type=new, id=0xabcd, seq=0xfffe) / data(length)))
vector("echo-reply-of-zeros", SIIT, send(
    ip6() / ICMPv6EchoReply(id=0, seq=0) / Raw(b"\0" * 16), to4() / ICMP(type=0, id=0, seq=0) / Raw(b"\0" * 16)))

for title, types in [
    ("Multicast Listener Query, Report and Done are dropped silently.", (130, 131, 132)),
    ("Neighbor Discovery messages are dropped silently.", (133, 134, 135, 136, 137)),
    ("Unknown informational messages are dropped silently.", (138, 139, 140, 141, 143, 160, 200, 255)),
    ("Unknown error messages are dropped silently.", (0, 5, 100, 127)),
]:
    requirement("5.2", MUST, title)
    for number in types:
        vector(f"type-{number}-dropped", SIIT, drop(
            ip6() / ICMPv6Unknown(type=number, code=0, msgbody=bytes(data(20))), "icmp-untranslatable"))

requirement("5.2", MUST, "Destination Unreachable becomes type 3, with the code by the list.")
for old, new in {0: 1, 1: 10, 2: 1, 3: 1, 4: 3}.items():
    vector(f"unreachable-{old}-becomes-{new}", SIIT, error(ICMPv6DestUnreach(code=old), ICMP(type=3, code=new)))
requirement("5.2", MUST, "Destination Unreachable with any other code is dropped silently.")
for code in (5, 6, 7, 8, 255):
    vector(f"unreachable-{code}-dropped", SIIT, lost(ICMPv6DestUnreach(code=code)))

requirement("5.2", MUST, "Packet Too Big becomes Fragmentation Needed; its MTU shrinks by 20, and is at most that of the IPv4 next "
            "hop and that of the IPv6 next hop less 20.")
for configuration, name, old, new in [
    (SIIT, "1400", 1400, 1380), (SIIT, "1280", 1280, 1260), (SIIT, "1500", 1500, 1480),
    (SIIT, "1520-egress-ipv6", 1520, 1480), (SIIT, "70000-egress", 70000, 1480), (EGRESS4_1400, "1450-egress-ipv4", 1450, 1400),
    (EGRESS4_1400, "1419-egress-ipv4", 1419, 1399), (EGRESS6_1400, "1450-egress-ipv6", 1450, 1380), (JUMBO, "8000", 8000, 7980),
]:
    vector(f"too-big-{name}", configuration, error(
        ICMPv6PacketTooBig(mtu=old), ICMP(type=3, code=4, nexthopmtu=new)))

# No IPv4 link takes less than 68 bytes (RFC 791 section 3.2), so that no sender has to take less for an answer.
for old, new in [(88, 68), (89, 69), (40, 68), (0, 68)]:
    vector(f"too-big-{old}-floor", SIIT, error(ICMPv6PacketTooBig(mtu=old), ICMP(type=3, code=4, nexthopmtu=new)))
requirement("5.2", MUST, "The packet in error may have a Fragment header, which the IPv4 packet does not have: the MTU shrinks by 28.")
PIECES = ip6(H4_V6, H6, 61) / udp() / data(1400), to4(H4, H6_V4, 61, flags=0) / udp() / data(1400)
for old, new in [(1400, 1372), (1500, 1472)]:
    vector(f"too-big-{old}-about-a-fragment", SIIT, send(
        ip6(R6) / ICMPv6PacketTooBig(mtu=old) / quote(fragment6(PIECES[0], 0, 800, 0x1234beef), 88),
        to4(R6_V4) / ICMP(type=3, code=4, nexthopmtu=new) / quote(fragment4(PIECES[1], 0, 800), 60)))

requirement("5.2", MUST, "Time Exceeded becomes type 11; the code stays.")
for code in (0, 1):
    vector(f"time-exceeded-{code}", SIIT, error(ICMPv6TimeExceeded(code=code), ICMP(type=11, code=code)))

POINTERS = {0: 0, 1: 1, 4: 2, 5: 2, 6: 9, 7: 8, **dict.fromkeys(range(8, 24), 12), **dict.fromkeys(range(24, 40), 16)}
requirement("5.2", MUST, "Parameter Problem with code 0 becomes type 12, code 0, with the pointer by figure 6.")
for old, new in POINTERS.items():
    vector(f"parameter-problem-pointer-{old}-becomes-{new}", SIIT, error(
        ICMPv6ParamProblem(code=0, ptr=old), ICMP(type=12, code=0, ptr=new)))
requirement("5.2", MUST, "Where figure 6 says n/a or does not list the pointer, the message is dropped silently.")
for pointer in (2, 3, 40, 41, 44, 255, 256, 0x01000000, 0xffffffff):
    vector(f"parameter-problem-pointer-{pointer}-dropped", SIIT, lost(ICMPv6ParamProblem(code=0, ptr=pointer)))
requirement("5.2", MUST, "Parameter Problem with code 1 becomes Protocol Unreachable.")
vector("parameter-problem-1-becomes-protocol-unreachable", SIIT, error(ICMPv6ParamProblem(code=1, ptr=40), ICMP(type=3, code=2)))
requirement("5.2", MUST, "Parameter Problem with code 2 is dropped silently.")
for code in (2, 3, 255):
    vector(f"parameter-problem-{code}-dropped", SIIT, lost(ICMPv6ParamProblem(code=code, ptr=40)))

EXTENSION = bytes.fromhex("2000 9cb3 0008 0101 0044 41ff")  # version 2; one MPLS label stack entry
requirement("5.2", MUST, "If an error carries RFC 4884 extensions, their place and the length attribute are adjusted; what is "
            "in them is passed as it is.")
for name, old, new in [
    ("time-exceeded", lambda n: ICMPv6TimeExceeded(code=0, length=n), lambda n: ICMP(type=11, code=0, length=n)),
    ("unreachable", lambda n: ICMPv6DestUnreach(code=0, length=n), lambda n: ICMP(type=3, code=1, length=n)),
]:
    about6, about = ip6(H4_V6, H6, 61) / udp() / data(300), to4(H4, H6_V4, 61) / udp() / data(300)
    # 152 bytes (19 words of 64 bits) of the original become 132 (33 words of 32 bits).
    vector(f"extension-of-{name}", SIIT, send(
        ip6(R6) / old(19) / quote(about6, 152) / Raw(EXTENSION),
        to4(R6_V4) / new(33) / quote(about, 132) / Raw(EXTENSION)))
    # 128 bytes become 108, which zeros fill up to the 128 that RFC 4884 wants.
    vector(f"extension-of-{name}-padded", SIIT, send(
        ip6(R6) / old(16) / quote(about6, 128) / Raw(EXTENSION),
        to4(R6_V4) / new(32) / quote(about, 108, 128) / Raw(EXTENSION)))
requirement("5.2", MUST, "Without a length attribute there is no extension: what looks like one belongs to the packet in error.")
about6, about = ip6(H4_V6, H6, 61) / udp() / data(300), to4(H4, H6_V4, 61) / udp() / data(300)
vector("extension-without-length", SIIT, send(
    ip6(R6) / ICMPv6TimeExceeded(code=0) / quote(about6, 128) / Raw(EXTENSION),
    to4(R6_V4) / ICMP(type=11, code=0) / quote(about, 108) / Raw(EXTENSION)))

requirement("5.2", MUST, "The checksum of an error is over all octets of the message, however many quote the packet in error.")
# About the sizes that are no whole words, and about 512 and 1024 octets of ICMP.
about = (ip6(H4_V6, H6, 61) / udp() / data(700), to4(H4, H6_V4, 61) / udp() / data(700))
for octets in (49, 50, 51, 503, 504, 505, 506, 507):
    vector(f"error-quotes-{octets}-octets", SIIT, send(
        ip6(R6) / ICMPv6TimeExceeded(code=0) / quote(about[0], octets),
        to4(R6_V4) / ICMP(type=11, code=0) / quote(about[1], octets - 20)))
for octets in (51, 505):
    vector(f"wrong-checksum-of-{octets}-octets", SIIT, drop(
        ip6(R6) / ICMPv6TimeExceeded(code=0, cksum=0x1234) / quote(about[0], octets), "malformed-transport"))
