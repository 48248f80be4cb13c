"""RFC 4213: IPv6 over IPv4 in configured tunnels."""

from table import *
from tunnel_packets import *

rfc(4213)
T = six_in_four()

requirement("3", MUST, "The entry puts an IPv4 header before the packet; the exit takes it away.")
requirement("3.5", MUST, "The IPv4 header: protocol 41, no options, the addresses of both ends.")
vector("udp-in", T, enters(out6() / udp() / data(), outer4(df=False) / out6(63) / udp() / data()))
vector("tcp-in", T, enters(out6() / tcp() / data(), outer4(df=False) / out6(63) / tcp() / data()))
vector("echo-in", T, enters(
    out6() / ICMPv6EchoRequest(id=7, seq=1), outer4(df=False) / out6(63) / ICMPv6EchoRequest(id=7, seq=1)))
vector("other-protocol-in", T, enters(
    out6(nh=50) / data(), outer4(df=False) / out6(63, nh=50) / data()))
vector("extension-headers-in", T, enters(
    out6() / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]) / udp() / data(),
    outer4(df=False) / out6(63) / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]) / udp() / data()))
vector("fragment-in", T, enters(
    out6() / IPv6ExtHdrFragment(nh=17, offset=100, m=1, id=9) / data(64),
    outer4(df=False) / out6(63) / IPv6ExtHdrFragment(nh=17, offset=100, m=1, id=9) / data(64)))
vector("udp-out", T, leaves(from4() / in6() / udp() / data(), in6(63) / udp() / data()))
vector("tcp-out", T, leaves(from4() / in6() / tcp() / data(), in6(63) / tcp() / data()))
vector("echo-out", T, leaves(from4() / in6() / ICMPv6EchoReply(id=7, seq=1), in6(63) / ICMPv6EchoReply(id=7, seq=1)))
vector("fragment-out", T, leaves(
    from4() / in6() / IPv6ExtHdrFragment(nh=17, offset=100, m=1, id=9) / data(64),
    in6(63) / IPv6ExtHdrFragment(nh=17, offset=100, m=1, id=9) / data(64)))
vector("flow-label-stays", T, enters(
    out6(fl=0xABCDE) / udp() / data(), outer4(df=False) / out6(63, fl=0xABCDE) / udp() / data()))

requirement("3.2", MUST, "The tunnel behaves like a link: a packet of more than 1280 bytes that does not fit is answered "
            "with Packet Too Big, whose MTU is that of the way less 20, and never less than 1280.")
BIG = out6() / udp() / data(1500 - 48)
vector("packet-too-big", T, reply(BIG, error6(ICMPv6PacketTooBig(mtu=1480), BIG), "too-big"))
vector("largest", T, enters(out6() / udp() / data(1480 - 48), outer4() / out6(63) / udp() / data(1480 - 48)))
NARROW = six_in_four("6in4-1290", link="ipv4-mtu = 1290")
BIGGER = out6() / udp() / data(1300 - 48)
vector("packet-too-big-is-1280-at-least", NARROW, reply(
    BIGGER, error6(ICMPv6PacketTooBig(mtu=1280), BIGGER), "too-big"))
requirement("3.2.2", MUST, "A packet of up to 1280 bytes goes without Don't Fragment, a larger one with it.")
vector("df-of-1280", T, enters(out6() / udp() / data(1280 - 48), outer4(df=False) / out6(63) / udp() / data(1280 - 48)))
vector("df-of-1281", T, enters(out6() / udp() / data(1281 - 48), outer4() / out6(63) / udp() / data(1281 - 48)))
requirement("3.2.2", MUST, "Where the way takes less than 1300 bytes, a packet of 1280 bytes is sent in fragments.")
identification = fresh("fragments", size=2)
WHOLE = outer4(df=False, id=identification) / out6(63) / udp() / data(1280 - 48)
vector("fragments-of-the-outer-packet", NARROW, enters(
    out6() / udp() / data(1280 - 48), fragment4(WHOLE, 0, 1264), fragment4(WHOLE, 1264), split=1))

requirement("3.3", MUST, "The hop limit goes down by one: the tunnel is one hop. The TTL outside is the implementation's.")
vector("hop-limit-two", T, enters(out6(2) / udp() / data(), outer4(df=False) / out6(1) / udp() / data()))
ONE = out6(1) / udp() / data()
vector("hop-limit-one", T, reply(ONE, error6(ICMPv6TimeExceeded(code=0), ONE), "hop-limit-exceeded"))
INSIDE = in6(1) / udp() / data()
vector("hop-limit-one-on-the-way-out", T, reply(
    from4() / INSIDE, error6(ICMPv6TimeExceeded(code=0), INSIDE), "hop-limit-exceeded"))

