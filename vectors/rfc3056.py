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
requirement("5.2", MUST, "On the way out a 6to4 source embeds the IPv4 source; a relay takes no others.")
vector("spoofed-site", CONF, drop(from4("192.0.2.77", SITE) / ip6(THEIRS, MINE) / udp() / data(), "tunnel-spoofed"))
vector("relay-spoofed", RELAYS, drop(from4(OTHER, RELAY) / ip6(MINE, WORLD) / udp() / data(), "tunnel-spoofed"))
vector("relay-from-native", RELAYS, drop(from4(OTHER, RELAY) / ip6(WORLD, "2606::2") / udp() / data(), "tunnel-spoofed"))
requirement("5.2", MUST, "A 6to4 destination embeds the IPv4 destination: what is for another site does not come out, nor "
            "what is not for 6to4 at all (section 3.1).")
vector("not-for-this-site", CONF, drop(from4(OTHER, SITE) / ip6(THEIRS, "2002:c633:6402::5") / udp() / data(), "loop"))
vector("site-to-native", CONF, drop(from4(OTHER, SITE) / ip6(THEIRS, WORLD) / udp() / data(), "loop"))
vector("native-to-native", CONF, drop(from4("192.0.2.77", SITE) / ip6(WORLD, "2606::2") / udp() / data(), "loop"))
requirement("3.2", MUST, "A relay does not relay between 6to4 sites.")
vector("relay-site-to-site", RELAYS, drop(from4(SITE, RELAY) / ip6(MINE, THEIRS) / udp() / data(), "loop"))
vector("relay-site-to-site-from-ipv6", RELAYS, drop(ip6(MINE, THEIRS) / udp() / data(), "tunnel-spoofed"))
requirement("5.2", SHOULD, "The IPv4 destination is the router's own: others are none of its business.")
vector("broadcast", CONF, ignored(from4(OTHER, "198.51.100.255") / ip6(THEIRS, MINE) / udp() / data()))

requirement("5.1", MUST, "On the way in a 6to4 source embeds the IPv4 source, this router's.")
vector("in-from-another-site", CONF, drop(ip6("2002:c633:6402::5", THEIRS) / udp() / data(), "tunnel-spoofed"))
vector("in-from-another-site-to-the-world", CONF, drop(ip6(THEIRS, WORLD) / udp() / data(), "tunnel-spoofed"))
vector("in-at-the-relay", RELAYS, drop(ip6("2002:c058:6302::1", MINE) / udp() / data(), "tunnel-spoofed"))
vector("in-from-the-relay-itself", RELAYS, enters(
    ip6("2002:c058:6301::1", MINE) / udp() / data(), outer4(RELAY, SITE, df=False) / ip6("2002:c058:6301::1", MINE, 63) / udp() / data()))
requirement("5.1", MUST, "A packet between two addresses that are not 6to4 is dropped.")
vector("native-to-native-in", CONF, drop(ip6("2606::2", WORLD) / udp() / data(), "tunnel-spoofed"))
requirement("5.1", SHOULD, "The packet does not go to this router itself.")
vector("in-to-itself", CONF, drop(ip6(MINE, "2002:c633:6401::9") / udp() / data(), "loop"))

#: RFC 3964 section 5.3.1, and 100.64.0.0/10, which is not global since RFC 6598.
UNFIT = [("this-network", "0.1.2.3", "0001:0203"), ("unspecified", "0.0.0.0", "0000:0000"), ("private-10", "10.1.2.3", "0a01:0203"),
         ("shared", "100.64.1.2", "6440:0102"), ("loopback", "127.0.0.1", "7f00:0001"), ("link-local", "169.254.1.2", "a9fe:0102"),
         ("private-172", "172.31.1.2", "ac1f:0102"), ("private-192", "192.168.1.2", "c0a8:0102"), ("multicast", "224.0.1.1", "e000:0101"),
         ("reserved", "240.0.0.1", "f000:0001"), ("broadcast", "255.255.255.255", "ffff:ffff")]
