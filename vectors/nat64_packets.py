"""The hosts and packets of the vectors of a stateful translator."""

from packets import *
from table import Step

PREFIX = "2001:db8:64:ff9b::/96"
#: IPv6 hosts: A and A2 are one subscriber, B and C are others.
A, A2, B, C = "2001:db8:1:a::1", "2001:db8:1:a::2", "2001:db8:1:b::1", "2001:db8:1:c::1"
#: IPv4 servers, and as the IPv6 hosts see them.
S, S2, S3 = "192.0.2.1", "192.0.2.2", "198.51.100.3"
OUT = "203.0.113.1"


def mapped(v4):
    """The IPv6 representation of an IPv4 address."""
    return f"2001:db8:64:ff9b::{v4}"


def out6(host=A, server=S, hlim=64, **fields):
    """From an IPv6 host to a server."""
    return ip6(host, mapped(server), hlim, **fields)


def out4(server=S, source=OUT, ttl=63, **fields):
    """The same behind the translator."""
    return to4(source, server, ttl, **fields)


def in4(server=S, destination=OUT, ttl=64, **fields):
    """From a server to the translator."""
    return ip4(server, destination, ttl, **fields)


def in6(server=S, host=A, hlim=63, **fields):
    """The same behind the translator."""
    return ip6(mapped(server), host, hlim, **fields)


def port(name, parity="even", low=1024, high=65535, differs=()):
    """A port that the translator allocates."""
    return Choice(name, low, high, parity=parity, differs=differs)


def identifier(name, differs=()):
    """An ICMP identifier that the translator allocates."""
    return Choice(name, differs=differs)


def no_binding(dport, sport=53, at=None):
    """A packet from a server to a port that nobody has; an error may be sent."""
    lost = in4() / udp(sport, dport)
    may = Output(error4(ICMP(type=3, code=0), in4() / udp(0, 0)).packet, [*OWN4, (20, 36)], optional=True)
    return Step(lost, [may], {"no-binding": 1}, at)
