"""RFC 7596: lw4o6. The lwB4, whose address and ports are given, and the lwAFTR with its binding table."""

from sharing_packets import *
from table import *

rfc(7596)
B4 = configuration("lwb4", f'mechanism = "lw4o6"\nrole = "b4"\nlocal = "2001:db8:a::1"\naftr = "{BR6}"\naddress = "{SHARED}"\n'
                   f'psid = 52\npsid-length = 8\npsid-offset = 6\ninside = ["192.168.0.0/16"]\n{OWN6}{BOUNDS}')
p = port("p")
requirement("5.2", MUST, "The lwB4 translates its hosts to its address and port set, and sends to the lwAFTR.")
vector("out-and-back", B4,
       enters(ip4(HOST, SERVER) / udp() / data(), over6("2001:db8:a::1", BR6) / ip4(SHARED, SERVER, 63) / udp(p) / data()),
       leaves(over6(BR6, "2001:db8:a::1") / ip4(SERVER, SHARED) / udp(53, p) / data(), ip4(SERVER, HOST, 63) / udp(53, 40000) / data()))
GONE = ip4(HOST, SERVER, id=0x99) / udp() / data(992), ip4(SHARED, SERVER, 63, id=0x99) / udp(p) / data(992)
BACK = ip4(SERVER, SHARED, id=0x98) / udp(53, p) / data(992), ip4(SERVER, HOST, 63, id=0x98) / udp(53, 40000) / data(992)
SPANS = [(0, 504), (504, None)]
vector("fragments-out-and-back", B4,
       *[enters(fragment4(GONE[0], *span), over6("2001:db8:a::1", BR6) / fragment4(GONE[1], *span)) for span in SPANS],
       *[leaves(over6(BR6, "2001:db8:a::1") / fragment4(BACK[0], *span), fragment4(BACK[1], *span)) for span in SPANS])
requirement("5.2", MUST, "It takes packets from the lwAFTR only.")
vector("stranger", B4, drop(
    over6("2001:db8:b::1", "2001:db8:a::1") / ip4(SERVER, SHARED) / udp(53, PORT) / data(), "tunnel-source"))
LATE = ip4(SERVER, SHARED, 1) / udp(53, PORT) / data()
LED = ip4(SERVER, SHARED, options=[IPOption_LSRR(routers=["198.51.100.9"])]) / udp(53, PORT) / data()
vector("ttl-one-from-a-stranger", B4, drop(over6("2001:db8:b::1", "2001:db8:a::1") / LATE, "tunnel-source"))
vector("source-route-from-a-stranger", B4, drop(over6("2001:db8:b::1", "2001:db8:a::1") / LED, "tunnel-source"))
requirement("8", MUST, "ICMPv6 errors are handled as RFC 2473 section 8 says.")
opened = enters(ip4(HOST, SERVER) / tcp("S"), over6("2001:db8:a::1", BR6) / ip4(SHARED, SERVER, 63) / tcp("S", sport=p))
AS_SENT = ip4(HOST, SERVER, 63) / tcp("S")
vector("unreachable-inside", B4, opened, told(
    inside6(ICMPv6DestUnreach(code=0), over6("2001:db8:a::1", BR6) / ip4(SHARED, SERVER, 63) / tcp("S", sport=p), dst="2001:db8:a::1"),
    error4(ICMP(type=3, code=1), AS_SENT)))

#: Two lwB4s with PSIDs 0x34 and 0x35 of one address, one with an address for itself, one that knows the
#: lwAFTR by another address, one whose port set has no gaps.
B4A, B4B, B4C, B4D, B4E = (f"2001:db8:{name}::1" for name in "abcde")
WHOLE4, BR6B, RANGE4 = "203.0.113.9", "2001:db8:ffff::2", "198.51.100.7"
TABLE = f"""mechanism = "lw4o6"
role = "aftr"
local = "{BR6}"
sharing = [
  {{ v4 = "192.0.2.0/24", psid-length = 8, psid-offset = 6 }},
  {{ v4 = "203.0.113.0/28" }},
  {{ v4 = "198.51.100.7/32", psid-length = 2, psid-offset = 0 }},
]
softwires = [
  {{ b4 = "{B4A}", v4 = "{SHARED}", psid = 0x34 }},
  {{ b4 = "{B4B}", v4 = "{SHARED}", psid = 0x35 }},
  {{ b4 = "{B4C}", v4 = "{WHOLE4}" }},
  {{ b4 = "{B4D}", v4 = "192.0.2.19", psid = 0x34, br = "{BR6B}" }},
  {{ b4 = "{B4E}", v4 = "{RANGE4}", psid = 0 }},
]
{OWN6}"""
AFTR = configuration("lwaftr", TABLE)
SILENT = configuration("lwaftr-silent", f'{TABLE}unbound-v4 = "drop"\nunbound-v6 = "drop"\nincoming-icmp = "drop"\nhairpin = "drop"\n')


