"""RFC 6146 sections 3 to 3.4: which packets a stateful translator takes, and fragments."""

from configurations import nat64
from nat64_packets import *
from table import *

rfc(6146)
NAT64 = nat64(prefix=PREFIX)

requirement("3", MUST, "A translator has at least one IPv6 prefix and at least one IPv4 address.")
refused("no-prefix", ("nat64-no-prefix", NAT64[1].replace(f'prefix = "{PREFIX}"\n', "")), "prefix")
refused("no-pool", ("nat64-no-pool", NAT64[1].split("pool = [")[0]), "pool")
requirement("3.7", MUST, "Addresses, ports and identifiers are those of the outgoing tuple, and checksums follow.")
requirement("3.3", MUST, "The outcome is that of the steps: tuple, binding and session, outgoing tuple, translation, hairpinning.")
p = port("p")
vector("udp-there-and-back", NAT64,
       send(out6() / udp() / data(), out4() / udp(p) / data(), counters={
           "translated-6to4": 1, "binding-created": 1, "session-created": 1}),
       send(in4() / udp(53, p) / data(40), in6() / udp(53, 40000) / data(40)))
vector("tcp-there-and-back", NAT64,
       send(out6() / tcp("S"), out4() / tcp("S", p)),
       send(in4() / tcp("SA", 80, p), in6() / tcp("SA", 80, 40000)),
       send(out6() / tcp("A"), out4() / tcp("A", p)),
       send(out6() / tcp("PA") / data(), out4() / tcp("PA", p) / data()),
       send(in4() / tcp("A", 80, p) / data(1000), in6() / tcp("A", 80, 40000) / data(1000)),
       counters={"binding-created": 1, "session-created": 1})
i = identifier("i")
vector("echo-there-and-back", NAT64,
       send(out6() / ICMPv6EchoRequest(id=7, seq=1, data=b"ping"), out4() / ICMP(type=8, id=i, seq=1) / Raw(b"ping")),
       send(in4() / ICMP(type=0, id=i, seq=1) / Raw(b"ping"), in6() / ICMPv6EchoReply(id=7, seq=1, data=b"ping")))

requirement("3.5", MUST, "IPv6 packets whose source lies in the prefix are dropped silently.")
vector("source-in-the-prefix", NAT64, drop(ip6(mapped("203.0.113.1"), mapped(S)) / udp() / data(), "loop"))
vector("source-in-the-prefix-tcp", NAT64, drop(ip6(mapped("10.0.0.1"), mapped(S)) / tcp("S"), "loop"))
requirement("3.5", MUST, "Only IPv6 packets to the prefix are processed.")
vector("destination-outside-the-prefix", NAT64, ignored(ip6(A, "2001:db8:2::1") / udp() / data()))
requirement("3.5", MUST, "Only IPv4 packets to the pool are processed.")
vector("destination-outside-the-pool", NAT64, ignored(in4(destination="203.0.113.2") / udp(53, 40000) / data()))

requirement("3.4", SHOULD, "IPv6 packets that are neither TCP, UDP nor ICMPv6 are dropped, and answered with Port Unreachable.")
for number, name in [(47, "gre"), (50, "esp"), (132, "sctp"), (33, "dccp")]:
    lost = out6(nh=number) / data(24)
    vector(f"protocol-{name}-6to4", NAT64, reply(lost, error6(ICMPv6DestUnreach(code=4), lost), "unsupported-protocol"))
requirement("3.4", SHOULD, "IPv4 packets that are neither TCP, UDP nor ICMPv4 are dropped, and answered with Protocol Unreachable.")
for number, name in [(47, "gre"), (50, "esp"), (132, "sctp"), (33, "dccp")]:
    lost = in4(proto=number) / data(8)
    vector(f"protocol-{name}-4to6", NAT64, reply(lost, error4(ICMP(type=3, code=2), lost), "unsupported-protocol"))

SPANS = [(0, 400), (400, 800), (800, None)]
requirement("3.4", MUST, "Fragments are handled.")
requirement("3.7", MUST, "They are translated as RFC 7915 says.")
whole = out6() / udp() / data(1000), out4(id=0xbeef) / udp(p) / data(1000)
vector("fragments-6to4", NAT64, *[
    send(fragment6(whole[0], *span, 0xbeef), fragment4(whole[1], *span)) for span in SPANS])
back = in4(flags=0, id=0xbeef) / udp(53, 40000) / data(1000), in6() / udp(53, 40000) / data(1000)
STATIC = nat64("nat64-static-udp", PREFIX, more='static = [ { protocol = "udp", inside = "[2001:db8:1:a::1]:40000", '
               'outside = "203.0.113.1:40000" } ]\n')
vector("fragments-4to6", STATIC, *[
    send(fragment4(back[0], *span), fragment6(back[1], *span, 0xbeef)) for span in SPANS])
requirement("3.4", MUST, "A fragment header round a whole packet (RFC 6946) makes it no fragment: nothing waits for it, nothing is "
            "remembered of it.")
vector("atomic-6to4", NAT64,
       send(out6() / IPv6ExtHdrFragment(id=0xaaaabeef) / udp() / data(), out4(id=0xbeef) / udp(p) / data()),
       send(out6() / IPv6ExtHdrFragment(id=0xaaaabeef) / udp() / data(), out4(id=0xbeef) / udp(p) / data()))
vector("atomic-is-not-remembered", NAT64,
       send(out6() / IPv6ExtHdrFragment(id=0xbeef) / udp() / data(), out4(id=0xbeef) / udp(p) / data()),
       held(fragment6(whole[0], *SPANS[2], 0xbeef)), counters={"fragment-timeout": 1})
