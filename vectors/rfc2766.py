"""RFC 2766: NAT-PT, which RFC 4966 has moved to history."""

from configurations import BOUNDS, OWN, configuration
from nat64_packets import *
from table import *

rfc(2766)


def nat_pt(label, variant="basic", pool='{ addresses = "203.0.113.1" }', more=""):
    """A translator of the hosts A, A2 and B, not of C."""
    return configuration(label, f'mechanism = "nat-pt"\nvariant = "{variant}"\nprefix = "{PREFIX}"\n'
                         f'inside = ["2001:db8:1:a::/64", "2001:db8:1:b::/64"]\n{OWN}{BOUNDS}pool = [{pool}]\n{more}')


BASIC = nat_pt("nat-pt")
FILTERS = nat_pt("nat-pt-filters", more='filtering = "address-dependent"\n')
MAPPED = nat_pt("nat-pt-mapped", pool='{ addresses = "203.0.113.0/30" }',
                more=f'eam = [{{ v4 = "{OUT}", v6 = "{A}" }}, {{ v4 = "203.0.113.2", v6 = "{B}" }}]\n')
NAPT = nat_pt("napt-pt", "napt", pool='{ addresses = "203.0.113.1", ports = "1024-65535" }')
first = send(out6() / udp() / data(), out4() / udp() / data())
stranger = in4(S2) / udp(9, 9) / data()

requirement("3.1", MUST, "The first packet of an IPv6 host gets an address of the pool; the ports stay as they are.")
vector("basic", BASIC, first, send(in4() / udp(53, 40000) / data(), in6() / udp(53, 40000) / data()),
       counters={"binding-created": 1, "session-created": 1})
requirement("3.1", MUST, "As long as there are sessions, the host keeps the address, for all that it sends.")
vector("basic-all-that-it-sends", BASIC, first,
       send(out6() / udp(7, 8) / data(), out4() / udp(7, 8) / data()),
       send(out6(server=S2) / tcp("S"), out4(S2) / tcp("S")),
       send(out6() / ICMPv6EchoRequest(id=7, seq=1, data=b"ping"), out4() / ICMP(type=8, id=7, seq=1) / Raw(b"ping")),
       send(out6(nh=50) / data(), out4(proto=50) / data()),
       counters={"binding-created": 1, "session-created": 2})
requirement("3.1", MUST, "Another host gets another address; when there are none left, its sessions are refused.")
full = out6(B) / udp() / data()
vector("basic-no-address-left", BASIC, first, reply(full, error6(ICMPv6DestUnreach(code=3), full), "pool-exhausted"))
second = out6(A2) / udp() / data()
vector("basic-no-address-left-in-the-same-subnet", BASIC, first,
       reply(second, error6(ICMPv6DestUnreach(code=3), second), "pool-exhausted"))
requirement("3.1", MUST, "A packet to an address that no host has is dropped.")
vector("basic-no-host", BASIC, drop(in4() / udp(53, 40000) / data(), "no-binding"))
requirement("2.2.1", MUST, "Traditional NAT-PT: sessions begin inside. Only those may answer that a host has sent to, if `filtering` says so.")
vector("basic-traditional", FILTERS, first, drop(stranger, "filtered", may=Output(
    error4(ICMP(type=3, code=13), stranger).packet, [(0, 56)], shortest=56)),
       send(in4() / udp(9, 9) / data(), in6() / udp(9, 9) / data()))
requirement("2.2.2", MUST, "Bi-directional NAT-PT: hosts of both sides begin sessions with a host that has an address.")
vector("basic-both-directions", BASIC, first, send(stranger, in6(S2) / udp(9, 9) / data()),
       send(in4(S3) / tcp("S", 1, 80), in6(S3) / tcp("S", 1, 80)),
       send(in4(S3) / ICMP(type=8, id=3, seq=1) / Raw(b"ping"), in6(S3) / ICMPv6EchoRequest(id=3, seq=1, data=b"ping")))
requirement("4.2", MUST, "A host may have the same address always, as the DNS server inside needs.")
vector("basic-mapped", MAPPED, send(stranger, in6(S2) / udp(9, 9) / data()),
       send(out6(B) / udp() / data(), out4(source="203.0.113.2") / udp() / data()), counters={"session-created": 1})
requirement("3.1", MUST, "Hosts that are not inside get no address.")
vector("basic-not-inside", BASIC, drop(out6(C) / udp() / data(), "not-inside"))
requirement("4", SHOULD, "The address is free again after a while without packets: here 240 seconds without an answer, 7,680 with one.")
answer = in4() / udp(53, 40000) / data()
answered = in6() / udp(53, 40000) / data()
vector("basic-alive-after-239-seconds", BASIC, send(out6() / udp() / data(), out4() / udp() / data(), at=0), send(answer, answered, at=239))
vector("basic-gone-after-241-seconds", BASIC, send(out6() / udp() / data(), out4() / udp() / data(), at=0), drop(answer, "no-binding", at=241))
vector("basic-alive-after-two-hours", BASIC, send(out6() / udp() / data(), out4() / udp() / data(), at=0), send(answer, answered, at=1),
       send(answer, answered, at=7400), send(answer, answered, at=14800))
