"""RFC 7915 sections 1.4, 4 and 4.1: fragments and packet sizes from IPv4 to IPv6."""

from configurations import siit
from packets import *
from table import *

rfc(7915)
SIIT = siit()
LOWEST_1400 = siit("siit-lowest-1400", more="lowest-ipv6-mtu = 1400\n")
LOWEST_1500 = siit("siit-lowest-1500", more="lowest-ipv6-mtu = 1500\n")
EGRESS_1400 = siit("siit-lowest-1500-egress-1400", more="lowest-ipv6-mtu = 1500\n", link="ipv6-mtu = 1400")
JUMBO = siit("siit-jumbo", link="ipv4-mtu = 9000\nipv6-mtu = 9000")


def sized(total, **fields):
    """A UDP packet of `total` bytes, and its translation."""
    fields.setdefault("flags", 0)
    return ip4(**fields) / udp() / data(total - 28), to6() / udp() / data(total - 28)


def pieces(whole, size, id=0x1234):
    """An IPv6 packet in fragments with `size` bytes of payload."""
    length = len(bytes(whole)) - 40
    return [fragment6(whole, at, at + size, id) for at in range(0, length, size)]


requirement("4", MUST, "Without DF the packet must not exceed the path MTU on the IPv6 side: it is split to fit "
            "lowest-ipv6-mtu, 1280 by default.")
requirement("4.1", SHOULD, "A packet without DF whose translation is larger than lowest-ipv6-mtu is fragmented so "
            "that each fragment fits it.")
for total in (1261, 1280, 1472, 1500):
    whole = sized(total)
    vector(f"df-0-{total}-split-at-1280", SIIT, send(whole[0], *pieces(whole[1], 1232), counters={
        "translated-4to6": 1, "split": 1}))
whole = sized(4000)
vector("df-0-4000-split-in-four", JUMBO, send(whole[0], *pieces(whole[1], 1232)))
whole = ip4(flags=0) / tcp() / data(1400), to6() / tcp() / data(1400)
vector("df-0-tcp-split", SIIT, send(whole[0], *pieces(whole[1], 1232)))
whole = (ip4(flags=0) / ICMP(type=8, id=7, seq=1) / data(1400),
         to6() / ICMPv6EchoRequest(id=7, seq=1, data=bytes(data(1400))))
vector("df-0-echo-split", SIIT, send(whole[0], *pieces(whole[1], 1232)))
whole = ip4(flags=0) / udp(chksum=0) / data(1400), to6() / udp() / data(1400)
vector("df-0-udp-without-checksum-split", SIIT, send(whole[0], *pieces(whole[1], 1232)))
whole = ip4(flags=0, proto=47) / data(1400), to6(nh=47) / data(1400)
vector("df-0-gre-split", SIIT, send(whole[0], *pieces(whole[1], 1232)))

requirement("4", MUST, "Without DF a packet that needs no fragmentation gets no fragment header.")
vector("df-0-1260-not-split", SIIT, send(*sized(1260)))
vector("df-0-28-not-split", SIIT, send(*sized(28)))

requirement("4", MUST, "The operator can raise lowest-ipv6-mtu above 1280.")
vector("lowest-1400-not-split", LOWEST_1400, send(*sized(1380)))
whole = sized(1381)
vector("lowest-1400-split", LOWEST_1400, send(whole[0], *pieces(whole[1], 1352)))
vector("lowest-1500-not-split", LOWEST_1500, send(*sized(1480)))
whole = sized(1500)
vector("lowest-1500-split", LOWEST_1500, send(whole[0], *pieces(whole[1], 1448)))

refused("lowest-below-1280-refused", siit("siit-lowest-1279", more="lowest-ipv6-mtu = 1279\n"), "lowest-ipv6-mtu")

requirement("1.4", MUST, "The translator is a router: what exceeds the MTU of the next hop is fragmented or refused "
            "with Packet Too Big.")
whole = sized(1450)
vector("egress-below-lowest-split", EGRESS_1400, send(whole[0], *pieces(whole[1], 1352)))
vector("egress-below-lowest-fits", EGRESS_1400, send(*sized(1380)))

requirement("4.1", MUST, "With DF, and an MTU of the next hop below the total length plus 20, Fragmentation Needed "
            "goes to the source.")
for label, configuration, mtu in [("1500", SIIT, 1500), ("1400", EGRESS_1400, 1400)]:
    vector(f"df-1-fits-{label}", configuration, send(*sized(mtu - 20, flags="DF")))
    big = sized(mtu - 19, flags="DF")[0]
    vector(f"df-1-exceeds-{label}", configuration, reply(
        big, error4(ICMP(type=3, code=4, nexthopmtu=mtu - 20), big), "too-big"))