requirement("3.4", MUST, "Fragments of TCP are handled likewise.")
segment = out6() / tcp("S") / data(1000), out4(id=0xbeef) / tcp("S", p) / data(1000)
vector("fragments-tcp-6to4", NAT64, *[
    send(fragment6(segment[0], *span, 0xbeef), fragment4(segment[1], *span)) for span in SPANS])

requirement("3.4", MUST, "Fragments that arrive out of order are handled.")
for name, order in [("last-first", (2, 0, 1)), ("middle-first", (1, 0, 2))]:
    early, first, late = order
    vector(f"fragments-6to4-{name}", NAT64,
           held(fragment6(whole[0], *SPANS[early], 0xbeef)),
           send(fragment6(whole[0], *SPANS[first], 0xbeef), fragment4(whole[1], *SPANS[first]),
                fragment4(whole[1], *SPANS[early]), any_order=True, counters={"translated-6to4": 2}),
           send(fragment6(whole[0], *SPANS[late], 0xbeef), fragment4(whole[1], *SPANS[late])))
    vector(f"fragments-4to6-{name}", STATIC,
           held(fragment4(back[0], *SPANS[early])),
           send(fragment4(back[0], *SPANS[first]), fragment6(back[1], *SPANS[first], 0xbeef),
                fragment6(back[1], *SPANS[early], 0xbeef), any_order=True, counters={"translated-4to6": 2}),
           send(fragment4(back[0], *SPANS[late]), fragment6(back[1], *SPANS[late], 0xbeef)))
vector("fragments-6to4-backwards", NAT64,
       held(fragment6(whole[0], *SPANS[2], 0xbeef)), held(fragment6(whole[0], *SPANS[1], 0xbeef)),
       send(fragment6(whole[0], *SPANS[0], 0xbeef), *[fragment4(whole[1], *span) for span in SPANS], any_order=True,
            counters={"translated-6to4": 3}))
requirement("3.4", MUST, "They may arrive within an interval of at least 2 seconds.")
vector("fragments-two-seconds-apart", NAT64,
       held(fragment6(whole[0], *SPANS[1], 0xbeef), at=0),
       send(fragment6(whole[0], *SPANS[0], 0xbeef), fragment4(whole[1], *SPANS[0]), fragment4(whole[1], *SPANS[1]), at=1.9,
            any_order=True, counters={"translated-6to4": 2}))
requirement("3.4", SHOULD, "The interval is configurable.")
SLOW = nat64("nat64-fragments-10-seconds", PREFIX, more="[instance.timers]\nfragment = 10\n")
vector("fragments-nine-seconds-apart", SLOW,
       held(fragment6(whole[0], *SPANS[1], 0xbeef), at=0),
       send(fragment6(whole[0], *SPANS[0], 0xbeef), fragment4(whole[1], *SPANS[0]), fragment4(whole[1], *SPANS[1]), at=9,
            any_order=True, counters={"translated-6to4": 2}))
refused("fragment-interval-below-2-seconds", nat64("nat64-fragments-1-second", PREFIX, more="[instance.timers]\nfragment = 1\n"), "fragment")
requirement("3.4", MUST, "Resources for fragments are bounded.")
vector("fragment-without-the-first", NAT64, held(fragment6(whole[0], *SPANS[1], 0xbeef)), counters={"fragment-timeout": 1})
vector("fragment-too-late", NAT64,
       held(fragment6(whole[0], *SPANS[1], 0xbeef), at=0),
       send(fragment6(whole[0], *SPANS[0], 0xbeef), fragment4(whole[1], *SPANS[0]), at=6),
       counters={"fragment-timeout": 1})
requirement("3.4", MUST, "A fragmented IPv4 UDP datagram without a checksum is reassembled, and its checksum calculated.")
bare = in4(flags=0, id=0xbeef) / udp(53, 40000, chksum=0) / data(1000)
for name, order in [("in-order", (0, 1, 2)), ("last-first", (2, 0, 1))]:
    vector(f"fragments-without-checksum-{name}", STATIC,
           *[held(fragment4(bare, *SPANS[n])) for n in order[:2]],
           send(fragment4(bare, *SPANS[order[2]]), in6() / udp(53, 40000) / data(1000)))
NO_ZERO = nat64("nat64-zero-checksum-drop", PREFIX, more='zero-udp-checksum = "drop"\nstatic = [\n  { protocol = "udp", '
                'inside = "[2001:db8:1:a::1]:40000", outside = "203.0.113.1:40000" },\n]\n')
requirement("3.4", MAY, "The operator may have datagrams without a checksum dropped, fragments too.")
vector("fragments-without-checksum-dropped", NO_ZERO, drop(fragment4(bare, *SPANS[0]), "zero-checksum-udp"))
requirement("3.4", MUST, "An unfragmented UDP packet without a checksum gets one.")
vector("udp-without-checksum", STATIC, send(in4() / udp(53, 40000, chksum=0) / data(), in6() / udp(53, 40000) / data()))
requirement("3.4", MUST, "Fragments of ICMP messages are handled too.")
echo = out6() / ICMPv6EchoRequest(id=7, seq=1, data=bytes(data(1000)))
vector("fragments-echo-6to4", NAT64,
       held(fragment6(echo, *SPANS[0])), held(fragment6(echo, *SPANS[1])),
       send(fragment6(echo, *SPANS[2]), Output(out4(id=0x1234) / ICMP(type=8, id=i, seq=1) / data(1000), free=[(4, 4), (10, 2)])))
