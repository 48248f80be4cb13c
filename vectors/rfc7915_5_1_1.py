"""RFC 7915 sections 1.4, 5 and 5.1.1: fragments and packet sizes from IPv6 to IPv4."""

from configurations import siit
from packets import *
from table import *

rfc(7915)
SIIT = siit()
EGRESS_576 = siit("siit-ipv4-mtu-576", link="ipv4-mtu = 576")
EGRESS_1400 = siit("siit-ipv4-mtu-1400", link="ipv4-mtu = 1400")
EGRESS_68 = siit("siit-ipv4-mtu-68", link="ipv4-mtu = 68")

DO = IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
HBH = IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)])


def pieces(whole, size):
    """An IPv4 packet in fragments with `size` bytes of payload."""
    length = len(bytes(whole)) - 20
    return [fragment4(whole, at, at + size) for at in range(0, length, size)]


requirement("5.1.1", MUST, "A fragment header is taken off: identification from its low 16 bits, offset and M copied, DF clear; "
            "the total length does not count the headers before it.")
whole = ip6() / udp() / data(2400), to4(id=0xbeef) / udp() / data(2400)
FIRST, MIDDLE, LAST = (0, 800), (800, 1600), (1600, None)
for name, span in [("first", FIRST), ("middle", MIDDLE), ("last", LAST)]:
    vector(f"fragment-{name}", SIIT, send(fragment6(whole[0], *span, 0x1234beef), fragment4(whole[1], *span)))
vector("fragments-in-order", SIIT, *[
    send(fragment6(whole[0], *span, 0xbeef), fragment4(whole[1], *span)) for span in (FIRST, MIDDLE, LAST)])
vector("fragments-out-of-order", SIIT, *[
    send(fragment6(whole[0], *span, 0xbeef), fragment4(whole[1], *span)) for span in (LAST, FIRST, MIDDLE)])
vector("fragment-larger-than-1260-without-df", SIIT, send(
    fragment6(whole[0], 0, 1400, 0xbeef), fragment4(whole[1], 0, 1400)))
other = ip6() / tcp() / data(2400), to4(id=1) / tcp() / data(2400)
vector("fragment-tcp", SIIT, *[
    send(fragment6(other[0], *span, 1), fragment4(other[1], *span)) for span in (FIRST, MIDDLE, LAST)])
for number, name in [(47, "gre"), (50, "esp"), (132, "sctp")]:
    other = ip6(nh=number) / data(2400), to4(id=2, proto=number) / data(2400)
    vector(f"fragment-{name}", SIIT, *[
        send(fragment6(other[0], *span, 2), fragment4(other[1], *span)) for span in (FIRST, MIDDLE, LAST)])
part = fragment6(whole[0], *FIRST, 0xbeef)
vector("fragment-behind-hop-by-hop", SIIT, send(
    ip6() / HBH / part.payload, fragment4(whole[1], *FIRST)))
vector("fragment-behind-two-headers", SIIT, send(
    ip6() / HBH / DO / part.payload, fragment4(whole[1], *FIRST)))
requirement("5.1.1", MUST, "An atomic fragment (RFC 6946) is a whole packet; its identification is kept and DF is clear.")
vector("atomic-udp", SIIT, send(
    ip6() / IPv6ExtHdrFragment(id=0xaaaabeef) / udp() / data(), to4(id=0xbeef) / udp() / data()))
vector("atomic-tcp-1400", SIIT, send(
    ip6() / IPv6ExtHdrFragment(id=0xbeef) / tcp() / data(1400), to4(id=0xbeef, flags=0) / tcp() / data(1400)))
vector("atomic-echo", SIIT, send(
    ip6() / IPv6ExtHdrFragment(id=0xbeef) / ICMPv6EchoRequest(id=7, seq=9, data=b"abcd"),
    to4(id=0xbeef) / ICMP(type=8, id=7, seq=9) / Raw(b"abcd")))
ABOUT = ip6(H4_V6, H6, 61) / udp() / data(), to4(H4, H6_V4, 61, id=0) / udp() / data()
vector("atomic-icmp-error", SIIT, send(
    ip6() / IPv6ExtHdrFragment(id=0xaaaabeef) / ICMPv6DestUnreach(code=4) / quote(ABOUT[0]),
    to4(id=0xbeef) / ICMP(type=3, code=3) / quote(ABOUT[1])))
vector("icmp-error-in-fragments", SIIT,
       held(fragment6(ip6() / ICMPv6DestUnreach(code=4) / quote(ABOUT[0]), 0, 64, 0xaaaabeef)),
       send(fragment6(ip6() / ICMPv6DestUnreach(code=4) / quote(ABOUT[0]), 64, None, 0xaaaabeef),
            to4(id=0xbeef) / ICMP(type=3, code=3) / quote(ABOUT[1])))
requirement("1.4", MUST, "Total lengths go up to 65,535 bytes only: a packet that would be longer gets Packet Too Big, also with a fragment "
            "header, which would let it be fragmented.")
