"""RFC 6219: IVI, the prefix of 32 bits with ff behind it."""

from configurations import siit
from packets import *
from table import *

rfc(6219)
IVI = siit("ivi", "2001:db8::/32", more='prefix-format = "ivi"\n')
H4_IVI, H6_IVI = "2001:db8:ffc6:3364:200::", "2001:db8:ffc0:2:2100::"

requirement("3.1", MUST, "An IVI address is the prefix of 32 bits, eight ones, the IPv4 address in bits 40 to 71, and zeros.")
vector("embed", IVI, send(ip4() / udp() / data(), to6(H4_IVI, H6_IVI) / udp() / data()))
vector("extract", IVI, send(ip6(H6_IVI, H4_IVI) / udp() / data(), to4() / udp() / data()))
vector("marker-octet-missing", IVI, ignored(ip6(H6_IVI, "2001:db8:c633:6402::") / udp() / data()))
requirement("3.3", MUST, "Headers are translated by the rules of SIIT, except for the addresses.")
vector("header", IVI, send(ip4(tos=0xb8, ttl=9) / tcp() / data(), to6(H4_IVI, H6_IVI, tc=0xb8, hlim=8) / tcp() / data()))
requirement("3.4", MUST, "The checksums of transport headers are recalculated.")
vector("checksum-tcp", IVI, send(ip6(H6_IVI, H4_IVI) / tcp() / data(), to4() / tcp() / data()))
vector("checksum-echo", IVI, send(
    ip6(H6_IVI, H4_IVI) / ICMPv6EchoRequest(id=1, seq=2), to4() / ICMP(type=8, id=1, seq=2)))
requirement("3.6", MUST, "ICMP from IPv6 addresses that are no IVI addresses gets a source from a small IPv4 block.")
inner = (ip6(H4_IVI, H6_IVI, 61) / udp() / data(), to4(H4, H6_V4, 61) / udp() / data())
vector("icmp-from-a-stranger", IVI, send(
    ip6("2001:db8:1::99", H4_IVI) / ICMPv6TimeExceeded(code=0) / quote(inner[0]),
    to4("192.0.0.8", H4) / ICMP(type=11, code=0) / quote(inner[1])))
requirement("4", MUST, "The IVI DNS server runs dual stack, and sources of IPv6 hosts are IVI addresses.",
            status="operator: addressing and DNS")