requirement("5.3.1", MUST, "IPv4 addresses that are not global unicast are not tunnelled to, by routers...")
for name, _, site in UNFIT:
    vector(f"to-{name}", CONF, drop(ip6(MINE, f"2002:{site}::1") / udp() / data(), "tunnel-destination"))
requirement("5.3.1", MUST, "... nor by relays.")
for name, _, site in UNFIT:
    vector(f"relay-to-{name}", RELAYS, drop(ip6(WORLD, f"2002:{site}::1") / udp() / data(), "tunnel-destination"))
requirement("5.3.1", MUST, "Packets are not taken from them, whatever IPv6 address is inside.")
for name, address, site in UNFIT:
    vector(f"from-{name}", CONF, drop(from4(address, SITE) / ip6(f"2002:{site}::1", MINE) / udp() / data(), "tunnel-source"))
    vector(f"relay-from-{name}", RELAYS, drop(from4(address, RELAY) / ip6(f"2002:{site}::1", WORLD) / udp() / data(), "tunnel-source"))
    vector(f"from-{name}-of-the-world", CONF, drop(from4(address, SITE) / ip6(WORLD, MINE) / udp() / data(), "tunnel-source"))
requirement("5.3.1", MUST, "Nor are they this router's address, or its relay's.")
refused("private-local", configuration("6to4-private", f'mechanism = "6to4"\nlocal = "10.1.2.3"\n{OWN}'), "10.1.2.3")
refused("private-relay", configuration("6to4-private-relay", f'mechanism = "6to4"\nlocal = "{SITE}"\nrelay = "192.168.1.1"\n{OWN}'), "192.168.1.1")
#: RFC 3964 section 5.3.2, and the sites of one address of each block above.
STRANGE = [("compatible", "::192.0.2.1"), ("mapped", "::ffff:192.0.2.1"), ("loopback-6", "::1"), ("link-local-6", "fe80::1"), ("site-local", "fec0::1"),
           ("multicast-6", "ff0e::1")]
requirement("5.3.2", MUST, "IPv6 sources of 0::/16, fe80::/10, fec0::/10 and ff00::/8 are refused on the way in...")
for name, address in STRANGE:
    vector(f"in-from-{name}", CONF, drop(ip6(address, THEIRS) / udp() / data(), "illegal-source"))
    vector(f"relay-in-from-{name}", RELAYS, drop(ip6(address, MINE) / udp() / data(), "illegal-source"))
requirement("5.3.2", MUST, "... and on the way out.")
for name, address in STRANGE:
    vector(f"out-from-{name}", CONF, drop(from4("192.0.2.77", SITE) / ip6(address, MINE) / udp() / data(), "illegal-source"))
requirement("5.3.2", MUST, "So are such destinations on the way out...")
for name, address in STRANGE:
    vector(f"out-to-{name}", RELAYS, drop(from4(SITE, RELAY) / ip6(MINE, address) / udp() / data(), "illegal-destination"))
requirement("5.3.2", MUST, "... and on the way in.")
for name in ("compatible", "mapped", "site-local"):
    vector(f"in-to-{name}", CONF, drop(ip6(MINE, dict(STRANGE)[name]) / udp() / data(), "illegal-destination"))
for name in ("loopback-6", "link-local-6", "multicast-6"):
    vector(f"in-to-{name}", CONF, ignored(ip6(MINE, dict(STRANGE)[name]) / udp() / data()))
requirement("5.3.2", MUST, "So are the 6to4 prefixes of such IPv4 addresses, as sources on the way in.")
for name, _, site in UNFIT:
    vector(f"in-from-site-of-{name}", RELAYS, drop(ip6(f"2002:{site}::1", MINE) / udp() / data(), "tunnel-spoofed"))
requirement("5.3.3", MAY, "Ingress filtering by interface.", status="operator: the kernel's `rp_filter` or a firewall on the interfaces")
requirement("5.3.1", MUST, "Nor is the address a broadcast address of the system's networks.",
            status="partly: the kernel does not forward to them on its links; XDP asks its routes, which have no broadcast (RFC 1812 section 5.3.5)")
requirement("6.1", SHOULD, "One automatic tunnel on an IPv4 address.", status="yes: `isthmus check` refuses two instances with one address")