HUGE = ip6() / IPv6ExtHdrFragment(id=0xbeef) / udp() / data(65516 - 8)
vector("total-length-overflow", SIIT, reply(HUGE, error6(ICMPv6PacketTooBig(mtu=1520), HUGE), "too-big"),
       engines=(["user"], "the frame of a test run in the kernel holds a few kilobytes"))

requirement("5.1.1", SHOULD, "A fragment whose next header is an extension header, or the authentication header, is dropped.")
requirement("5.4", SHOULD, "Its sender is told: Communication Administratively Prohibited.")
for name, rest in [("destination", DO / udp()), ("routing", IPv6ExtHdrRouting(segleft=0, addresses=["2001:db8::9"]) / udp()),
                   ("hop-by-hop", HBH / udp())]:
    lost = ip6() / IPv6ExtHdrFragment(id=1, m=1) / rest / data(64)
    vector(f"fragment-before-{name}", SIIT, reply(lost, error6(ICMPv6DestUnreach(code=1), lost), "fragmented-extension-header"))
for name, lost in [("ah", ip6() / IPv6ExtHdrFragment(nh=51, id=1, m=1) / data(64)),
                   ("destination-later", ip6() / IPv6ExtHdrFragment(nh=60, id=1, m=1, offset=8) / data(64)),
                   ("destination-whole", ip6() / IPv6ExtHdrFragment(id=1) / DO / udp() / data(64))]:
    vector(f"fragment-before-{name}", SIIT, reply(lost, error6(ICMPv6DestUnreach(code=1), lost), "fragmented-extension-header"))

requirement("1.2", MAY, "Fragments of ICMPv6 messages are not translated one by one, because their checksum covers the length "
            "of the whole: the message is reassembled first, or dropped.")
whole = ip6() / ICMPv6EchoRequest(id=7, seq=1, data=bytes(data(1300)))
FIRST, MIDDLE, LAST = (0, 400), (400, 800), (800, None)
parts = [fragment6(whole, *span) for span in (FIRST, MIDDLE, LAST)]
for name, order in [("in-order", (0, 1, 2)), ("last-first", (2, 0, 1)), ("backwards", (2, 1, 0))]:
    vector(f"icmpv6-fragments-{name}", SIIT, *[held(parts[n]) for n in order[:2]],
           send(parts[order[2]], Output(to4(id=0x1234) / ICMP(type=8, id=7, seq=1) / data(1300), free=[(4, 4), (10, 2)])),
           counters={"fragment-held": 2})
for n, name in enumerate(("first", "middle", "last")):
    vector(f"icmpv6-fragment-{name}-alone", SIIT, held(parts[n]), counters={"fragment-timeout": 1})

requirement("5.1.1", MUST, "An IPv6 packet of at most 1280 bytes that is too large for the IPv4 next hop is fragmented.")
same = any_id()
for total in (597, 1000, 1280):
    whole = ip6() / udp() / data(total - 48), to4(id=same) / udp() / data(total - 48)
    vector(f"small-link-{total}", EGRESS_576, send(whole[0], *pieces(whole[1], 552)))
whole = ip6() / udp() / data(596 - 48), to4(id=same) / udp() / data(596 - 48)
vector("small-link-596-fits", EGRESS_576, send(*whole))
whole = ip6() / tcp() / data(1280 - 60), to4(id=same) / tcp() / data(1280 - 60)
vector("small-link-tcp", EGRESS_576, send(whole[0], *pieces(whole[1], 552)))
whole = (ip6() / ICMPv6EchoRequest(id=7, seq=9, data=bytes(data(1200))),
         to4(id=same) / ICMP(type=8, id=7, seq=9) / data(1200))
vector("small-link-echo", EGRESS_576, send(whole[0], *pieces(whole[1], 552)))
whole = ip6() / udp() / data(100), to4(id=same) / udp() / data(100)
vector("smallest-link", EGRESS_68, send(whole[0], *pieces(whole[1], 48)))
whole = ip6() / udp() / data(2400), to4(id=0xbeef) / udp() / data(2400)
vector("small-link-fragment", EGRESS_576, send(
    fragment6(whole[0], 0, 1232, 0xbeef),
    fragment4(whole[1], 0, 552), fragment4(whole[1], 552, 1104), fragment4(whole[1], 1104, 1232)))

requirement("1.4", MUST, "A larger packet that does not fit is refused with Packet Too Big: the MTU of the IPv4 next hop plus 20, "
            "at least 1280.")
for configuration, name, total, mtu in [
    (EGRESS_1400, "1421", 1421, 1420), (EGRESS_1400, "1500", 1500, 1420), (EGRESS_576, "1281-at-576", 1281, 1280),
    (EGRESS_576, "1500-at-576", 1500, 1280), (SIIT, "1521", 1521, 1520),
]:
    big = ip6() / udp() / data(total - 48)
    vector(f"too-big-{name}", configuration, reply(big, error6(ICMPv6PacketTooBig(mtu=mtu), big), "too-big"))
whole = ip6() / udp() / data(1420 - 48), to4(flags="DF") / udp() / data(1420 - 48)
vector("too-big-1420-fits", EGRESS_1400, send(*whole))
