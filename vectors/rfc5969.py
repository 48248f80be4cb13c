"""RFC 5969: 6rd. The example of its section 7.1.1: 2001:db8::/32, IPv4 addresses in 10.0.0.0/8."""

from table import *
from tunnel_packets import *

rfc(5969)
DOMAIN = 'prefix = "2001:db8::/32"\nv4-prefix = "10.0.0.0/8"\n'
CE, BR, OTHER = "10.100.100.1", "10.0.0.1", "10.1.2.3"
CE_CONF = configuration("6rd-ce", f'mechanism = "6rd"\nrole = "ce"\nlocal = "{CE}"\nbr = "{BR}"\n{DOMAIN}{OWN}')
BR_CONF = configuration("6rd-br", f'mechanism = "6rd"\nrole = "br"\nlocal = "{BR}"\n{DOMAIN}{OWN}')
MINE, THEIRS, WORLD = "2001:db8:6464:100::5", "2001:db8:102:300::7", "2606:4700::1111"

requirement("7.1.1", MUST, "Packets to other customers go to the IPv4 address that is embedded, all others to the BR.")
vector("to-a-customer", CE_CONF, enters(
    ip6(MINE, THEIRS) / udp() / data(), outer4(CE, OTHER, df=False) / ip6(MINE, THEIRS, 63) / udp() / data()))
vector("to-the-world", CE_CONF, enters(
    ip6(MINE, WORLD) / udp() / data(), outer4(CE, BR, df=False) / ip6(MINE, WORLD, 63) / udp() / data()))
vector("border-to-a-customer", BR_CONF, enters(
    ip6(WORLD, MINE) / udp() / data(), outer4(BR, CE, df=False) / ip6(WORLD, MINE, 63) / udp() / data()))
vector("border-not-of-the-domain", BR_CONF, ignored(ip6(WORLD, "2001:db9::1") / udp() / data()))
requirement("9.2", MUST, "A customer's IPv6 source must embed the IPv4 source of the packet around it.")
requirement("12", MUST, "Spoofed packets are dropped, by CEs and by BRs.")
vector("from-the-border", CE_CONF, leaves(from4(BR, CE) / ip6(WORLD, MINE) / udp() / data(), ip6(WORLD, MINE, 63) / udp() / data()))
vector("from-a-customer", CE_CONF, leaves(from4(OTHER, CE) / ip6(THEIRS, MINE) / udp() / data(), ip6(THEIRS, MINE, 63) / udp() / data()))
vector("spoofed-customer", CE_CONF, drop(from4("10.1.2.4", CE) / ip6(THEIRS, MINE) / udp() / data(), "tunnel-spoofed"))
vector("world-not-from-the-border", CE_CONF, drop(from4(OTHER, CE) / ip6(WORLD, MINE) / udp() / data(), "tunnel-source"))
vector("not-for-this-site", CE_CONF, drop(from4(BR, CE) / ip6(WORLD, THEIRS) / udp() / data(), "loop"))
vector("border-from-a-customer", BR_CONF, leaves(
    from4(CE, BR) / ip6(MINE, WORLD) / udp() / data(), ip6(MINE, WORLD, 63) / udp() / data()))
vector("border-spoofed", BR_CONF, drop(from4(OTHER, BR) / ip6(MINE, WORLD) / udp() / data(), "tunnel-spoofed"))
vector("border-not-from-a-customer", BR_CONF, drop(from4(OTHER, BR) / ip6(WORLD, "2606::2") / udp() / data(), "tunnel-spoofed"))
vector("border-customer-to-customer", BR_CONF, drop(from4(CE, BR) / ip6(MINE, THEIRS) / udp() / data(), "loop"))
requirement("7.1.1", MUST, "IPv4 addresses have in common what the domain says.")
refused("address-outside", configuration(
    "6rd-outside", f'mechanism = "6rd"\nrole = "ce"\nlocal = "192.0.2.1"\nbr = "{BR}"\n{DOMAIN}'), "v4-prefix")

requirement("9", MUST, "ICMPv4 errors from inside the domain are handled like those in any tunnel (RFC 4213 section 3.4).")
ABOUT = ip6(MINE, WORLD, 63) / udp() / data()
vector("error-to-the-edge", CE_CONF, told(
    inside4(ICMP(type=3, code=1), outer4(CE, BR, df=False, id=7) / ABOUT, dst=CE), error6(ICMPv6DestUnreach(code=3), ABOUT)))
vector("error-to-the-edge-about-another-end", CE_CONF, drop(
    inside4(ICMP(type=3, code=1), outer4(CE, OTHER, df=False, id=7) / ABOUT, dst=CE), "icmp-inner"))
ABOUT = ip6(WORLD, MINE, 63) / udp() / data()
vector("error-to-the-border", BR_CONF, told(
    inside4(ICMP(type=11, code=0), outer4(BR, CE, df=False, id=7) / ABOUT, dst=BR), error6(ICMPv6DestUnreach(code=3), ABOUT)))
vector("error-to-the-border-about-another-end", BR_CONF, drop(
    inside4(ICMP(type=11, code=0), outer4(BR, OTHER, df=False, id=7) / ABOUT, dst=BR), "icmp-inner"))
