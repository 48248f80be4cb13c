"""RFC 2473: packets in IPv6 packets, here IPv4."""

from table import *
from tunnel_packets import *

rfc(2473)
T = four_in_six()

requirement("3.1", MUST, "The entry puts an IPv6 header before the packet; the exit takes it away.")
requirement("5.1", MUST, "The IPv6 header: next header 4, the addresses of both ends.")
vector("udp-in", T, enters(out4() / udp() / data(), outer6() / out4(63) / udp() / data()))
vector("udp-without-checksum-in", T, enters(
    out4() / udp(chksum=0) / data(), outer6() / out4(63) / udp(chksum=0) / data()))
vector("tcp-in", T, enters(out4() / tcp() / data(), outer6() / out4(63) / tcp() / data()))
vector("echo-in", T, enters(out4() / ICMP(type=8, id=7, seq=1), outer6() / out4(63) / ICMP(type=8, id=7, seq=1)))
vector("other-protocol-in", T, enters(out4(proto=50) / data(), outer6() / out4(63, proto=50) / data()))
vector("fragment-in", T, enters(
    out4(flags="MF", frag=100, proto=17) / data(64), outer6() / out4(63, flags="MF", frag=100, proto=17) / data(64)))
vector("options-in", T, enters(
    out4(options=[IPOption_NOP()] * 4) / udp() / data(), outer6() / out4(63, options=[IPOption_NOP()] * 4) / udp() / data()))
vector("identification-stays", T, enters(
    out4(id=0xfedc, flags="DF") / udp() / data(), outer6() / out4(63, id=0xfedc, flags="DF") / udp() / data()))
vector("udp-out", T, leaves(from6() / in4() / udp() / data(), in4(63) / udp() / data()))
vector("tcp-out", T, leaves(from6() / in4() / tcp() / data(), in4(63) / tcp() / data()))
vector("echo-out", T, leaves(from6() / in4() / ICMP(type=0, id=7, seq=1), in4(63) / ICMP(type=0, id=7, seq=1)))
vector("fragment-out", T, leaves(
    from6() / in4(flags="MF", frag=100, proto=17) / data(64), in4(63, flags="MF", frag=100, proto=17) / data(64)))
requirement("4.1.1", MUST, "The exit takes the encapsulation limit of the entry for what it is.")
LIMIT = IPv6ExtHdrDestOpt(options=[PadN(otype=4, optdata=b"\4")])
vector("encapsulation-limit", T, leaves(from6() / LIMIT / in4() / udp() / data(), in4(63) / udp() / data()))
requirement("6.3", SHOULD, "The hop limit outside is one of its own; the TTL inside goes down by one at each end.")
ONE = out4(1) / udp() / data()
vector("ttl-one", T, reply(ONE, error4(ICMP(type=11, code=0), ONE), "hop-limit-exceeded"))
INSIDE = in4(1) / udp() / data()
vector("ttl-one-on-the-way-out", T, reply(
    from6() / INSIDE, error4(ICMP(type=11, code=0), INSIDE), "hop-limit-exceeded"))

requirement("7.2", MUST, "An IPv4 packet with Don't Fragment that does not fit the tunnel is answered with "
            "Fragmentation Needed and the MTU of the tunnel.")
BIG = out4(flags="DF") / udp() / data(1461 - 28)
vector("fragmentation-needed", T, reply(BIG, error4(ICMP(type=3, code=4, nexthopmtu=1460), BIG), "too-big"))
vector("largest", T, enters(
    out4(flags="DF") / udp() / data(1460 - 28), outer6() / out4(63, flags="DF") / udp() / data(1460 - 28)))
requirement("7.2", MUST, "Without Don't Fragment the IPv6 packet is sent in fragments.")
identification = [(fresh("high"), 44, []), (fresh("low"), 46, [])]
WHOLE = outer6() / out4(63) / udp() / data(1461 - 28)
vector("fragments-of-the-outer-packet", T, enters(
    out4() / udp() / data(1461 - 28),
    Output(fragment6(WHOLE, 0, 1448, id=0), words=identification),
    Output(fragment6(WHOLE, 1448, id=0), words=identification), split=1))
requirement("7.1", MUST, "The exit puts the fragments of the outer packet together.")
WHOLE = from6(nh=4) / in4() / udp() / data(1461 - 28)
vector("reassembly", T,
       held(fragment6(WHOLE, 0, 1024)), leaves(fragment6(WHOLE, 1024), in4(63) / udp() / data(1461 - 28)))
vector("reassembly-last-first", T,
       held(fragment6(WHOLE, 1024)), leaves(fragment6(WHOLE, 0, 1024), in4(63) / udp() / data(1461 - 28)))
requirement("3.3", MUST, "The exit checks what it took out like any packet that it forwards.")
vector("bad-header-checksum", T, drop(from6() / in4(chksum=0x1234) / udp() / data(), "bad-header-checksum"))
vector("not-ipv4", T, drop(from6(nh=4) / in6() / udp() / data(), "malformed-header"))
vector("too-short", T, drop(from6(nh=4) / data(19), "truncated"))
vector("total-length-too-large", T, drop(from6() / in4(len=200) / udp() / data(), "malformed-header"))
vector("loopback-source", T, drop(from6() / in4(src="127.0.0.1") / udp() / data(), "illegal-source"))
requirement("3.3", SHOULD, "The exit takes packets only from the other end.")
vector("stranger", T, drop(from6(STRANGER6) / in4() / udp() / data(), "tunnel-source"))
requirement("4", MUST, "Packets do not go round in the tunnel.")
vector("back-into-the-tunnel", T, drop(from6() / in4(dst="203.0.113.201") / udp() / data(), "loop"))
requirement("3.2", MUST, "Other packets are none of the tunnel's business.")
vector("other-destination", T, ignored(ip4(NEAR4, "203.0.113.99") / udp() / data()))
vector("other-protocol-to-this-end", T, ignored(ip6(THERE6, HERE6) / udp() / data()))
vector("neighbour-of-this-end", T, ignored(ip6(THERE6, "2001:db8::2") / in4() / udp() / data()))