big = ip4(flags="DF") / tcp() / data(1460)
vector("df-1-tcp-1500", SIIT, reply(big, error4(ICMP(type=3, code=4, nexthopmtu=1480), big), "too-big"))
vector("df-1-is-never-split-at-1280", SIIT, send(*sized(1461, flags="DF")))

requirement("4.1", MUST, "A fragment gets a fragment header: offset and M flag copied, identification in the low 16 "
            "bits and zero above, next header the protocol; payload length 8 more.")
whole = ip4(flags=0, id=0xbeef) / udp() / data(2400), to6() / udp() / data(2400)
FIRST, MIDDLE, LAST = (0, 800), (800, 1600), (1600, None)
for name, (start, end) in [("first", FIRST), ("middle", MIDDLE), ("last", LAST)]:
    vector(f"fragment-{name}", SIIT, send(fragment4(whole[0], start, end),
                                          fragment6(whole[1], start, end, 0xbeef)))
vector("fragments-in-order", SIIT, *[
    send(fragment4(whole[0], *span), fragment6(whole[1], *span, 0xbeef)) for span in (FIRST, MIDDLE, LAST)])
vector("fragments-out-of-order", SIIT, *[
    send(fragment4(whole[0], *span), fragment6(whole[1], *span, 0xbeef)) for span in (LAST, FIRST, MIDDLE)])
vector("fragment-with-df", SIIT, send(fragment4(whole[0], *FIRST, flags="DF+MF"), fragment6(whole[1], *FIRST, 0xbeef)))
whole = ip4(flags=0, id=1) / tcp() / data(2400), to6() / tcp() / data(2400)
vector("fragment-tcp", SIIT, *[
    send(fragment4(whole[0], *span), fragment6(whole[1], *span, 1)) for span in (FIRST, MIDDLE, LAST)])
whole = ip4(flags=0, id=2, proto=47) / data(2400), to6(nh=47) / data(2400)
vector("fragment-gre", SIIT, *[
    send(fragment4(whole[0], *span), fragment6(whole[1], *span, 2)) for span in (FIRST, MIDDLE, LAST)])
whole = ip4(flags=0, id=0) / udp() / data(65000), to6() / udp() / data(65000)
vector("fragment-highest-offset", SIIT, send(
    fragment4(whole[0], 64000, None), fragment6(whole[1], 64000, None, 0)))

requirement("4.1", SHOULD, "A fragment whose translation is larger than lowest-ipv6-mtu is fragmented further: "
            "offsets go on, the last piece has the M flag of the fragment.")
whole = ip4(flags=0, id=0xbeef) / udp() / data(4000), to6() / udp() / data(4000)
vector("fragment-1252-not-split", SIIT, send(fragment4(whole[0], 0, 1232), fragment6(whole[1], 0, 1232, 0xbeef)))
vector("fragment-first-split", SIIT, send(
    fragment4(whole[0], 0, 1480), fragment6(whole[1], 0, 1232, 0xbeef), fragment6(whole[1], 1232, 1480, 0xbeef)))
vector("fragment-middle-split", SIIT, send(
    fragment4(whole[0], 1480, 2960),
    fragment6(whole[1], 1480, 2712, 0xbeef), fragment6(whole[1], 2712, 2960, 0xbeef)))
last = ip4(flags=0, id=0xbeef) / udp() / data(2900), to6() / udp() / data(2900)
vector("fragment-last-split", SIIT, send(
    fragment4(last[0], 1480), fragment6(last[1], 1480, 2712, 0xbeef), fragment6(last[1], 2712, None, 0xbeef)))

requirement("1.2", MAY, "Fragments of ICMP messages are not translated one by one, because the ICMPv6 checksum covers the "
            "length of the whole: the message is reassembled first, or dropped.")
whole = ip4(flags=0, id=3) / ICMP(type=8, id=7, seq=1) / data(2400)
parts = [fragment4(whole, *span) for span in (FIRST, MIDDLE, LAST)]
whole = to6() / ICMPv6EchoRequest(id=7, seq=1, data=bytes(data(2400)))
for name, order in [("in-order", (0, 1, 2)), ("last-first", (2, 0, 1)), ("backwards", (2, 1, 0))]:
    vector(f"icmp-fragments-{name}", SIIT, *[held(parts[n]) for n in order[:2]],
           send(parts[order[2]], *pieces(whole, 1232, 3)), counters={"fragment-held": 2})
for n, name in enumerate(("first", "middle", "last")):
    vector(f"icmp-fragment-{name}-alone", SIIT, held(parts[n]), counters={"fragment-timeout": 1})
