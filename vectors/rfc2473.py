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
ROUTED = in4(options=[IPOption_LSRR(routers=["198.51.100.9"])]) / udp() / data()
vector("stranger-with-a-source-route", T, drop(from6(STRANGER6) / ROUTED, "tunnel-source"))
requirement("4", MUST, "Packets do not go round in the tunnel.")
vector("back-into-the-tunnel", T, drop(from6() / in4(dst="203.0.113.201") / udp() / data(), "loop"))
requirement("3.2", MUST, "Other packets are none of the tunnel's business.")
vector("other-destination", T, ignored(ip4(NEAR4, "203.0.113.99") / udp() / data()))
vector("other-protocol-to-this-end", T, ignored(ip6(THERE6, HERE6) / udp() / data()))
vector("neighbour-of-this-end", T, ignored(ip6(THERE6, "2001:db8::2") / in4() / udp() / data()))

requirement("8", MUST, "An error from inside the tunnel is passed on to the source of the original packet.")
requirement("8.3", MUST, "Packet Too Big about an IPv4 packet with Don't Fragment becomes Fragmentation Needed, whose MTU is less "
            "by the tunnel's headers.")
BIG = out4(63, flags="DF") / udp() / data(1460 - 28)
for name, mtu, most in [("too-big", 1400, 1360), ("too-big-of-1280", 1280, 1240), ("too-big-below-1280", 1000, 1240)]:
    vector(f"{name}-inside", T, told(
        inside6(ICMPv6PacketTooBig(mtu=mtu), outer6() / BIG), error4(ICMP(type=3, code=4, nexthopmtu=most), BIG)))
vector("too-big-inside-of-a-size-that-fits", T, drop(inside6(ICMPv6PacketTooBig(mtu=1500), outer6() / BIG), "icmp-inner"))
WHOLE = outer6() / out4(63) / udp() / data(1460 - 28)
vector("too-big-inside-without-df", T, drop(inside6(ICMPv6PacketTooBig(mtu=1400), WHOLE), "tunnel-too-big"))
requirement("8.1", MUST, "Hop limit exceeded and unreachable are passed on as unreachable.")
requirement("8.3", MUST, "To an IPv4 source that is Host Unreachable.")
SMALL = out4(63) / udp() / data(64)
UNREACHABLE = error4(ICMP(type=3, code=1), SMALL)
for code in range(7):
    vector(f"unreachable-{code}-inside", T, told(inside6(ICMPv6DestUnreach(code=code), outer6() / SMALL), UNREACHABLE))
vector("hop-limit-inside", T, told(inside6(ICMPv6TimeExceeded(code=0), outer6(hlim=0) / SMALL), UNREACHABLE))
vector("first-fragment-inside", T, told(
    inside6(ICMPv6DestUnreach(code=0), fragment6(outer6() / WHOLE.payload, 0, 1024)), error4(ICMP(type=3, code=1), WHOLE.payload)))
vector("quote-of-8-bytes-inside", T, told(
    inside6(ICMPv6DestUnreach(code=0), outer6() / SMALL, 68), error4(ICMP(type=3, code=1), SMALL, longest=28)))
EXTENSION = b"\x20\x00" + checksum(b"\x20\x00\x00\x00\x00\x08\x01\x01\x00\x0a\xf1\x40").to_bytes(2, "big") + b"\x00\x08\x01\x01\x00\x0a\xf1\x40"
LONG = out4(63) / udp() / data(300)
vector("extension-inside", T, told(
    ip6("2001:db8:cc::1", HERE6) / ICMPv6DestUnreach(code=0, length=18) / quote(outer6() / LONG, 144) / Raw(EXTENSION),
    error4(ICMP(type=3, code=1), LONG, longest=104)))
requirement("8.1", MUST, "A parameter problem is passed on if it is about the encapsulation limit, which this entry never sets; "
            "nor are other errors.")
vector("parameter-problem-inside", T, drop(inside6(ICMPv6ParamProblem(code=0, ptr=6), outer6() / SMALL), "icmp-untranslatable"))
vector("reassembly-time-inside", T, drop(inside6(ICMPv6TimeExceeded(code=1), outer6() / SMALL), "icmp-untranslatable"))
requirement("8.2", MUST, "The same for IPv6 in IPv6.", status="no: no mechanism puts IPv6 packets into IPv6 packets")
requirement("8.4", MUST, "Errors of nested tunnels are passed on by one entry after the other.",
            see=["rfc2473-8.3-too-big-inside"])
