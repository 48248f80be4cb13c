"""RFC 3927: IPv4 addresses of a link, which stay on it."""

from nat44_packets import NAT44, come, go
from nat64_packets import PREFIX, in4, mapped, out6
from configurations import nat64, siit
from sharing_packets import BR6, CE6, MAP_E_BR, MAP_T_BR, PORT, SERVER, SHARED, over6
from tunnel_packets import four_in_six, in4 as out_of_tunnel, from6, out4 as into_tunnel
from packets import *
from table import *

rfc(3927)
SIIT, NAT64, T = siit(), nat64(prefix=PREFIX), four_in_six()
FIRST, LAST = "169.254.0.1", "169.254.255.254"
requirement("2.7", MUST, "A packet from 169.254/16 is not forwarded, whatever its TTL: not translated...")
for name, address in [("first", FIRST), ("last", LAST)]:
    vector(f"from-{name}-4to6", SIIT, drop(ip4(address) / udp() / data(), "illegal-source"))
vector("from-6to4", SIIT, drop(ip6("2001:db8:1a9:fe00:1::") / udp() / data(), "illegal-source"))
vector("from-to-nat64", NAT64, drop(in4(FIRST) / udp() / data(), "illegal-source"))
vector("from-to-nat44", NAT44, drop(come(FIRST) / udp() / data(), "illegal-source"))
vector("from-to-map-t", MAP_T_BR, drop(ip4(FIRST, SHARED) / udp(80, PORT) / data(), "illegal-source"))
requirement("2.7", MUST, "... nor tunnelled...")
vector("from-to-map-e", MAP_E_BR, drop(ip4(FIRST, SHARED) / udp(80, PORT) / data(), "illegal-source"))
vector("from-into-4in6", T, drop(into_tunnel(src=FIRST) / udp() / data(), "illegal-source"))
vector("from-out-of-4in6", T, drop(from6() / out_of_tunnel(src=FIRST) / udp() / data(), "illegal-source"))
requirement("2.7", MUST, "... nor is a packet to it.")
vector("to-6to4", SIIT, drop(ip6(dst="2001:db8:1a9:fe00:1::") / udp() / data(), "illegal-destination"))
vector("to-from-nat64", NAT64, drop(out6(server=LAST) / udp() / data(), "illegal-destination"))
vector("to-under-the-well-known-prefix", nat64("nat64-well-known"), drop(ip6("2001:db8::1", "64:ff9b::169.254.1.1") / udp() / data(), "illegal-destination"))
vector("to-from-nat44", NAT44, ignored(go(server=FIRST) / udp() / data()))
vector("to-from-map-t", MAP_T_BR, drop(
    ip6(CE6, "2001:db8:ffff:0:a9:fe00:100:0") / udp(PORT, 80) / data(), "illegal-destination"))
vector("to-from-map-e", MAP_E_BR, drop(over6(CE6, BR6) / ip4(SHARED, FIRST) / udp(PORT, 80) / data(), "illegal-destination"))
vector("to-out-of-4in6", T, drop(from6() / out_of_tunnel(dst=FIRST) / udp() / data(), "illegal-destination"))
requirement("2.7", MUST, "An ICMP error of a router that has such an address only...",
            status="partly: it is translated, because RFC 7915 section 4.1 wants illegal sources of errors kept, for trouble shooting; "
            "no IPv4 packet from 169.254/16 is sent")
