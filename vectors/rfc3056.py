"""RFC 3056: 6to4, with the security of RFC 3964."""

from table import *
from tunnel_packets import *

rfc(3056)
SITE, OTHER, RELAY = "198.51.100.1", "203.0.113.9", "192.88.99.1"
CONF = configuration("6to4", f'mechanism = "6to4"\nlocal = "{SITE}"\nrelay = "{RELAY}"\n{OWN}')
ALONE = configuration("6to4-alone", f'mechanism = "6to4"\nlocal = "{SITE}"\n{OWN}')
RELAYS = configuration("6to4-relay", f'mechanism = "6to4"\nrole = "relay"\nlocal = "{RELAY}"\n{OWN}')
MINE, THEIRS, WORLD = "2002:c633:6401::5", "2002:cb00:7109::7", "2606:4700::1111"

requirement("2", MUST, "The prefix of a site is 2002::/16 with its IPv4 address behind it.")
requirement("5.3", MUST, "A packet to another site goes to the IPv4 address in its prefix; others go to the relay.")
vector("to-a-site", CONF, enters(ip6(MINE, THEIRS) / udp() / data(), outer4(SITE, OTHER, df=False) / ip6(MINE, THEIRS, 63) / udp() / data()))
vector("to-the-world", CONF, enters(ip6(MINE, WORLD) / udp() / data(), outer4(SITE, RELAY, df=False) / ip6(MINE, WORLD, 63) / udp() / data()))
vector("from-a-site", CONF, leaves(from4(OTHER, SITE) / ip6(THEIRS, MINE) / udp() / data(), ip6(THEIRS, MINE, 63) / udp() / data()))
vector("from-any-relay", CONF, leaves(from4("192.0.2.77", SITE) / ip6(WORLD, MINE) / udp() / data(), ip6(WORLD, MINE, 63) / udp() / data()))
vector("without-a-relay", ALONE, ignored(ip6(MINE, WORLD) / udp() / data()))
vector("relay-to-a-site", RELAYS, enters(ip6(WORLD, MINE) / udp() / data(), outer4(RELAY, SITE, df=False) / ip6(WORLD, MINE, 63) / udp() / data()))
vector("relay-from-a-site", RELAYS, leaves(from4(SITE, RELAY) / ip6(MINE, WORLD) / udp() / data(), ip6(MINE, WORLD, 63) / udp() / data()))
requirement("7", SHOULD, "Errors from inside IPv4 are passed on where they quote enough of the packet.")
ABOUT = ip6(MINE, THEIRS, 63) / udp() / data()
vector("error-about-a-site", CONF, told(
    inside4(ICMP(type=3, code=1), outer4(SITE, OTHER, df=False, id=7) / ABOUT, dst=SITE), error6(ICMPv6DestUnreach(code=3), ABOUT)))
vector("error-of-8-bytes", CONF, drop(
    inside4(ICMP(type=3, code=1), outer4(SITE, OTHER, df=False, id=7) / ABOUT, 28, dst=SITE), "tunnel-error-short"))

rfc(3964)
requirement("5.1", MUST, "A 6to4 source must embed the IPv4 source; a packet for another site does not come out.")
vector("spoofed-site", CONF, drop(from4("192.0.2.77", SITE) / ip6(THEIRS, MINE) / udp() / data(), "tunnel-spoofed"))
vector("not-for-this-site", CONF, drop(from4(OTHER, SITE) / ip6(THEIRS, "2002:c633:6402::5") / udp() / data(), "loop"))
vector("relay-spoofed", RELAYS, drop(from4(OTHER, RELAY) / ip6(MINE, WORLD) / udp() / data(), "tunnel-spoofed"))
vector("relay-from-native", RELAYS, drop(from4(OTHER, RELAY) / ip6(WORLD, "2606::2") / udp() / data(), "tunnel-spoofed"))
vector("relay-site-to-site", RELAYS, drop(from4(SITE, RELAY) / ip6(MINE, THEIRS) / udp() / data(), "loop"))
requirement("4", MUST, "IPv4 addresses that are no host's are not tunnelled to, nor taken packets from.")
for name, address in [("loopback", "2002:7f00:1::1"), ("multicast", "2002:e000:1::1"), ("unspecified", "2002::1"), ("broadcast", "2002:ffff:ffff::1")]:
    vector(f"to-{name}", CONF, drop(ip6(MINE, address) / udp() / data(), "tunnel-destination"))
vector("from-loopback", CONF, drop(from4("127.0.0.1", SITE) / ip6("2002:7f00:1::1", MINE) / udp() / data(), "tunnel-source"))