def source_policy(about):
    """The ICMPv6 error about a packet from somebody who is not bound to its source."""
    return error6(ICMPv6DestUnreach(code=5), about, "2001:db8:eeee::1")


def unreachable(about):
    """The ICMPv4 error about a packet to somebody who is not there."""
    return error4(ICMP(type=3, code=1), about)


requirement("6.2", MUST, "The lwAFTR finds the lwB4 by destination address and port, and sends the packet to it from its own address.")
down = enters(ip4(SERVER, SHARED) / udp(80, PORT) / data(), over6(BR6, B4A) / ip4(SERVER, SHARED, 63) / udp(80, PORT) / data())
vector("to-a-lwb4", AFTR, down)
vector("to-the-other-lwb4", AFTR, enters(
    ip4(SERVER, SHARED) / tcp(sport=80, dport=OTHERS_PORT) / data(),
    over6(BR6, B4B) / ip4(SERVER, SHARED, 63) / tcp(sport=80, dport=OTHERS_PORT) / data()))
vector("to-the-last-port-of-a-set", AFTR, enters(
    ip4(SERVER, SHARED) / udp(80, 64723) / data(), over6(BR6, B4A) / ip4(SERVER, SHARED, 63) / udp(80, 64723) / data()))
vector("to-a-whole-address", AFTR, enters(
    ip4(SERVER, WHOLE4) / udp(80, 22) / data(), over6(BR6, B4C) / ip4(SERVER, WHOLE4, 63) / udp(80, 22) / data()))
vector("to-a-whole-address-without-ports", AFTR, enters(
    ip4(SERVER, WHOLE4, proto=47) / data(), over6(BR6, B4C) / ip4(SERVER, WHOLE4, 63, proto=47) / data()))
vector("from-another-address-of-the-lwaftr", AFTR, enters(
    ip4(SERVER, "192.0.2.19") / udp(80, PORT) / data(), over6(BR6B, B4D) / ip4(SERVER, "192.0.2.19", 63) / udp(80, PORT) / data()))
requirement("6.2", MUST, "A packet that comes in for nobody is discarded.")
requirement("6.2", MAY, "Its sender is told: Host Unreachable.")
for name, packet in {
    "nobodys-psid": ip4(SERVER, SHARED) / udp(80, PORT + 8) / data(),
    "nobodys-address": ip4(SERVER, "192.0.2.77") / udp(80, PORT) / data(),
    "nobodys-port": ip4(SERVER, SHARED) / udp(80, 1023) / data(),
    "protocol-without-ports": ip4(SERVER, SHARED, proto=47) / data(),
    "protocol-without-ports-is-not-port-0": ip4(SERVER, RANGE4, proto=47) / data(),
}.items():
    vector(f"to-{name}", AFTR, reply(packet, unreachable(packet), "tunnel-destination"))
requirement("6.2", SHOULD, "Whether the sender is told can be configured.")
vector("to-nobody-silently", SILENT, drop(ip4(SERVER, SHARED) / udp(80, PORT + 8) / data(), "tunnel-destination"))

requirement("6.2", MUST, "A packet from a lwB4 goes on if IPv6 source, IPv4 source and port are those of a single softwire.")
vector("from-a-lwb4", AFTR, leaves(
    over6(B4A, BR6) / ip4(SHARED, SERVER) / udp(PORT, 80) / data(), ip4(SHARED, SERVER, 63) / udp(PORT, 80) / data()))
