"""The hosts and packets of the vectors of a NAT within IPv4."""

from configurations import BOUNDS, OWN, configuration
from packets import *
from table import Output, Step

#: Hosts inside, servers outside, the address that stands for the former.
I, J = "192.168.0.10", "192.168.0.11"
S, S2 = "198.51.100.1", "198.51.100.2"
OUT = "203.0.113.1"


def nat44(label="nat44", pool=((OUT, "1024-65535"),), more="", bounds=BOUNDS, link=""):
    """A NAT within IPv4 with one outside address."""
    rows = "".join(f'  {{ addresses = "{a}", ports = "{p}" }},\n' for a, p in pool)
    own = OWN.replace('icmp-source-v6 = "2001:db8:ffff::1"\n', "")
    head = f'mechanism = "nat44"\ninside = ["192.168.0.0/16"]\n{own}{bounds}pool = [\n{rows}]\n'
    return configuration(label, f"{head}{more}", link)


NAT44 = nat44()
STATIC = nat44("nat44-static", more='static = [\n'
               '  { protocol = "udp", inside = "192.168.0.10:53", outside = "203.0.113.1:5353" },\n'
               '  { protocol = "tcp", inside = "192.168.0.10:80", outside = "203.0.113.1:8080" },\n]\n')


def go(host=I, server=S, ttl=64, **fields):
    """From an inside host to a server."""
    return ip4(host, server, ttl, **fields)


def gone(server=S, source=OUT, ttl=63, **fields):
    """The same behind the NAT. Everything but addresses and TTL is as it was."""
    return ip4(source, server, ttl, **fields)


def come(server=S, destination=OUT, ttl=64, **fields):
    """From a server to the NAT."""
    return ip4(server, destination, ttl, **fields)


def came(server=S, host=I, ttl=63, **fields):
    """The same behind the NAT."""
    return ip4(server, host, ttl, **fields)


def through(packet, *outputs, at=None, counters=None, any_order=False):
    """A packet that becomes these, each translated once unless `counters` says otherwise."""
    outputs = [o if isinstance(o, Output) else Output(o) for o in outputs]
    return Step(packet, outputs, counters or {"translated-4to4": len(outputs)}, at, any_order)


def turned(packet, output, at=None):
    """A packet from one inside host to another by way of the NAT."""
    return Step(packet, [Output(output)], {"translated-4to4": 1, "hairpinned": 1}, at)


def port(name, parity="even", low=1024, high=65535, differs=()):
    """A port that the NAT allocates."""
    return Choice(name, low, high, parity=parity, differs=differs)


def identifier(name, differs=()):
    """An ICMP identifier that the NAT allocates."""
    return Choice(name, differs=differs)
