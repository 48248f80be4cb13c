"""RFC 8200 and RFC 791: fragments that nobody can put together."""

from configurations import nat64, siit
from nat64_packets import PREFIX, in4, out6
from packets import *
from table import *

rfc(8200)
SIIT, NAT64 = siit(), nat64(prefix=PREFIX)
requirement("4.5", MUST, "A fragment with more behind it has a multiple of 8 bytes, else it is discarded. A translator does so at once: "
            "no reassembly can use it, and a fragment offset cannot tell what follows.")
ODD6 = IPv6ExtHdrFragment(nh=17, id=1, m=1) / Raw(bytes(udp() / data(101)))
vector("odd-first-fragment", SIIT, drop(ip6() / ODD6, "bad-fragment"))
vector("odd-middle-fragment", SIIT, drop(ip6() / IPv6ExtHdrFragment(nh=17, id=1, m=1, offset=8) / data(109), "bad-fragment"))
vector("odd-first-fragment-nat64", NAT64, drop(out6() / ODD6, "bad-fragment"))
vector("odd-first-fragment-4to6", SIIT, drop(ip4(flags="MF") / udp() / data(101), "bad-fragment"))
vector("odd-first-fragment-4to6-nat64", NAT64, drop(in4(flags="MF") / udp() / data(101), "bad-fragment"))
last = fragment6(ip6() / udp() / data(1001), 800, None, 0xbeef), fragment4(to4(id=0xbeef) / udp() / data(1001), 800)
vector("odd-last-fragment", SIIT, send(*last))
requirement("4.5", MUST, "Nor does a datagram have more than 65,535 bytes.")
vector("beyond-65535", SIIT, drop(ip6() / IPv6ExtHdrFragment(nh=17, id=1, offset=8191) / data(64), "bad-fragment"))
vector("beyond-65535-4to6", SIIT, drop(ip4(frag=8191, proto=17) / data(64), "bad-fragment"))
requirement("4.5", SHOULD, "The source is told: Parameter Problem, at the payload length.",
            status="no: that is for the node that puts fragments together, and a translator is asked so by its destination at most")