vector("from-a-whole-address", AFTR, leaves(
    over6(B4C, BR6) / ip4(WHOLE4, SERVER) / tcp(sport=22) / data(), ip4(WHOLE4, SERVER, 63) / tcp(sport=22) / data()))
vector("from-a-whole-address-without-ports", AFTR, leaves(
    over6(B4C, BR6) / ip4(WHOLE4, SERVER, proto=47) / data(), ip4(WHOLE4, SERVER, 63, proto=47) / data()))
vector("to-another-address-of-the-lwaftr", AFTR, leaves(
    over6(B4D, BR6B) / ip4("192.0.2.19", SERVER) / udp(PORT, 80) / data(), ip4("192.0.2.19", SERVER, 63) / udp(PORT, 80) / data()))
requirement("6.2", MUST, "If there is no match, the packet is discarded.")
requirement("6.2", MAY, "The lwB4 is told: source address failed ingress/egress policy.")
SPOOFED = {
    "port": over6(B4A, BR6) / ip4(SHARED, SERVER) / udp(OTHERS_PORT, 80) / data(),
    "unshared-port": over6(B4A, BR6) / ip4(SHARED, SERVER) / udp(80, 80) / data(),
    "address": over6(B4A, BR6) / ip4("192.0.2.19", SERVER) / udp(PORT, 80) / data(),
    "foreign-address": over6(B4A, BR6) / ip4(HOST, SERVER) / udp(PORT, 80) / data(),
    "lwb4": over6("2001:db8:bad::1", BR6) / ip4(SHARED, SERVER) / udp(PORT, 80) / data(),
    "identifier": over6(B4A, BR6) / ip4(SHARED, SERVER) / ICMP(type=8, id=OTHERS_PORT, seq=1),
    "protocol-without-ports": over6(B4E, BR6) / ip4(RANGE4, SERVER, proto=47) / data(),
    "end": over6(B4D, BR6) / ip4("192.0.2.19", SERVER) / udp(PORT, 80) / data(),
}
for name, packet in SPOOFED.items():
    vector(f"spoofed-{name}", AFTR, reply(packet, source_policy(packet), "tunnel-spoofed"))
requirement("6.2", SHOULD, "Whether the lwB4 is told can be configured.")
vector("spoofed-silently", SILENT, drop(SPOOFED["port"], "tunnel-spoofed"))
ONE = ip4(SHARED, SERVER, 1) / udp(PORT, 80) / data()
vector("ttl-one", AFTR, reply(over6(B4A, BR6) / ONE, error4(ICMP(type=11, code=0), ONE), "hop-limit-exceeded"))
requirement("6.2", MUST, "A packet without a match is discarded as such, whatever else is wrong with it: no other error tells about it.")
ROUTED = ip4(SHARED, SERVER, options=[IPOption_LSRR(routers=["198.51.100.9"])]) / udp(PORT, 80) / data()
vector("source-route", AFTR, reply(over6(B4A, BR6) / ROUTED, error4(ICMP(type=3, code=5), ROUTED), "source-route"))
for name, packet in [("ttl-one", ONE), ("source-route", ROUTED)]:
    vector(f"{name}-spoofed", AFTR, reply(over6(B4B, BR6) / packet, source_policy(over6(B4B, BR6) / packet), "tunnel-spoofed"))
    vector(f"{name}-spoofed-silently", SILENT, drop(over6(B4B, BR6) / packet, "tunnel-spoofed"))

requirement("6.2", MUST, "Packets from one lwB4 to another turn back into its softwire.")
BETWEEN = over6(B4A, BR6) / ip4(SHARED, SHARED) / udp(PORT, OTHERS_PORT) / data()
vector("hairpin", AFTR, Step(
    BETWEEN, [Output(over6(BR6, B4B) / ip4(SHARED, SHARED, 63) / udp(PORT, OTHERS_PORT) / data())],
    {"decapsulated-4in6": 1, "hairpinned": 1}))
vector("hairpin-to-another-address", AFTR, Step(
    over6(B4A, BR6) / ip4(SHARED, WHOLE4) / ICMP(type=8, id=PORT, seq=1),
    [Output(over6(BR6, B4C) / ip4(SHARED, WHOLE4, 63) / ICMP(type=8, id=PORT, seq=1))],
    {"decapsulated-4in6": 1, "hairpinned": 1}))
