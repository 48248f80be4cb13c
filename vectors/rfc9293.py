"""RFC 9293 section 3.7.1: the maximum segment size that a TCP SYN announces, with `mss-clamp`."""

from configurations import BOUNDS, OWN, configuration, siit
from nat64_packets import PREFIX, A, S, in4, in6, mapped, out4, out6, port
from packets import *
from table import *

rfc(9293)


def clamping(v4, v6):
    """A stateless translator between links of these MTUs."""
    return siit(f"siit-clamp-{v4}-{v6}", more='mss-clamp = "auto"\n', link=f"ipv4-mtu = {v4}\nipv6-mtu = {v6}")


EQUAL, NARROW_6, NARROW_4 = clamping(1500, 1500), clamping(1500, 1400), clamping(1300, 1500)
NAT64 = configuration("nat64-clamp", f'mechanism = "nat64"\nprefix = "{PREFIX}"\n{OWN}{BOUNDS}mss-clamp = "auto"\n'
                      'pool = [{ addresses = "203.0.113.1", ports = "1024-65535" }]\n', "ipv4-mtu = 1492\nipv6-mtu = 1400")


def mss(size, before=(), after=()):
    """Options with the one in question among others."""
    return [*before, ("MSS", size), *after]


def syn(size, flags="S", **around):
    return tcp(flags, options=mss(size, **around))


#: What Linux sends, with the option first; and what makes it begin at an odd offset.
LINUX = {"after": [("SAckOK", b""), ("Timestamp", (77, 0)), ("NOP", None), ("WScale", 7)]}
ODD = {"before": [("NOP", None)], "after": [("NOP", None), ("NOP", None), ("NOP", None)]}
LATE = {"before": [("WScale", 7), ("Timestamp", (77, 0))], "after": [("NOP", None), ("NOP", None), ("NOP", None)]}


def there(name, gateway, sent, left, tail=None):
    """A segment through a stateless translator in both directions."""
    more = data() if tail is None else tail
    vector(f"{name}-4to6", gateway, send(ip4() / sent / more, to6() / left / more))
    vector(f"{name}-6to4", gateway, send(ip6() / sent / more, to4() / left / more))


requirement("3.7.1", MUST, "A sender's segment fits the MTU less the IP and TCP headers: 40 bytes in IPv4, 60 in IPv6. A translator "
            "that clamps lowers the MSS option of a SYN to what fits both of its links.")
there("both-links-1500", EQUAL, syn(1460, **LINUX), syn(1440, **LINUX))
there("ipv6-narrower", NARROW_6, syn(1460, **LINUX), syn(1340, **LINUX))
there("ipv4-narrower", NARROW_4, syn(1440, **LINUX), syn(1260, **LINUX))
requirement("3.7.1", MUST, "The option is in every SYN, that of the answer too: a SYN-ACK is lowered as well.")
there("syn-ack", NARROW_6, syn(1460, "SA", **LINUX), syn(1340, "SA", **LINUX))
requirement("3.7.1", MUST, "What is announced is the most that may be sent: it is never raised.")
there("never-raised", NARROW_6, syn(536), syn(536))
there("just-fits", NARROW_6, syn(1340), syn(1340))
there("zero", NARROW_6, syn(0), syn(0))
requirement("3.7.1", MUST, "Without the option the size is 536 or 1220 bytes, which fits: none is added.")
there("absent", NARROW_6, tcp("S"), tcp("S"))
there("absent-among-others", NARROW_6, tcp("S", options=LINUX["after"]), tcp("S", options=LINUX["after"]))
requirement("3.1", MUST, "Options may begin at any byte.")
there("odd-offset", NARROW_6, syn(1460, **ODD), syn(1340, **ODD))
there("behind-others", NARROW_6, syn(1460, **LATE), syn(1340, **LATE))
there("last-without-payload", NARROW_6, syn(1460, before=ODD["after"] + ODD["before"]), syn(1340, before=ODD["after"] + ODD["before"]), b"")
requirement("3.2", MUST, "The option is for segments with SYN only.")
there("not-in-other-segments", NARROW_6, syn(1460, "A"), syn(1460, "A"))
requirement("3.2", MUST, "Malformed options do no harm: the segment is translated with its options as they are.")
for name, options in [("zero-length", b"\x08\x00\x02\x04\x05\xb4\x00\x00"), ("past-the-end", b"\x01\x01\x02\x04"),
                      ("wrong-length", b"\x02\x03\x05\xb4"), ("behind-the-end", b"\x00\x01\x01\x01\x02\x04\x05\xb4")]:
    raw = Raw(options + bytes(range(16)))
    there(f"malformed-{name}", NARROW_6, tcp("S", dataofs=5 + len(options) // 4), tcp("S", dataofs=5 + len(options) // 4), raw)
requirement("3.7.1", MUST, "Without `mss-clamp` options are left alone.")
there("off", siit(link="ipv4-mtu = 1300\nipv6-mtu = 1400", label="siit-narrow"), syn(1460, **LINUX), syn(1460, **LINUX))
requirement("3.7.1", MUST, "The same through a stateful translator, in both directions.")
p = port("p")
vector("stateful", NAT64,
       send(out6() / syn(1440, **LINUX), out4() / tcp("S", p, options=mss(1340, **LINUX))),
       send(in4() / tcp("SA", 80, p, options=mss(1460, **ODD)), in6() / tcp("SA", 80, 40000, options=mss(1340, **ODD))))
