"""RFC 7915 section 4.2: every row of the tables from ICMPv4 to ICMPv6."""

from configurations import siit
from packets import *
from table import *

rfc(7915)
SIIT = siit()
EGRESS4_1400 = siit("siit-ipv4-mtu-1400", link="ipv4-mtu = 1400")
JUMBO = siit("siit-jumbo", link="ipv4-mtu = 9000\nipv6-mtu = 9000")
LARGEST = siit("siit-largest", link="ipv4-mtu = 65535\nipv6-mtu = 65535")

#: A router on the IPv4 side, and the packet of H6 that it complains about (before and after).
R4, R4_V6 = "198.51.100.9", "2001:db8:1c6:3364:9::"
ABOUT4 = ip4(H6_V4, H4, 61) / udp() / data()
ABOUT6 = to6(H6, H4_V6, 61) / udp() / data()


def error(message4, message6, about4=ABOUT4, about6=ABOUT6):
    """An ICMPv4 error of R4 and its translation."""
    return send(ip4(R4) / message4 / quote(about4), to6(R4_V6) / message6 / quote(about6))


def lost(message4):
    """An ICMPv4 message of R4 that has no counterpart."""
    return drop(ip4(R4) / message4 / quote(ABOUT4), "icmp-untranslatable")


requirement("4.2", MUST, "The ICMPv6 checksum is calculated with the pseudo-header; type changes with it. Echo and "
            "Echo Reply become 128 and 129.")
for name, old, new in [("request", 8, ICMPv6EchoRequest), ("reply", 0, ICMPv6EchoReply)]:
    for length in (0, 1, 56, 1000):
        vector(f"echo-{name}-{length}", SIIT, send(
            ip4() / ICMP(type=old, id=0xabcd, seq=0xfffe) / data(length),
            to6() / new(id=0xabcd, seq=0xfffe, data=bytes(data(length)))))

for title, types in [
    ("Information Request and Reply are dropped silently.", (15, 16)),
    ("Timestamp and Timestamp Reply are dropped silently.", (13, 14)),
    ("Address Mask Request and Reply are dropped silently.", (17, 18)),
    ("Router Advertisement and Router Solicitation are dropped silently.", (9, 10)),
    ("Unknown types are dropped silently.", (1, 2, 7, 19, 30, 42, 128, 129, 255)),
]:
    requirement("4.2", MUST, title)
    for number in types:
        message = timestamp(number) if number in (13, 14) else ICMP(type=number) / data(12)
        vector(f"type-{number}-dropped", SIIT, drop(ip4() / message, "icmp-untranslatable"))

requirement("4.2", SHOULD, "IGMP is dropped silently.")
vector("igmp-dropped", SIIT, drop(ip4(ttl=64, proto=2) / Raw(bytes.fromhex("1600e903e8000001")), "icmp-untranslatable"))

UNREACHABLE = {0: 0, 1: 0, 3: 4, 5: 0, 6: 0, 7: 0, 8: 0, 9: 1, 10: 1, 11: 0, 12: 0, 13: 1, 15: 1}
requirement("4.2", MUST, "Destination Unreachable becomes type 1, with the code by the list.")
for old, new in UNREACHABLE.items():
    vector(f"unreachable-{old}-becomes-{new}", SIIT, error(ICMP(type=3, code=old), ICMPv6DestUnreach(code=new)))
requirement("4.2", MUST, "Protocol Unreachable becomes Parameter Problem, code 1, with the pointer at Next Header.")
vector("unreachable-2-becomes-parameter-problem", SIIT, error(ICMP(type=3, code=2), ICMPv6ParamProblem(code=1, ptr=6)))
requirement("4.2", MUST, "Destination Unreachable with code 14 or above 15 is dropped silently.")
for code in (14, 16, 17, 255):
    vector(f"unreachable-{code}-dropped", SIIT, lost(ICMP(type=3, code=code)))

requirement("4.2", MUST, "Fragmentation Needed becomes Packet Too Big; its MTU grows by 20, is at most that of the IPv6 "
            "next hop and that of the IPv4 next hop plus 20, and at least 1280.")