vector("hairpin-spoofed", AFTR, reply(
    over6(B4B, BR6) / ip4(SHARED, SHARED) / udp(PORT, OTHERS_PORT) / data(),
    source_policy(over6(B4B, BR6) / ip4(SHARED, SHARED) / udp(PORT, OTHERS_PORT) / data()), "tunnel-spoofed"))
NOBODY = ip4(SHARED, SHARED) / udp(PORT, PORT + 8) / data()
vector("hairpin-to-nobody", AFTR, reply(over6(B4A, BR6) / NOBODY, unreachable(NOBODY), "tunnel-destination"))
requirement("6.2", MUST, "That can be configured.")
INNER = ip4(SHARED, SHARED) / udp(PORT, OTHERS_PORT) / data()
vector("hairpin-off", SILENT, reply(BETWEEN, error4(ICMP(type=3, code=13), INNER), "filtered"))

requirement("6.2", MUST, "Packets to lwB4s are not fragmented before they are encapsulated; what does not fit is cut outside, "
            "or answered if it must not be cut (RFC 6333 section 6.3).")
BIG = ip4(SERVER, SHARED, flags="DF") / udp(80, PORT) / data(1461 - 28)
vector("too-big", AFTR, reply(BIG, error4(ICMP(type=3, code=4, nexthopmtu=1460), BIG), "too-big"))
identification = [(fresh("high"), 44, []), (fresh("low"), 46, [])]
LONG = over6(BR6, B4A) / ip4(SERVER, SHARED, 63) / udp(53, PORT) / data(1461 - 28)
vector("fragments-of-the-outer-packet", AFTR, enters(
    ip4(SERVER, SHARED) / udp(53, PORT) / data(1461 - 28),
    Output(fragment6(LONG, 0, 1448, id=0), words=identification),
    Output(fragment6(LONG, 1448, id=0), words=identification), split=1))
requirement("6.2", MUST, "Fragments go where the port of the first belongs (RFC 6333 section 6.3).")
FIRST, SECOND = SPANS[0], SPANS[-1]
into = [ip4(SERVER, SHARED, ttl, id=0x99) / udp(80, PORT) / data(992) for ttl in (64, 63)]
vector("fragments-to-a-lwb4", AFTR, *[
    enters(fragment4(into[0], *span), over6(BR6, B4A) / fragment4(into[1], *span)) for span in SPANS])
vector("fragments-to-a-lwb4-last-first", AFTR, held(fragment4(into[0], *SECOND)), enters(
    fragment4(into[0], *FIRST), *[over6(BR6, B4A) / fragment4(into[1], *span) for span in (FIRST, SECOND)], any_order=True,
    **{"encapsulated-4in6": 2}))
out = [ip4(SHARED, SERVER, ttl, id=0x99) / udp(PORT, 80) / data(992) for ttl in (64, 63)]
vector("fragments-from-a-lwb4", AFTR, *[
    leaves(over6(B4A, BR6) / fragment4(out[0], *span), fragment4(out[1], *span)) for span in SPANS])
vector("fragments-from-a-lwb4-last-first", AFTR, held(over6(B4A, BR6) / fragment4(out[0], *SECOND)), leaves(
    over6(B4A, BR6) / fragment4(out[0], *FIRST), *[fragment4(out[1], *span) for span in (FIRST, SECOND)], any_order=True,
    **{"decapsulated-4in6": 2}))
gre = [ip4(WHOLE4, SERVER, ttl, proto=47, id=0x99) / data(1000) for ttl in (64, 63)]
vector("fragments-without-ports-from-a-whole-address", AFTR, *[
    leaves(over6(B4C, BR6) / fragment4(gre[0], *span), fragment4(gre[1], *span)) for span in SPANS])
shared_gre = [over6(B4A, BR6) / fragment4(ip4(SHARED, SERVER, proto=47, id=0x99) / data(1000), *span) for span in SPANS]
vector("fragments-without-ports-from-a-shared-address", AFTR, *[
    reply(fragment, source_policy(fragment), "tunnel-spoofed") for fragment in shared_gre])