requirement("3.6", MUST, "The exit takes packets only from the other end; others are dropped silently.")
vector("stranger", T, drop(from4(STRANGER4) / in6() / udp() / data(), "tunnel-source"))
requirement("3.6", MUST, "The exit puts the fragments of the outer packet together.")
WHOLE = from4(id=0x77) / in6() / udp() / data(1280 - 48)
vector("reassembly", T,
       held(fragment4(WHOLE, 0, 640)), leaves(fragment4(WHOLE, 640), in6(63) / udp() / data(1280 - 48)))
vector("reassembly-last-first", T,
       held(fragment4(WHOLE, 640)), leaves(fragment4(WHOLE, 0, 640), in6(63) / udp() / data(1280 - 48)))
requirement("3.6", MUST, "What is not a whole IPv6 packet is dropped.")
vector("not-ipv6", T, drop(from4() / in4() / udp() / data(24), "malformed-header"))
vector("too-short", T, drop(from4() / data(39), "truncated"))
vector("payload-length-too-large", T, drop(from4() / in6(plen=200) / udp() / data(), "malformed-header"))
requirement("3.6", MUST, "Sources that no packet may have are dropped on the way out: multicast, loopback, unspecified.")
vector("multicast-source", T, drop(from4() / in6(src="ff02::1") / udp() / data(), "illegal-source"))
vector("loopback-source", T, drop(from4() / in6(src="::1") / udp() / data(), "illegal-source"))
requirement("3.6", SHOULD, "A packet does not come out of the tunnel to go back into it.")
ALL = configuration("6in4-all", f'mechanism = "6in4"\nlocal = "{HERE4}"\nremote = "{THERE4}"\nnetworks = ["::/0"]\n{OWN}')
vector("all-behind-the-tunnel", ALL, leaves(from4() / in6() / udp() / data(), in6(63) / udp() / data()))
vector("back-into-the-tunnel", T, drop(from4() / in6(dst="2001:db8:b::99") / udp() / data(), "loop"))
requirement("3.6", MAY, "IPv4 options outside are ignored.")
vector("options-outside", T, leaves(
    from4(options=[IPOption_NOP()] * 4) / in6() / udp() / data(), in6(63) / udp() / data()))
requirement("3.5", MUST, "Other packets are none of the tunnel's business.")
vector("other-destination", T, ignored(ip6(NEAR6, "2001:db8:c::1") / udp() / data()))
vector("other-protocol-to-this-end", T, ignored(ip4(THERE4, HERE4) / udp() / data()))

requirement("3", MUST, "The ends are configured.")
refused("no-remote", configuration("6in4-no-remote", 'mechanism = "6in4"\nlocal = "192.0.2.1"\nnetworks = ["::/0"]'), "remote")
refused("one-end", configuration(
    "6in4-one-end", 'mechanism = "6in4"\nlocal = "192.0.2.1"\nremote = "192.0.2.1"\nnetworks = ["::/0"]'), "both ends")

requirement("3.4", MUST, "Fragmentation Needed from inside the tunnel counts by RFC 1191.")
requirement("3.2.2", MUST, "What is larger than the way takes is answered with Packet Too Big, whose MTU is that of the way less 20.")
BIG = out6(63) / udp() / data(1480 - 48)
for name, mtu, most in [("too-big", 1400, 1380), ("too-big-of-1300", 1300, 1280), ("too-big-below-1300", 600, 1280),
                        ("too-big-of-unknown-size", 0, 1472)]:
    vector(f"{name}-inside", T, told(
        inside4(ICMP(type=3, code=4, nexthopmtu=mtu), outer4(id=7) / BIG), error6(ICMPv6PacketTooBig(mtu=most), BIG, longest=528)))
vector("too-big-inside-of-a-size-that-fits", T, drop(
    inside4(ICMP(type=3, code=4, nexthopmtu=1500), outer4(id=7) / BIG), "icmp-inner"))
SMALL = out6(63) / udp() / data(64)
vector("too-big-inside-without-df", T, drop(
    inside4(ICMP(type=3, code=4, nexthopmtu=68), outer4(df=False, id=7) / SMALL), "icmp-inner"))
