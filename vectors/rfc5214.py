"""RFC 5214: ISATAP, hosts and routers of a site."""

from scapy.layers.inet6 import (
    ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_RS, ICMPv6NDOptMTU, ICMPv6NDOptPrefixInfo,
    ICMPv6NDOptSrcLLAddr)

from table import *
from tunnel_packets import *

rfc(5214)
ROUTER, NODE, OTHER, GLOBAL = "192.0.2.1", "192.0.2.10", "192.0.2.77", "8.8.4.4"
PREFIX, WORLD = "2001:db8:1:2", "2606:4700::1111"


def at(address, prefix=PREFIX, unique=False):
    """The ISATAP address of a node (section 6.1)."""
    return f"{prefix}:{'200' if unique else '0'}:5efe:{address}"


def link(address):
    """The link-local one."""
    return f"fe80::{'200:' if address == GLOBAL else ''}5efe:{address}"


ROUTES = configuration(
    "isatap-router", f'mechanism = "isatap"\nrole = "router"\nlocal = "{ROUTER}"\nprefix = "{PREFIX}::/64"\n{OWN}')
HOST = configuration(
    "isatap-host", f'mechanism = "isatap"\nrole = "host"\nlocal = "{NODE}"\nrouters = ["{ROUTER}", "{STRANGER4}"]\n{OWN}')

requirement("6.1", MUST, "An interface identifier is 00-00-5E, FE and the IPv4 address; the \"u\" bit says whether that is unique.")
requirement("7.1", MUST, "A packet goes to the IPv4 address in the ISATAP address on the link.")
vector("router-to-a-node", ROUTES, enters(
    ip6(WORLD, at(NODE)) / udp() / data(), outer4(ROUTER, NODE, df=False) / ip6(WORLD, at(NODE), 63) / udp() / data()))
vector("router-to-a-globally-unique-node", ROUTES, enters(
    ip6(WORLD, at(GLOBAL, unique=True)) / udp() / data(),
    outer4(ROUTER, GLOBAL, df=False) / ip6(WORLD, at(GLOBAL, unique=True), 63) / udp() / data()))
vector("host-to-a-node", HOST, enters(
    ip6(at(NODE), at(OTHER)) / udp() / data(), outer4(NODE, OTHER, df=False) / ip6(at(NODE), at(OTHER), 63) / udp() / data()))
vector("host-to-the-world", HOST, enters(
    ip6(at(NODE), WORLD) / udp() / data(), outer4(NODE, ROUTER, df=False) / ip6(at(NODE), WORLD, 63) / udp() / data()))
FOREIGN = at(OTHER, "2001:db8:9:9")
vector("host-to-a-node-of-another-link", HOST, enters(
    ip6(at(NODE), FOREIGN) / udp() / data(), outer4(NODE, ROUTER, df=False) / ip6(at(NODE), FOREIGN, 63) / udp() / data()))
NOBODY = ip6(WORLD, f"{PREFIX}::1") / udp() / data()
vector("router-to-no-isatap-address", ROUTES, reply(NOBODY, error6(ICMPv6DestUnreach(code=3), NOBODY), "tunnel-destination"))
vector("router-to-loopback", ROUTES, drop(ip6(WORLD, at("127.0.0.1")) / udp() / data(), "tunnel-destination"))
vector("router-to-itself", ROUTES, drop(ip6(WORLD, at(ROUTER)) / udp() / data(), "loop"))
vector("router-not-of-the-link", ROUTES, ignored(ip6(WORLD, "2001:db8:1:3::1") / udp() / data()))

requirement("7.3", MUST, "The IPv4 source is the one in the ISATAP address that is the IPv6 source...")
vector("router-from-a-node", ROUTES, leaves(
    from4(NODE, ROUTER) / ip6(at(NODE), WORLD) / udp() / data(), ip6(at(NODE), WORLD, 63) / udp() / data()))
vector("host-from-a-node", HOST, leaves(
    from4(OTHER, NODE) / ip6(at(OTHER), at(NODE)) / udp() / data(), ip6(at(OTHER), at(NODE), 63) / udp() / data()))
requirement("7.3", MUST, "... or a member of the Potential Router List.")
vector("host-from-a-router", HOST, leaves(
    from4(ROUTER, NODE) / ip6(WORLD, at(NODE)) / udp() / data(), ip6(WORLD, at(NODE), 63) / udp() / data()))
vector("host-from-the-other-router", HOST, leaves(
    from4(STRANGER4, NODE) / ip6(WORLD, at(NODE)) / udp() / data(), ip6(WORLD, at(NODE), 63) / udp() / data()))
