"""RFC 1812: what any IPv4 router checks before it forwards; and the same for IPv6 (RFC 8200)."""

from configurations import siit
from packets import *
from table import *

rfc(1812)
SIIT = siit()


def broken(packet, at, value):
    """A packet with one byte changed and the header checksum made right again."""
    raw = bytearray(bytes(packet))
    raw[at] = value
    raw[10:12] = b"\0\0"
    total = sum(int.from_bytes(raw[n:n + 2], "big") for n in range(0, 20, 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    raw[10:12] = (0xFFFF - total).to_bytes(2, "big")
    return Raw(bytes(raw))


NOT_TC = (("user", "xdp"), "BPF_PROG_TEST_RUN takes no packet for a tc program that is shorter than its IP header")
good = bytes(ip4() / udp() / data())
requirement("5.2.2", MUST, "The IPv4 header checksum must be right.")
vector("header-checksum-wrong", SIIT, drop(Raw(good[:10] + bytes([good[10] ^ 1]) + good[11:]), "bad-header-checksum"))
requirement("5.2.2", MUST, "The packet must hold at least a header, header length at least 5, total length at least the header.")
vector("header-length-4", SIIT, drop(broken(ip4() / udp() / data(), 0, 0x44), "malformed-header"))
vector("total-length-below-header", SIIT, drop(broken(ip4() / udp() / data(), 3, 19), "malformed-header"))
vector("total-length-beyond-packet", SIIT, drop(broken(ip4() / udp() / data(), 3, 45), "malformed-header"))
vector("header-truncated", SIIT, drop(Raw(good[:19]), "truncated"), engines=NOT_TC)
full = bytes(ip6() / udp() / data())
vector("ipv6-header-truncated", SIIT, drop(Raw(full[:39]), "truncated"), engines=NOT_TC)
vector("ipv6-payload-beyond-packet", SIIT, drop(Raw(full[:-1]), "malformed-header"))
requirement("5.2.2", MUST, "A transport header that does not fit the packet makes the packet useless.")
vector("udp-header-truncated", SIIT, drop(ip4(proto=17) / data(7), "malformed-transport"))
vector("tcp-header-truncated", SIIT, drop(ip4(proto=6) / data(19), "malformed-transport"))
vector("icmp-header-truncated", SIIT, drop(ip4(proto=1) / data(7), "malformed-transport"))
vector("ipv6-udp-header-truncated", SIIT, drop(ip6(nh=17) / data(7), "malformed-transport"))
vector("ipv6-extension-truncated", SIIT, drop(ip6(nh=0) / data(7), "truncated"))
vector("ipv6-fragment-header-truncated", SIIT, drop(ip6(nh=44) / data(7), "truncated"))
# What the frame has behind the packet is none of it.
for name, number in [("extension", 0), ("fragment-header", 44)]:
    cut = ip6(nh=number, plen=7) / Raw(bytes([17, 0, 0, 0, 0, 0, 0, 1]) + bytes(udp() / data()))
    vector(f"ipv6-{name}-truncated-before-padding", SIIT, drop(cut, "truncated"))
requirement("5.3.4", MUST, "A packet that came as a link-layer broadcast is not forwarded; nor is a frame to another machine.",
            tests=["xdp_leaves_frames_to_others_alone", "tc_leaves_frames_to_others_alone"])