requirement("8", MUST, "The error is about a packet that this entry sent.")
vector("stranger-quoted", T, drop(inside6(ICMPv6DestUnreach(code=0), outer6("2001:db8::2") / SMALL), "icmp-inner"))
vector("other-end-quoted", T, drop(inside6(ICMPv6DestUnreach(code=0), outer6(dst=STRANGER6) / SMALL), "icmp-inner"))
vector("other-network-quoted", T, drop(
    inside6(ICMPv6DestUnreach(code=0), outer6() / out4(63, dst="203.0.113.99") / udp() / data()), "icmp-inner"))
vector("other-protocol-quoted", T, drop(inside6(ICMPv6DestUnreach(code=0), ip6(HERE6, THERE6) / udp() / data()), "icmp-inner"))
MANY = IPv6ExtHdrDestOpt(options=[PadN(otype=4, optdata=b"\4"), *[PadN(optdata=b"\0" * 254) for _ in range(5)]])
vector("other-headers-quoted", T, drop(
    inside6(ICMPv6PacketTooBig(mtu=1280), IPv6(src=HERE6, dst=THERE6, hlim=64) / LIMIT / out4(63, flags="DF") / udp() / data(1400)),
    "icmp-inner"))
vector("many-other-headers-quoted", T, drop(
    ip6("2001:db8:cc::1", HERE6) / ICMPv6PacketTooBig(mtu=1280)
    / quote(IPv6(src=HERE6, dst=THERE6, hlim=64) / MANY / out4(63, flags="DF") / udp() / data(1400)), "icmp-inner"))
vector("wrong-checksum-inside", T, drop(
    inside6(ICMPv6DestUnreach(code=0, cksum=0x1234), outer6() / SMALL), "malformed-transport"))
vector("later-fragment-quoted", T, drop(
    inside6(ICMPv6DestUnreach(code=0), fragment6(outer6() / WHOLE.payload, 1024)), "tunnel-error-short"))
vector("short-quote", T, drop(inside6(ICMPv6DestUnreach(code=0), outer6() / SMALL, 60), "tunnel-error-short"))
vector("no-error-about-an-error", T, drop(
    inside6(ICMPv6DestUnreach(code=0), outer6() / out4(63) / ICMP(type=3, code=1) / quote(in4() / udp() / data())), "tunnel-error"))
vector("ping-to-this-end", T, ignored(ip6(THERE6, HERE6) / ICMPv6EchoRequest(id=1, seq=1)))
requirement("7.1", SHOULD, "The entry sets the MTU of the tunnel by what routers inside say.")
LONG, HEAD = out4() / udp() / data(1460 - 28), outer6() / out4(63) / udp() / data(1460 - 28)
AFTER = [Output(fragment6(HEAD, 0, 1352, id=0), words=identification), Output(fragment6(HEAD, 1352, id=0), words=identification)]
REFUSED = out4(flags="DF") / udp() / data(1460 - 28)
vector("fragments-that-fit-the-way", T,
       enters(LONG, HEAD), drop(inside6(ICMPv6PacketTooBig(mtu=1400), WHOLE), "tunnel-too-big"), enters(LONG, *AFTER, split=1))
vector("the-next-sender-is-told-at-once", T, drop(inside6(ICMPv6PacketTooBig(mtu=1400), WHOLE), "tunnel-too-big"),
       reply(REFUSED, error4(ICMP(type=3, code=4, nexthopmtu=1360), REFUSED), "too-big"))
vector("ten-minutes-later", T, drop(inside6(ICMPv6PacketTooBig(mtu=1400), WHOLE), "tunnel-too-big", at=0),
       enters(LONG, *AFTER, split=1, at=580), enters(LONG, HEAD, at=700))
vector("other-ways-are-others", T, drop(inside6(ICMPv6PacketTooBig(mtu=1400), outer6(dst=STRANGER6) / WHOLE.payload), "icmp-inner"),
       enters(LONG, HEAD))