requirement("7.3", MUST, "Other packets are not taken.")
vector("router-spoofed-node", ROUTES, drop(from4(OTHER, ROUTER) / ip6(at(NODE), WORLD) / udp() / data(), "tunnel-spoofed"))
vector("router-from-no-node", ROUTES, drop(from4(OTHER, ROUTER) / ip6(WORLD, "2606::2") / udp() / data(), "tunnel-source"))
vector("host-spoofed-node", HOST, drop(from4("192.0.2.78", NODE) / ip6(at(OTHER), at(NODE)) / udp() / data(), "tunnel-spoofed"))
vector("host-from-no-router", HOST, drop(from4(OTHER, NODE) / ip6(WORLD, at(NODE)) / udp() / data(), "tunnel-source"))
vector("host-for-another-node", HOST, drop(from4(ROUTER, NODE) / ip6(WORLD, at(OTHER)) / udp() / data(), "loop"))
requirement("7.3", MUST, "The specification of RFC 4213 is used.", see=["rfc4213-3.6-not-ipv6", "rfc4213-3.6-reassembly"])

rfc(6324)
requirement("3", SHOULD, "A router does not send packets back into the tunnel that they came from.")
vector("node-to-node-by-the-router", ROUTES, drop(from4(NODE, ROUTER) / ip6(at(NODE), at(OTHER)) / udp() / data(), "loop"))

rfc(5214)
requirement("7.2", SHOULD, "ICMPv4 errors are taken as what they say of the link.")
ABOUT = ip6(WORLD, at(NODE), 63) / udp() / data()
vector("error-to-the-router", ROUTES, told(
    inside4(ICMP(type=3, code=1), outer4(ROUTER, NODE, df=False, id=7) / ABOUT, dst=ROUTER), error6(ICMPv6DestUnreach(code=3), ABOUT)))
vector("error-to-the-router-about-another-end", ROUTES, drop(
    inside4(ICMP(type=3, code=1), outer4(ROUTER, OTHER, df=False, id=7) / ABOUT, dst=ROUTER), "icmp-inner"))


def on_link(src, dst, hlim=255):
    """What a node sends to others of the link."""
    return from4(src, ROUTER) / IPv6(src=link(src), dst=dst, hlim=hlim)


def answered(packet, *output):
    """A solicitation and its answer."""
    return Step(packet, [Output(o) for o in output], {"neighbour-answered": 1})


def advertisement(to, lifetime=1800, mtu=1480):
    """What the router says, to one node."""
    return (outer4(ROUTER, to, df=False) / IPv6(src=link(ROUTER), dst=link(to), hlim=255)
            / ICMPv6ND_RA(chlim=64, M=0, O=0, H=0, prf=0, routerlifetime=lifetime, reachabletime=0, retranstimer=0)
            / ICMPv6NDOptPrefixInfo(prefixlen=64, L=1, A=1, R=0, validlifetime=2592000, preferredlifetime=604800, prefix=f"{PREFIX}::")
            / ICMPv6NDOptMTU(mtu=mtu))


requirement("8.2", MUST, "A router answers a solicitation with an advertisement to the soliciting node alone.")
requirement("8.3.3", MUST, "The advertisement comes from the link-local ISATAP address of the router.")
vector("solicitation", ROUTES, answered(on_link(NODE, link(ROUTER)) / ICMPv6ND_RS(), advertisement(NODE)))
vector("solicitation-to-all-routers", ROUTES, answered(on_link(NODE, "ff02::2") / ICMPv6ND_RS(), advertisement(NODE)))
vector("solicitation-with-an-option", ROUTES, answered(
    on_link(NODE, link(ROUTER)) / ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(lladdr="00:00:c0:00:02:0a"), advertisement(NODE)))
vector("solicitation-of-a-globally-unique-node", ROUTES, answered(
    on_link(GLOBAL, "ff02::2") / ICMPv6ND_RS(), advertisement(GLOBAL)))
SHORT = configuration(
    "isatap-router-lifetime", f'mechanism = "isatap"\nrole = "router"\nlocal = "{ROUTER}"\nprefix = "{PREFIX}::/64"\n'
    f'router-lifetime = 600\n{OWN}', "ipv4-mtu = 1400")
vector("lifetime-and-mtu", SHORT, answered(on_link(NODE, "ff02::2") / ICMPv6ND_RS(), advertisement(NODE, 600, 1380)))
requirement("7.3", MUST, "Solicitations come from who they say, too.")
vector("spoofed-solicitation", ROUTES, drop(
    from4(OTHER, ROUTER) / IPv6(src=link(NODE), dst="ff02::2", hlim=255) / ICMPv6ND_RS(), "tunnel-spoofed"))
