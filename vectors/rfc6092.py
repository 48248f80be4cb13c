"""RFC 6092: what a CE does for the security of the IPv6 network behind it, where it is a tunnel endpoint.

Isthmus is no packet filter: the section calls this the transparent mode. The kernel filters what it forwards.
"""

from tunnel_packets import *
from table import *

rfc(6092)
FILTER = "no: Isthmus keeps no state of IPv6 flows; nftables does, for what the kernel forwards to and from the gateway's link"
CE = configuration("6rd-ce-of-a-home", 'mechanism = "6rd"\nrole = "ce"\nlocal = "10.100.100.1"\nbr = "10.0.0.1"\nprefix = "2001:db8::/32"\n'
                   f'v4-prefix = "10.0.0.0/8"\n{OWN}')
HOME, WORLD, BORDER = "2001:db8:6464:100::5", "2606:4700::1111", "10.0.0.1"
down = lambda src=WORLD, dst=HOME: from4(BORDER, "10.100.100.1") / ip6(src, dst) / udp() / data()
requirement("3.1", MUST, "REC-1: packets from multicast addresses are not forwarded, in either direction.")
vector("from-multicast", CE, drop(down("ff0e::1"), "illegal-source"))
vector("from-multicast-out", CE, drop(ip6("ff0e::1", WORLD) / udp() / data(), "illegal-source"))
requirement("3.1", MUST, "REC-2: packets to multicast addresses up to the scope of the boundary are not forwarded; here of any scope.")
vector("to-multicast", CE, drop(down(dst="ff0e::1"), "loop"))
vector("to-multicast-out", CE, ignored(ip6(HOME, "ff0e::1") / udp() / data()))
requirement("3.1", MUST, "REC-3: packets with addresses that are forbidden on the internet are not forwarded.",
            status="partly: loopback, unspecified, link-local and multicast addresses are refused by all tunnels, site-local, compatible and "
                   "mapped ones by 6to4 (RFC 3964); documentation prefixes and ORCHIDs by none")
requirement("3.1", MUST, "REC-4: packets with a routing header of type 0 are not forwarded.",
            status="no: a tunnel does not look behind the header of what it carries; translated packets with segments left are "
                   "refused, whatever the type (RFC 7915 section 5.1)")
requirement("3.1", MUST, "REC-5: nothing leaves from addresses that are not the interior network's.",
            status="partly: 6to4 checks it (RFC 3964 section 5.1); for other tunnels it is the kernel's `rp_filter` or nftables")
requirement("3.1", MUST, "REC-6: nothing comes in from addresses of the interior network.")
vector("own-address-from-a-customer", CE, drop(from4("10.9.9.9", "10.100.100.1") / ip6(HOME, HOME) / udp() / data(), "tunnel-spoofed"))
vector("own-address-from-the-border", CE, drop(down(HOME), "tunnel-spoofed"))
requirement("3.1", SHOULD, "REC-7: unique local addresses stay inside.", status="operator: by nftables; a tunnel between two sites may carry them")
requirement("3.1", MUST, "REC-8: the DNS64 does not answer the outside by default.", status="yes: it answers those in `allow` (RFC 5358)")
requirement("3.1", MUST, "REC-9: DHCPv6 from outside is not processed.", status="yes: there is no DHCPv6 server")
requirement("3.2", SHOULD, "REC-10: errors without a flow are not forwarded.", status=FILTER)
requirement("3.2.2", MUST, "REC-11, REC-12, REC-14 to REC-17: filters, timers and refreshes of generic and UDP flows.", status=FILTER)
requirement("3.2.2", MUST, "REC-18, REC-19, REC-36, REC-37: ICMPv6 errors about flows are forwarded, and end none.")
ERROR = ICMPv6PacketTooBig(mtu=1280) / quote(ip6(HOME, WORLD) / udp() / data())
vector("error-comes-in", CE, leaves(from4(BORDER, "10.100.100.1") / ip6(WORLD, HOME) / ERROR, ip6(WORLD, HOME, 63) / ERROR))
requirement("3.2.4", MUST, "REC-20 to REC-30, REC-38 to REC-47: UDP-Lite, AH, ESP, key exchange, mobility, SCTP, DCCP and shim6 are not prohibited.")
for number, name in [(136, "udplite"), (51, "ah"), (50, "esp"), (135, "mobility"), (132, "sctp"), (33, "dccp"), (140, "shim6")]:
    vector(f"{name}-comes-in", CE, leaves(from4(BORDER, "10.100.100.1") / ip6(WORLD, HOME, nh=number) / data(24), ip6(WORLD, HOME, 63, nh=number) / data(24)))
requirement("3.3.1", MUST, "REC-31, REC-32: all valid sequences of TCP segments are forwarded, whatever the window.")
vector("simultaneous-open", CE,
       enters(ip6(HOME, WORLD) / tcp("S"), outer4("10.100.100.1", BORDER, df=False) / ip6(HOME, WORLD, 63) / tcp("S")),
       leaves(from4(BORDER, "10.100.100.1") / ip6(WORLD, HOME) / tcp("S", 80, 40000), ip6(WORLD, HOME, 63) / tcp("S", 80, 40000)))
requirement("3.3.1", MUST, "REC-33 to REC-35, REC-39, REC-40: filters, answers to unsolicited segments, and timers.", status=FILTER)
requirement("3.4", SHOULD, "REC-48: applications may ask for inbound flows.", status="no: nothing is closed that could be opened")
requirement("3.5", MUST, "REC-49: there is a transparent mode.", status="yes: it is the only one")
requirement("3.5", MUST, "REC-50: no management from outside.", status="yes: the control socket is local, and metrics listen where `[metrics]` says")
requirement("3.1", SHOULD, "REC-13: firmware can be updated.", status="operator: it is a package")