for configuration, name, old, new in [
    (SIIT, "1400", 1400, 1420), (SIIT, "1260", 1260, 1280), (SIIT, "1261", 1261, 1281), (SIIT, "1259-floor", 1259, 1280),
    (SIIT, "576-floor", 576, 1280), (SIIT, "68-floor", 68, 1280), (SIIT, "1480", 1480, 1500),
    (SIIT, "1481-egress-ipv6", 1481, 1500), (SIIT, "65535-egress-ipv6", 65535, 1500),
    (EGRESS4_1400, "1450-egress-ipv4", 1450, 1420), (EGRESS4_1400, "1399-egress-ipv4", 1399, 1419),
    (JUMBO, "8000", 8000, 8020),
]:
    vector(f"fragmentation-needed-{name}", configuration, error(
        ICMP(type=3, code=4, nexthopmtu=old), ICMPv6PacketTooBig(mtu=new)))

requirement("4.2", MUST, "If the MTU in Fragmentation Needed is zero, a plateau of RFC 1191 stands for it: the greatest below "
            "the total length of the packet in error, but at least 1280.")
for length, plateau in [(1500, 1492), (1493, 1492), (1492, 1260), (1300, 1260), (2002, 1492), (2003, 2002), (4352, 2002),
                        (4353, 4352), (8167, 8166), (17915, 17914), (32001, 32000), (65535, 32000)]:
    size = length - 28
    about = (ip4(H6_V4, H4, 61, flags="DF") / udp() / data(size), to6(H6, H4_V6, 61) / udp() / data(size))
    vector(f"plateau-for-{length}", LARGEST, send(
        ip4(R4) / ICMP(type=3, code=4, nexthopmtu=0) / quote(about[0], 128),
        to6(R4_V6) / ICMPv6PacketTooBig(mtu=plateau + 20) / quote(about[1], 148)))

requirement("4.2", MUST, "Redirect, Alternative Host Address and Source Quench are dropped silently.")
for number in (5, 6, 4):
    vector(f"type-{number}-dropped", SIIT, lost(ICMP(type=number)))

requirement("4.2", MUST, "Time Exceeded becomes type 3; the code stays.")
for code in (0, 1):
    vector(f"time-exceeded-{code}", SIIT, error(ICMP(type=11, code=code), ICMPv6TimeExceeded(code=code)))

POINTERS = {0: 0, 1: 1, 2: 4, 3: 4, 8: 7, 9: 6, 12: 8, 13: 8, 14: 8, 15: 8, 16: 24, 17: 24, 18: 24, 19: 24}
requirement("4.2", MUST, "Parameter Problem with code 0 or 2 becomes type 4, code 0, with the pointer by figure 3.")
for code in (0, 2):
    for old, new in POINTERS.items():
        vector(f"parameter-problem-{code}-pointer-{old}-becomes-{new}", SIIT, error(
            ICMP(type=12, code=code, ptr=old), ICMPv6ParamProblem(code=0, ptr=new)))
requirement("4.2", MUST, "Where figure 3 says n/a or does not list the pointer, the message is dropped silently.")
for code in (0, 2):
    for pointer in (4, 5, 6, 7, 10, 11, 20, 21, 40, 255):
        vector(f"parameter-problem-{code}-pointer-{pointer}-dropped", SIIT, lost(ICMP(type=12, code=code, ptr=pointer)))
requirement("4.2", MUST, "Parameter Problem with code 1 or any other code is dropped silently.")
for code in (1, 3, 255):
    vector(f"parameter-problem-{code}-dropped", SIIT, lost(ICMP(type=12, code=code, ptr=0)))

EXTENSION = bytes.fromhex("2000 9cb3 0008 0101 0044 41ff")  # version 2; one MPLS label stack entry
requirement("4.2", MUST, "If an error carries RFC 4884 extensions, their place and the length attribute are adjusted; what is "
            "in them is passed as it is.")