vector("basic-gone-after-more", BASIC, send(out6() / udp() / data(), out4() / udp() / data(), at=0), send(answer, answered, at=1),
       drop(answer, "no-binding", at=7700))
requirement("5", MUST, "Headers are translated as SIIT says: today that is RFC 7915. Each fragment is translated by itself.")
long = ip4(S, OUT, id=7) / udp(53, 40000) / data(1200)
whole = ip6(mapped(S), A, hlim=63) / udp(53, 40000) / data(1200)
vector("basic-fragments", BASIC, first,
       *[send(fragment4(long, *span), fragment6(whole, *span, 7)) for span in [(600, None), (0, 600)]])
requirement("5", MUST, "ICMP errors are translated in both directions, with the packet that they quote.")
sent6, sent4 = out6() / udp() / data(), out4(ttl=63, id=0) / udp() / data()
vector("basic-error-from-outside", BASIC, first,
       send(in4("198.51.100.9") / ICMP(type=11) / quote(ip4(OUT, S, 1) / udp() / data()),
            in6("198.51.100.9") / ICMPv6TimeExceeded(code=0) / quote(out6(hlim=1) / udp() / data())))
requirement("3.2", MUST, "NAPT-PT translates ports as well, so that hosts share an address: see RFC 6146, which says the same of TCP, UDP and ICMP.")
p = port("p")
q = port("q", differs=[p])
vector("napt", NAPT, send(out6() / udp() / data(), out4() / udp(p) / data()),
       send(out6(B) / udp() / data(), out4() / udp(q) / data()),
       send(in4() / udp(53, q) / data(), in6(host=B) / udp(53, 40000) / data()))
refused("basic-with-ports", nat_pt("nat-pt-ports", more="pooling = \"soft\"\n"), "is about ports")

# The DNS gateway. D is the name server inside, which has an address always; S is one outside.
D, D4 = B, "203.0.113.2"
WITH_DNS = nat_pt("nat-pt-dns", pool='{ addresses = "203.0.113.1" }, { addresses = "203.0.113.2" }',
                  more=f'alg = ["dns"]\neam = [{{ v4 = "{D4}", v6 = "{D}" }}]\n')
NAME, A_, AAAA_, PTR_ = "host.example", 1, 28, 12


def wire(name):
    """A name as RFC 1035 section 3.1 has it."""
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def dns(flags, kind, *records, name=NAME, id=0x4321):
    """A message with one question; records are of the same name: a type, a TTL, data."""
    def number(*values):
        return b"".join(value.to_bytes(2, "big") for value in values)
    body = wire(name) + number(kind, 1)
    for of, ttl, rdata in records:
        body += number(0xC00C, of, 1) + ttl.to_bytes(4, "big") + number(len(rdata)) + rdata
    return Raw(number(id, flags, 1, len(records), 0, 0) + body)


def a(address):
    return bytes(map(int, address.split(".")))


def aaaa(address):
    import ipaddress
    return ipaddress.IPv6Address(address).packed


def arpa(address):
    import ipaddress
    return ipaddress.ip_address(address).reverse_pointer


ASK, TOLD = 0x0100, 0x8180
asks4, asks6 = in4(destination=D4) / udp(40000, 53), in6(host=D) / udp(40000, 53)
tells6 = out6(D) / udp(53, 40000)


def tells4(payload):
    return out4(source=D4) / udp(53, 40000) / payload


def lookup4(payload):
    return out4(source=D4) / udp(40000, 53) / payload


requirement("4.1", MUST, "A question from outside for A goes in as one for AAAA; the host in the answer gets an address, which goes out as A.")
requirement("4.1", SHOULD, "The TTL is 0, because the host may lose the address.")
asked = send(asks4 / dns(ASK, A_), asks6 / dns(ASK, AAAA_))
told = send(tells6 / dns(TOLD, AAAA_, (AAAA_, 3600, aaaa(A))), tells4(dns(TOLD, A_, (A_, 0, a(OUT)))))
vector("dns-from-outside", WITH_DNS, asked, told, send(in4() / tcp("S", 1, 80), in6() / tcp("S", 1, 80)),
       counters={"binding-created": 1, "session-created": 2})
requirement("4.1", SHOULD, "The TTL of a host that has its address always is left.")
vector("dns-from-outside-of-a-mapped-host", WITH_DNS, asked,
       send(tells6 / dns(TOLD, AAAA_, (AAAA_, 3600, aaaa(D))), tells4(dns(TOLD, A_, (A_, 3600, a(D4))))))
requirement("4.1", SHOULD, "An address that was given for a question, and that nobody uses, is free again soon: here after 240 seconds.")
vector("dns-from-outside-times-out", WITH_DNS,
       send(asks4 / dns(ASK, A_), asks6 / dns(ASK, AAAA_), at=0),
       send(tells6 / dns(TOLD, AAAA_, (AAAA_, 3600, aaaa(A))), tells4(dns(TOLD, A_, (A_, 0, a(OUT)))), at=1),
       drop(in4() / tcp("S", 1, 80), "no-binding", at=242))
