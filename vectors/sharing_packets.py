"""The domain and the packets of the vectors of shared IPv4 addresses.

The mapping rule and the customer are those of RFC 7597 appendix A, example 1: the customer who was
delegated 2001:db8:12:3400::/56 has PSID 0x34 of 192.0.2.18, with ports from 1232 to 1235 and so on.
"""

from configurations import BOUNDS, OWN, configuration
from packets import *
from table import Output, Step
from tunnel_packets import enters, inside6, leaves, told

RULE = 'rules = [{ v6 = "2001:db8::/40", v4 = "192.0.2.0/24", ea-bits = 16 }]\n'
#: The BR, the customer and its address, another customer (PSID 0x35), a server.
BR6, CE6, SHARED = "2001:db8:ffff::1", "2001:db8:12:3400:0:c000:212:34", "192.0.2.18"
OTHER6 = "2001:db8:12:3500:0:c000:212:35"
SERVER, HOST = "1.2.3.4", "192.168.1.10"
#: Ports of the customer, and one of the other customer.
PORT, PORTS, OTHERS_PORT = 1232, (1232, 64723), 1236
#: The server under the default mapping rule of RFC 7599 appendix A.
DMR, SERVER6 = "2001:db8:ffff::/64", "2001:db8:ffff:0:1:203:400:0"
OWN6 = OWN.replace("2001:db8:ffff::1", "2001:db8:eeee::1")


def port(name, differs=()):
    """A port of the customer that the NAT allocates, and its pair."""
    return Choice(name, *PORTS, differs=differs)


def over6(src, dst, hlim=64, **fields):
    """An IPv6 header around an IPv4 packet."""
    return IPv6(src=src, dst=dst, hlim=hlim, nh=4, **fields)


def atomic6(src, dst):
    """The same with a fragment header round the whole packet (RFC 6946)."""
    return IPv6(src=src, dst=dst, hlim=64) / IPv6ExtHdrFragment(nh=4, id=7)


MAP_E_BR = configuration("map-e-br", f'mechanism = "map-e"\nrole = "br"\nlocal = "{BR6}"\n{RULE}{OWN6}')
EDGE = f'end-user-prefix = "2001:db8:12:3400::/56"\ninside = ["192.168.0.0/16"]\n{OWN6}{BOUNDS}'
MAP_E_CE = configuration("map-e-ce", f'mechanism = "map-e"\nrole = "ce"\nbr = "{BR6}"\n{RULE}{EDGE}')
MAP_E_MESH = configuration("map-e-mesh", f'mechanism = "map-e"\nrole = "ce"\nbr = "{BR6}"\nmesh = true\n{RULE}{EDGE}')
MAP_T_BR = configuration("map-t-br", f'mechanism = "map-t"\nrole = "br"\nprefix = "{DMR}"\n{RULE}{OWN6}')
MAP_T_CE = configuration("map-t-ce", f'mechanism = "map-t"\nrole = "ce"\nprefix = "{DMR}"\n{RULE}{EDGE}')
MAP_T_MESH = configuration("map-t-mesh", f'mechanism = "map-t"\nrole = "ce"\nprefix = "{DMR}"\nmesh = true\n{RULE}{EDGE}')