for name, old, new, pointer in [
    ("time-exceeded", lambda n: ICMP(type=11, code=0, length=n), lambda n: ICMPv6TimeExceeded(code=0, length=n), None),
    ("unreachable", lambda n: ICMP(type=3, code=1, length=n), lambda n: ICMPv6DestUnreach(code=0, length=n), None),
]:
    # 132 bytes (33 words of 32 bits) of the original become 152 (19 words of 64 bits).
    about = (ip4(H6_V4, H4, 61) / udp() / data(200), to6(H6, H4_V6, 61) / udp() / data(200))
    vector(f"extension-of-{name}", SIIT, send(
        ip4(R4) / old(33) / quote(about[0], 132) / Raw(EXTENSION),
        to6(R4_V6) / new(19) / quote(about[1], 152) / Raw(EXTENSION)))
    # 128 bytes become 148, which zeros fill up to the next multiple of 8.
    vector(f"extension-of-{name}-padded", SIIT, send(
        ip4(R4) / old(32) / quote(about[0], 128) / Raw(EXTENSION),
        to6(R4_V6) / new(19) / quote(about[1], 148, 152) / Raw(EXTENSION)))
requirement("4.2", MUST, "Without a length attribute there is no extension: what looks like one belongs to the packet in error.")
about = (ip4(H6_V4, H4, 61) / udp() / data(200), to6(H6, H4_V6, 61) / udp() / data(200))
vector("extension-without-length", SIIT, send(
    ip4(R4) / ICMP(type=11, code=0) / quote(about[0], 128) / Raw(EXTENSION),
    to6(R4_V6) / ICMPv6TimeExceeded(code=0) / quote(about[1], 148) / Raw(EXTENSION)))
requirement("4.2", SHOULD, "An extension that would make the message larger than the outgoing interface allows is truncated.")
# 700 bytes (175 words) of the original become 720, and with 600 bytes of extension 1368: 1280 are exceeded.
about = (ip4(H6_V4, H4, 61) / udp() / data(800), to6(H6, H4_V6, 61) / udp() / data(800))
huge = bytes.fromhex("2000 0000 0254 0101") + bytes(592)
vector("extension-too-long-is-cut", SIIT, send(
    ip4(R4) / ICMP(type=11, code=0, length=175) / quote(about[0], 700) / Raw(huge),
    Output(to6(R4_V6) / ICMPv6TimeExceeded(code=0, length=90) / quote(about[1], 720) / Raw(huge[:1280 - 768]),
           free=[(4, 2), (42, 2), (44, 1)], shortest=768)))
requirement("4.2", SHOULD, "The message never exceeds 1280 bytes (RFC 4443 section 2.4): the quoted packet is cut.")
about = (ip4(H6_V4, H4, 61) / udp() / data(1400), to6(H6, H4_V6, 61) / udp() / data(1400))
for name, flags in [("df-0", 0), ("df-1", "DF")]:
    vector(f"error-larger-than-1280-is-cut-{name}", SIIT, send(
        ip4(R4, flags=flags) / ICMP(type=11, code=0) / quote(about[0], 1300),
        to6(R4_V6) / ICMPv6TimeExceeded(code=0) / quote(about[1], 1280 - 48)))

requirement("4.2", MUST, "The checksum of an error is over all octets of the message, however many quote the packet in error.")
# About the sizes that are no whole words, and about 512 and 1024 octets of ICMP.
about = (ip4(H6_V4, H4, 61) / udp() / data(1400), to6(H6, H4_V6, 61) / udp() / data(1400))
for octets in (29, 30, 31, 503, 504, 505, 506, 507, 1015, 1016, 1017, 1018, 1019):
    vector(f"error-quotes-{octets}-octets", SIIT, send(
        ip4(R4) / ICMP(type=11, code=0) / quote(about[0], octets),
        to6(R4_V6) / ICMPv6TimeExceeded(code=0) / quote(about[1], octets + 20)))
for octets in (31, 505, 1019):
    vector(f"wrong-checksum-of-{octets}-octets", SIIT, drop(
        ip4(R4) / ICMP(type=11, code=0, chksum=0x1234) / quote(about[0], octets), "malformed-transport"))