requirement("6.2", MUST, "DSCP and marks of congestion are mapped between inner and outer header (RFC 6333 section 7.1).")
vector("traffic-class-down", AFTR, enters(
    ip4(SERVER, SHARED, tos=0xB9) / udp(80, PORT) / data(),
    over6(BR6, B4A, tc=0xB9) / ip4(SERVER, SHARED, 63, tos=0xB9) / udp(80, PORT) / data()))
vector("congestion-up", AFTR, leaves(
    over6(B4A, BR6, tc=3) / ip4(SHARED, SERVER, tos=0xBA) / udp(PORT, 80) / data(),
    ip4(SHARED, SERVER, 63, tos=0xBB) / udp(PORT, 80) / data()))

requirement("6.1", MUST, "A port set belongs to one lwB4.")
WRONG = TABLE.replace(f'b4 = "{B4B}", v4 = "{SHARED}", psid = 0x35', f'b4 = "{B4B}", v4 = "{SHARED}", psid = 0x34')
refused("same-port-set-twice", configuration("lwaftr-twice", WRONG), "twice")
WRONG = TABLE.replace("psid = 0x35", "psid = 256")
refused("psid-too-large", configuration("lwaftr-psid", WRONG), "PSID")
requirement("5.1", MAY, "A lwB4 has more than one port set, where it is provisioned by other means than DHCPv6.")
SAME = TABLE.replace(f'b4 = "{B4B}"', f'b4 = "{B4A}"')
SEVERAL = configuration("lwaftr-several-port-sets", SAME)
for name, mine in [("first", PORT), ("second", OTHERS_PORT)]:
    vector(f"to-the-{name}-of-two-port-sets", SEVERAL, enters(
        ip4(SERVER, SHARED) / udp(80, mine) / data(), over6(BR6, B4A) / ip4(SERVER, SHARED, 63) / udp(80, mine) / data()))
    vector(f"from-the-{name}-of-two-port-sets", SEVERAL, leaves(
        over6(B4A, BR6) / ip4(SHARED, SERVER) / udp(mine, 80) / data(), ip4(SHARED, SERVER, 63) / udp(mine, 80) / data()))
spoofed = over6(B4A, BR6) / ip4(SHARED, SERVER) / udp(PORT + 8, 80) / data()
vector("from-none-of-two-port-sets", SEVERAL, reply(spoofed, source_policy(spoofed), "tunnel-spoofed"))
requirement("6.1", MUST, "The table is synchronized with what provisions lwB4s, and lives as long as their addresses.",
            status="operator: the table is read anew with `isthmus reload`")

requirement("8.1", MUST, "The identifier of an echo message is used like a port.")
for kind, name in ((8, "request"), (0, "reply")):
    vector(f"echo-{name}", AFTR, enters(
        ip4(SERVER, SHARED) / ICMP(type=kind, id=PORT, seq=1), over6(BR6, B4A) / ip4(SERVER, SHARED, 63) / ICMP(type=kind, id=PORT, seq=1)))
    vector(f"echo-{name}-from-a-lwb4", AFTR, leaves(
        over6(B4A, BR6) / ip4(SHARED, SERVER) / ICMP(type=kind, id=PORT, seq=1), ip4(SHARED, SERVER, 63) / ICMP(type=kind, id=PORT, seq=1)))
PING = ip4(SERVER, SHARED) / ICMP(type=8, id=PORT + 8, seq=1)
vector("echo-to-nobody", AFTR, reply(PING, unreachable(PING), "tunnel-destination"))
requirement("8.1", MUST, "Another message goes where the source port of the packet that it quotes belongs, or is discarded.")
ABOUT = ip4(SHARED, SERVER, 50) / udp(PORT, 80) / data()
ABOUT_ECHO = ip4(SHARED, SERVER, 50) / ICMP(type=8, id=OTHERS_PORT, seq=1)
for name, b4, error in (("udp", B4A, ICMP(type=3, code=1) / quote(ABOUT)),
                        ("echo", B4B, ICMP(type=11, code=0) / quote(ABOUT_ECHO)),
                        ("path-mtu", B4A, ICMP(type=3, code=4, nexthopmtu=1400) / quote(ABOUT))):
    vector(f"error-about-{name}", AFTR, enters(
        ip4("198.51.100.77", SHARED) / error, over6(BR6, b4) / ip4("198.51.100.77", SHARED, 63) / error))