vector("unspecified-solicitation", ROUTES, drop(
    from4(NODE, ROUTER) / IPv6(src="::", dst="ff02::2", hlim=255) / ICMPv6ND_RS(), "tunnel-source"))
vector("advertisement-to-a-router", ROUTES, drop(on_link(NODE, link(ROUTER)) / ICMPv6ND_RA(), "icmp-untranslatable"))
requirement("8", MUST, "They are checked as RFC 4861 section 6.1.1 says: hop limit, checksum, code, lengths.")
for name, packet in [
    ("hop-limit-254", on_link(NODE, "ff02::2", 254) / ICMPv6ND_RS()),
    ("wrong-checksum", on_link(NODE, "ff02::2") / ICMPv6ND_RS(cksum=0x1234)),
    ("code", on_link(NODE, "ff02::2") / ICMPv6ND_RS(code=1)),
    ("short", on_link(NODE, "ff02::2") / Raw(bytes(ICMPv6ND_RS())[:4])),
    ("option-of-no-length", on_link(NODE, "ff02::2") / ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(len=0)),
    ("option-past-the-end", on_link(NODE, "ff02::2") / ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(len=2)),
]:
    if name == "short":
        packet[IPv6].nh = 58
    vector(f"solicitation-{name}", ROUTES, drop(packet, "malformed-transport"))
for name, header in [("version-5", {"version": 5}), ("longer-than-its-packet", {"plen": 17})]:
    packet = on_link(NODE, "ff02::2") / ICMPv6ND_RS() / ICMPv6NDOptSrcLLAddr(lladdr="00:00:c0:00:02:0a")
    for field, value in header.items():
        packet[IPv6].setfieldval(field, value)
    vector(f"solicitation-{name}", ROUTES, drop(packet, "malformed-header"))
requirement("8.4", SHOULD, "Neighbours are asked whether they are there, and answer.")
ASK = ICMPv6ND_NS(tgt=link(ROUTER))
vector("neighbour-solicitation", ROUTES, answered(
    on_link(NODE, link(ROUTER)) / ASK,
    outer4(ROUTER, NODE, df=False) / IPv6(src=link(ROUTER), dst=link(NODE), hlim=255) / ICMPv6ND_NA(R=1, S=1, O=0, tgt=link(ROUTER))))
vector("host-neighbour-solicitation", HOST, answered(
    from4(ROUTER, NODE) / IPv6(src=link(ROUTER), dst=link(NODE), hlim=255) / ICMPv6ND_NS(tgt=link(NODE)),
    outer4(NODE, ROUTER, df=False) / IPv6(src=link(NODE), dst=link(ROUTER), hlim=255) / ICMPv6ND_NA(R=0, S=1, O=0, tgt=link(NODE))))
vector("neighbour-solicitation-for-another", ROUTES, drop(
    on_link(NODE, link(ROUTER)) / ICMPv6ND_NS(tgt=link(OTHER)), "icmp-untranslatable"))
requirement("8.3.4", MUST, "A host sends its solicitations directly to the routers of the list.")
SOLICITATION = IPv6(src=link(NODE), dst=link(ROUTER), hlim=255) / ICMPv6ND_RS()
vector("host-solicits", HOST, enters(SOLICITATION, outer4(NODE, ROUTER, df=False) / SOLICITATION),
       engines=(["user"], "XDP and tc do not see what the machine itself sends over the gateway's link"))
requirement("8.3.3", MUST, "A host takes advertisements as they came.")
SAID = advertisement(NODE)[IPv6]
vector("host-hears", HOST, leaves(from4(ROUTER, NODE) / SAID, SAID))
vector("host-hears-what-is-said-to-another", HOST, drop(
    from4(ROUTER, NODE) / advertisement(OTHER)[IPv6], "icmp-untranslatable"))
vector("host-hears-a-stranger", HOST, drop(from4(OTHER, NODE) / SAID, "tunnel-spoofed"))
requirement("8.3.2", MUST, "The Potential Router List of a host is configured, or found by a name.")
HEAD = f'mechanism = "isatap"\nrole = "host"\nlocal = "{NODE}"\n'
refused("no-routers", configuration("isatap-alone", f"{HEAD}routers = []\n"), "routers")
refused("too-many-routers", configuration(
    "isatap-many", f'{HEAD}routers = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"]\n'), "at most 4")
refused("prefix-of-48-bits", configuration(
    "isatap-48", f'mechanism = "isatap"\nrole = "router"\nlocal = "{ROUTER}"\nprefix = "2001:db8:1::/48"\n'), "64 bits")
requirement("8.3.2", SHOULD, "The list is refreshed every hour, or when the time of a name ends.",
            status="yes: every hour; the test `a_host_finds_its_router_by_name`")