requirement("3.4", MAY, "Where enough of the packet is quoted, its source is told of other errors: Address Unreachable.")
UNREACHABLE = error6(ICMPv6DestUnreach(code=3), SMALL)
for name, message in [("network-unreachable", ICMP(type=3, code=0)), ("host-unreachable", ICMP(type=3, code=1)),
                      ("protocol-unreachable", ICMP(type=3, code=2)), ("prohibited", ICMP(type=3, code=13)),
                      ("ttl", ICMP(type=11, code=0)), ("parameter-problem", ICMP(type=12, code=0, ptr=1))]:
    vector(f"{name}-inside", T, told(inside4(message, outer4(df=False, id=7) / SMALL), UNREACHABLE))
vector("quote-with-options-inside", T, told(
    inside4(ICMP(type=3, code=1), outer4(df=False, id=7, options=[IPOption_NOP()] * 4) / SMALL), UNREACHABLE))
vector("quote-of-the-inner-header-inside", T, told(
    inside4(ICMP(type=3, code=1), outer4(df=False, id=7) / SMALL, 60), error6(ICMPv6DestUnreach(code=3), SMALL, longest=40)))
requirement("3.4", MUST, "Routers that quote 8 bytes of the packet do not tell whom to tell.")
vector("quote-of-8-bytes", T, drop(inside4(ICMP(type=3, code=1), outer4(df=False, id=7) / SMALL, 28), "tunnel-error-short"))
vector("too-big-with-a-quote-of-8-bytes", T, drop(
    inside4(ICMP(type=3, code=4, nexthopmtu=1400), outer4(id=7) / BIG, 28), "tunnel-error-short"))
vector("later-fragment-quoted", T, drop(
    inside4(ICMP(type=11, code=0), fragment4(outer4(df=False, id=7) / SMALL, 64)), "tunnel-error-short"))
requirement("3.4", MUST, "They tell the size of the way all the same, by which the next packet is answered.")
NEXT = out6() / udp() / data(1480 - 48)
vector("next-packet-after-8-bytes", T,
       drop(inside4(ICMP(type=3, code=4, nexthopmtu=1400), outer4(id=7) / BIG, 28), "tunnel-error-short"),
       reply(NEXT, error6(ICMPv6PacketTooBig(mtu=1380), NEXT), "too-big"))
vector("next-packet-after-a-stranger", T,
       drop(inside4(ICMP(type=3, code=4, nexthopmtu=1400), outer4(dst=STRANGER4, id=7) / BIG, 28), "icmp-inner"),
       enters(NEXT, outer4() / out6(63) / udp() / data(1480 - 48)))
vector("small-packets-go-on", T,
       drop(inside4(ICMP(type=3, code=4, nexthopmtu=600), outer4(id=7) / BIG, 28), "tunnel-error-short"),
       enters(out6() / udp() / data(1280 - 48), outer4(df=False) / out6(63) / udp() / data(1280 - 48)))
requirement("3.4", MUST, "The error is about a packet that this end sent.")
vector("other-end-quoted", T, drop(
    inside4(ICMP(type=3, code=1), outer4(dst=STRANGER4, df=False, id=7) / SMALL), "icmp-inner"))
vector("stranger-quoted", T, drop(
    inside4(ICMP(type=3, code=1), outer4(src=STRANGER4, df=False, id=7) / SMALL), "icmp-inner"))
vector("other-network-quoted", T, drop(
    inside4(ICMP(type=3, code=1), outer4(df=False, id=7) / out6(63, dst="2001:db8:c::1") / udp() / data()), "icmp-inner"))
vector("wrong-checksum-inside", T, drop(
    inside4(ICMP(type=3, code=1, chksum=0x1234), outer4(df=False, id=7) / SMALL), "malformed-transport"))
vector("no-error-about-an-error", T, drop(
    inside4(ICMP(type=3, code=1), outer4(df=False, id=7) / out6(63) / ICMPv6DestUnreach(code=0) / quote(in6() / udp() / data())),
    "tunnel-error"))
requirement("3.4", MUST, "Errors about other packets, and other messages, are none of the tunnel's business.")
vector("error-about-udp", T, ignored(inside4(ICMP(type=3, code=1), ip4(HERE4, THERE4) / udp() / data())))
vector("ping-to-this-end", T, ignored(ip4(THERE4, HERE4) / ICMP(type=8, id=1, seq=1)))