requirement("4.1", MUST, "A host that gets no address is not in the answer: all are taken, or it is not inside.")
vector("dns-from-outside-not-inside", WITH_DNS, asked,
       send(tells6 / dns(TOLD, AAAA_, (AAAA_, 3600, aaaa(C))), tells4(dns(TOLD, A_))))
vector("dns-from-outside-no-address-left", WITH_DNS, send(out6(A) / udp() / data(), out4() / udp() / data()), asked,
       send(tells6 / dns(TOLD, AAAA_, (AAAA_, 3600, aaaa(A2))), tells4(dns(TOLD, A_))))
requirement("4.1", MUST, "A question from outside for the name of an address goes in as one about the host that has the address.")
vector("dns-reverse-from-outside", WITH_DNS, send(out6(A) / udp() / data(), out4() / udp() / data()),
       send(asks4 / dns(ASK, PTR_, name=arpa(OUT)), asks6 / dns(ASK, PTR_, name=arpa(A))),
       send(tells6 / dns(TOLD, PTR_, (PTR_, 3600, wire(NAME)), name=arpa(A)),
            tells4(dns(TOLD, PTR_, (PTR_, 0, wire(NAME)), name=arpa(OUT)))))
lookup6 = out6(D) / udp(40000, 53)
heard4, heard6 = in4(destination=D4) / udp(53, 40000), in6(host=D) / udp(53, 40000)
requirement("4.2", MUST, "A question from inside for AAAA goes out as it is, and an answer with AAAA comes in as it is.")
vector("dns-from-inside-native", WITH_DNS, send(lookup6 / dns(ASK, AAAA_), lookup4(dns(ASK, AAAA_))),
       send(heard4 / dns(TOLD, AAAA_, (AAAA_, 60, aaaa("2001:db8:f::1"))), heard6 / dns(TOLD, AAAA_, (AAAA_, 60, aaaa("2001:db8:f::1")))))
requirement("4.2", MUST, "The A records of a host without AAAA become AAAA records under the prefix. Their TTL may stay.")
asked_again = Output(lookup4(dns(ASK, A_)))
vector("dns-from-inside", WITH_DNS, send(lookup6 / dns(ASK, AAAA_), lookup4(dns(ASK, AAAA_))),
       Step(heard4 / dns(TOLD, AAAA_), [asked_again], {"translated-4to6": 1, "translated-6to4": 1}),
       send(heard4 / dns(TOLD, A_, (A_, 60, a(S2))), heard6 / dns(TOLD, AAAA_, (AAAA_, 60, aaaa(mapped(S2))))))
requirement("4.2", MUST, "Questions of other types, and answers that nobody asked for, pass as they are.")
vector("dns-others", WITH_DNS, send(lookup6 / dns(ASK, 15), lookup4(dns(ASK, 15))),
       send(lookup6 / dns(ASK, A_), lookup4(dns(ASK, A_))),
       send(heard4 / dns(TOLD, A_, (A_, 60, a(S2))), heard6 / dns(TOLD, A_, (A_, 60, a(S2)))),
       send(lookup6 / data(), lookup4(data())))
requirement("4.2", MUST, "A question from inside for the name of an address under the prefix goes out as one about the IPv4 address.")
vector("dns-reverse-from-inside", WITH_DNS,
       send(lookup6 / dns(ASK, PTR_, name=arpa(mapped(S2))), lookup4(dns(ASK, PTR_, name=arpa(S2)))),
       send(heard4 / dns(TOLD, PTR_, (PTR_, 60, wire(NAME)), name=arpa(S2)),
            heard6 / dns(TOLD, PTR_, (PTR_, 0, wire(NAME)), name=arpa(mapped(S2)))))

requirement("3", SHOULD, "A packet that begins no session, and is of none, is dropped.",
            status="partly: from outside it is. Basic NAT-PT translates addresses, and each packet of a host may begin a session; "
            "NAPT-PT does as RFC 6146 section 3.5.2 says, by which a segment without SYN needs none")
requirement("4.1", SHOULD, "A6 records are followed through all of their answers.",
            status="no: RFC 6563 has moved A6 to history; these records pass as they are")
requirement("4.2", SHOULD, "All records that pass have a TTL of 0.",
            status="partly: those of addresses that may be lost; a native record, or one under the prefix, is true as long as it says")
requirement("5.3", SHOULD, "Checksums of TCP and UDP follow the addresses, and the ports in NAPT-PT.",
            see=["rfc2766-3.1-basic", "rfc2766-3.1-basic-all-that-it-sends", "rfc2766-3.2-napt"])
requirement("5.3.2", MUST, "A UDP packet without a checksum gets one; its fragments wait for each other.",
            see=["rfc6146-3.4-udp-without-checksum", "rfc6146-3.4-fragments-without-checksum-in-order"])
requirement("6", MAY, "The DNS gateway works over UDP; questions over TCP pass as they are, and so does the address in them.",
            status="no: RFC 2766 does not mention TCP; the name server of the other side answers with its own records")