vector("error-about-nobodys-packet", AFTR, drop(
    ip4("198.51.100.77", SHARED) / ICMP(type=3, code=1) / quote(ip4(SHARED, SERVER, 50) / udp(PORT + 8, 80) / data()), "icmp-inner"))
requirement("8.1", MUST, "All other messages that come in are discarded.")
for kind, address in ((13, SHARED), (14, WHOLE4)):
    vector(f"timestamp-{kind}", AFTR, drop(ip4(SERVER, address) / Query(type=kind, id=PORT) / data(12), "icmp-untranslatable"))
requirement("8.1", SHOULD, "Whether ICMP comes in at all can be configured.")
vector("no-echo", SILENT, drop(ip4(SERVER, SHARED) / ICMP(type=8, id=PORT, seq=1), "filtered"))
vector("no-errors", SILENT, drop(ip4("198.51.100.77", SHARED) / ICMP(type=3, code=1) / quote(ABOUT), "filtered"))
vector("no-icmp-but-packets", SILENT, down)
requirement("6.2", MUST, "An error from a lwB4 has a source and quotes a packet that are its own.")
BACK = ip4(SERVER, SHARED, 50) / udp(80, PORT) / data()
vector("error-from-a-lwb4", AFTR, leaves(
    over6(B4A, BR6) / ip4(SHARED, SERVER) / ICMP(type=3, code=3) / quote(BACK), ip4(SHARED, SERVER, 63) / ICMP(type=3, code=3) / quote(BACK)))
vector("error-from-a-foreign-source", AFTR, drop(
    over6(B4A, BR6) / ip4("192.0.2.19", SERVER) / ICMP(type=3, code=3) / quote(BACK), "tunnel-spoofed"))
vector("error-about-anothers-packet", AFTR, drop(
    over6(B4A, BR6) / ip4(SHARED, SERVER) / ICMP(type=3, code=3) / quote(ip4(SERVER, SHARED, 50) / udp(80, OTHERS_PORT) / data()), "icmp-inner"))
SENT = ip4(SERVER, SHARED, 63) / udp(80, PORT) / data()
vector("lwaftr-unreachable-inside", AFTR, told(
    inside6(ICMPv6DestUnreach(code=0), over6(BR6, B4A) / SENT, dst=BR6), error4(ICMP(type=3, code=1), SENT)))
WRONG = ip4(SERVER, SHARED, 63) / udp(80, OTHERS_PORT) / data()
vector("lwaftr-about-a-packet-not-sent", AFTR, drop(
    inside6(ICMPv6DestUnreach(code=0), over6(BR6, B4A) / WRONG, dst=BR6), "icmp-inner"))

requirement("5.1", MUST, "When address or port set of the lwB4 change, its NAT forgets all.",
            status="no: a reload keeps the sessions that are there until they expire, if the sizes of tables stay; a restart forgets them")
requirement("5.1", MUST, "The lwB4 is provisioned dynamically.", status="operator: a DHCPv6 client writes the keys; `isthmus addr dhcpv6` reads the options of RFC 7598")
requirement("5.1", SHOULD, "Port sets have no offset, and system ports are given to nobody.", status="operator: `psid-offset`, 6 by default, which leaves them out")
requirement("5.1", MUST, "An error that says that the source is not bound is taken from the lwAFTR only.",
            status="yes: it is not taken from anybody: nothing is provisioned by it")
requirement("5.2", MUST, "A packet that is not for the lwB4's address and ports is dropped.", see=["rfc7597-8.1-anothers-port", "rfc7597-8.1-anothers-address"])
requirement("5.2.1", MUST, "The NAT of the lwB4 does what RFC 4787, RFC 5382 and RFC 5508 say.", see=[
    "rfc4787-4.1-same-mapping-for-all", "rfc5382-4.2-handshake-data-close", "rfc5508-3.1-echo"])
requirement("5.2.1", MUST, "DCCP is treated as RFC 5597 says, where it is supported.", status="yes: it is not supported")
requirement("8.2", SHOULD, "The lwB4 gives a query an identifier of its port set.", see=["rfc7597-8.1-echo-out-and-back"])
requirement("9", MUST, "The lwAFTR limits the rate of its ICMPv6 errors.", see=["rfc7915-5.4-errors-one-per-second"])
