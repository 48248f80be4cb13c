"""The ends and packets of the vectors of tunnels."""

from configurations import OWN, configuration
from packets import *
from table import Output, Step, reply

#: This end and the other end, over IPv4 and over IPv6; a stranger of each family.
HERE4, THERE4, STRANGER4 = "192.0.2.1", "198.51.100.1", "198.51.100.99"
HERE6, THERE6, STRANGER6 = "2001:db8::1", "2001:db8:ff::1", "2001:db8:bad::1"
#: A host on this side, one behind the other end.
NEAR6, FAR6 = "2001:db8:a::10", "2001:db8:b::20"
NEAR4, FAR4 = "203.0.113.10", "203.0.113.200"


def six_in_four(label="6in4", more="", link=""):
    """A configured tunnel that carries IPv6."""
    head = f'mechanism = "6in4"\nlocal = "{HERE4}"\nremote = "{THERE4}"\nnetworks = ["2001:db8:b::/48"]\n'
    return configuration(label, f"{head}{OWN}{more}", link)


def four_in_six(label="4in6", more="", link=""):
    """A configured tunnel that carries IPv4."""
    head = f'mechanism = "4in6"\nlocal = "{HERE6}"\nremote = "{THERE6}"\nnetworks = ["203.0.113.128/25"]\n'
    return configuration(label, f"{head}{OWN}{more}", link)


def outer4(src=HERE4, dst=THERE4, ttl=64, df=True, **fields):
    """The header of a tunnel over IPv4 as this end writes it: protocol 41."""
    fields.setdefault("id", any_id())
    return IP(src=src, dst=dst, ttl=ttl, proto=41, flags="DF" if df else 0, **fields)


def from4(src=THERE4, dst=HERE4, ttl=60, **fields):
    """The same as the other end writes it."""
    return IP(src=src, dst=dst, ttl=ttl, proto=41, **fields)


def outer6(src=HERE6, dst=THERE6, hlim=64, **fields):
    """The header of a tunnel over IPv6 as this end writes it: next header 4."""
    return IPv6(src=src, dst=dst, hlim=hlim, nh=4, **fields)


def from6(src=THERE6, dst=HERE6, hlim=60, **fields):
    """The same as the other end writes it."""
    return IPv6(src=src, dst=dst, hlim=hlim, **fields)


def inside6(message, sent, length=1280 - 48, src="2001:db8:cc::1", dst=HERE6):
    """An error of a router inside a tunnel over IPv6 about a packet that this end sent."""
    return ip6(src, dst) / message / quote(sent, length)


def inside4(message, sent, length=576 - 28, src="192.0.2.250", dst=HERE4):
    """The same over IPv4, where a router may quote 8 bytes behind the header only (RFC 792)."""
    return ip4(src, dst) / message / quote(sent, length)


def told(packet, error):
    """Such an error, and what the sender of the inner packet is told."""
    return reply(packet, error, "tunnel-error")


def out6(hlim=64, src=NEAR6, dst=FAR6, **fields):
    """An IPv6 packet to behind the tunnel."""
    return ip6(src, dst, hlim, **fields)


def in6(hlim=64, src=FAR6, dst=NEAR6, **fields):
    """An IPv6 packet from behind the tunnel."""
    return ip6(src, dst, hlim, **fields)


def out4(ttl=64, src=NEAR4, dst=FAR4, **fields):
    """An IPv4 packet to behind the tunnel."""
    return ip4(src, dst, ttl, **fields)


def in4(ttl=64, src=FAR4, dst=NEAR4, **fields):
    """An IPv4 packet from behind the tunnel."""
    return ip4(src, dst, ttl, **fields)


def enters(packet, *outputs, at=None, any_order=False, **more):
    """A packet that goes into the tunnel; `more` counters happen beside."""
    outputs = [o if isinstance(o, Output) else Output(o) for o in outputs]
    counter = "encapsulated-6in4" if bytes(packet)[0] >> 4 == 6 else "encapsulated-4in6"
    return Step(packet, outputs, {counter: 1, **more}, at, any_order)


def leaves(packet, *outputs, at=None, any_order=False, **more):
    """A packet that comes out of the tunnel."""
    outputs = [o if isinstance(o, Output) else Output(o) for o in outputs]
    counter = "decapsulated-6in4" if bytes(packet)[0] >> 4 == 4 else "decapsulated-4in6"
    return Step(packet, outputs, {counter: 1, **more}, at, any_order)
