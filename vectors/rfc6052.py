"""RFC 6052: IPv4 addresses in IPv6 addresses, in all six lengths."""

from configurations import siit
from packets import *
from table import *

rfc(6052)
WELL_KNOWN = siit("siit-well-known", "64:ff9b::/96", ["1.0.0.0/8"])
WELL_KNOWN_OPEN = siit("siit-well-known-non-global", "64:ff9b::/96", ["10.0.0.0/8", "192.0.2.0/24"],
                       more="allow-non-global = true\n")

#: Table 1: prefix, and what 192.0.2.33 becomes.
TABLE_1 = [
    ("2001:db8::/32", "2001:db8:c000:221::"),
    ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
    ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
    ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
    ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
    ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
]
#: The same by hand for the other end, 198.51.100.2 (c6.33.64.02).
OTHER = {32: "2001:db8:c633:6402::", 40: "2001:db8:1c6:3364:2::", 48: "2001:db8:122:c633:64:200::",
         56: "2001:db8:122:3c6:33:6402::", 64: "2001:db8:122:344:c6:3364:200::", 96: "2001:db8:122:344::198.51.100.2"}


def length(prefix):
    return int(prefix.split("/")[1])


def translator(prefix):
    return siit(f"siit-{length(prefix)}", prefix)


requirement("2.2", MUST, "Prefixes have 32, 40, 48, 56, 64 or 96 bits; the IPv4 address follows, and bits 64 to 71 are zero.")
for prefix in ("2001:db8::/33", "2001:db8::/63", "2001:db8::/95", "2001:db8::/128"):
    refused(f"length-{prefix.split('/')[1]}-refused", siit(f"siit-length-{prefix.split('/')[1]}", prefix), prefix)
requirement("2.2", MUST, "In a prefix of 96 bits, too, bits 64 to 71 are zero.")
refused("bits-64-to-71-set", siit("siit-bits-64-to-71", "2001:db8:122:344:100::/96"), "2001:db8:122:344:100::/96")
requirement("2.3", MUST, "Composing: prefix, IPv4 address, zero suffix, with a null octet at bits 64 to 71.")
for prefix, host in TABLE_1:
    vector(f"embed-{length(prefix)}", translator(prefix), send(
        ip4() / udp() / data(), to6(OTHER[length(prefix)], host) / udp() / data()))
requirement("2.3", MUST, "Extracting: the octet at bits 64 to 71 is left out, the 32 bits behind the prefix are the address.")
for prefix, host in TABLE_1:
    vector(f"extract-{length(prefix)}", translator(prefix), send(
        ip6(host, OTHER[length(prefix)]) / udp() / data(), to4() / udp() / data()))

requirement("2.2", SHOULD, "A suffix that is not zero is ignored on receipt.")
for prefix, host in TABLE_1[:5]:
    suffix = "dead:beef" if length(prefix) < 64 else "00be:beef"
    words = host.rstrip(":").split(":")
    other = OTHER[length(prefix)].rstrip(":").split(":")
    noisy = [":".join(w + ["0"] * (8 - len(w))).rsplit(":", 2)[0] + ":" + suffix for w in (words, other)]
    if length(prefix) == 64:
        noisy = ["2001:db8:122:344:c0:2:21ab:cdef", "2001:db8:122:344:c6:3364:2ab:cdef"]
    vector(f"suffix-ignored-{length(prefix)}", translator(prefix), send(
        ip6(*noisy) / udp() / data(), to4() / udp() / data()))

requirement("2.2", MUST, "The IPv4 address may have any value, ones and zeros alike.")
for prefix, hosts in [("2001:db8:122:344::/64", ("2001:db8:122:344:c6:12ff:ff00::", "198.18.255.255")),
                      ("2001:db8:100::/40", ("2001:db8:1c6:12ff:ff::", "198.18.255.255")),
                      ("2001:db8::/32", ("2001:db8:c612:ffff::", "198.18.255.255")),
                      ("2001:db8:122:300::/56", ("2001:db8:122:3c6:12:ffff::", "198.18.255.255"))]:
    vector(f"all-ones-{length(prefix)}", translator(prefix), send(
        ip4(hosts[1]) / udp() / data(), to6(hosts[0], dict(TABLE_1)[prefix]) / udp() / data()))

requirement("2.1", MUST, "The well-known prefix is 64:ff9b::/96.")
vector("well-known-6to4", WELL_KNOWN, send(
    ip6("64:ff9b::1.2.3.4", "64:ff9b::8.8.4.4") / udp() / data(), to4("1.2.3.4", "8.8.4.4") / udp() / data()))
vector("well-known-4to6", WELL_KNOWN, send(
    ip4("8.8.4.4", "1.2.3.4") / udp() / data(), to6("64:ff9b::8.8.4.4", "64:ff9b::1.2.3.4") / udp() / data()))

requirement("3.1", MUST, "A packet with the well-known prefix and a non-global IPv4 address in it is dropped.")
for address in ("10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.2.1", "198.51.100.2",
                "203.0.113.1", "198.18.0.1", "192.0.0.1", "192.88.99.1"):
    lost = ip6("64:ff9b::1.2.3.4", f"64:ff9b::{address}") / udp() / data()
    vector(f"well-known-non-global-destination-{address}", WELL_KNOWN, reply(
        lost, error6(ICMPv6DestUnreach(code=1), lost), "non-global-well-known"))
lost = ip6("64:ff9b::10.1.2.3", "64:ff9b::8.8.4.4") / udp() / data()
vector("well-known-non-global-source", WELL_KNOWN, reply(
    lost, error6(ICMPv6DestUnreach(code=1), lost), "non-global-well-known"))
lost = ip4("10.1.2.3", "1.2.3.4") / udp() / data()
vector("well-known-non-global-source-4to6", WELL_KNOWN, reply(
    lost, error4(ICMP(type=3, code=13), lost), "non-global-well-known"))
PRIVATE = siit("siit-well-known-private", "64:ff9b::/96", ["10.0.0.0/8"])
lost = ip4("8.8.4.4", "10.1.2.3") / udp() / data()
vector("well-known-non-global-destination-4to6", PRIVATE, reply(
    lost, error4(ICMP(type=3, code=13), lost), "non-global-well-known"))
requirement("3.1", MUST, "The operator who knows better can let them pass; a network-specific prefix has no such rule.")
vector("well-known-non-global-allowed", WELL_KNOWN_OPEN, send(
    ip6("64:ff9b::10.1.2.3", "64:ff9b::192.168.7.7") / udp() / data(), to4("10.1.2.3", "192.168.7.7") / udp() / data()))
vector("network-specific-private", siit("siit-private", "2001:db8:122:344::/96", ["10.0.0.0/8"]), send(
    ip4("192.168.7.7", "10.1.2.3") / udp() / data(),
    to6("2001:db8:122:344::192.168.7.7", "2001:db8:122:344::10.1.2.3") / udp() / data()))

requirement("4.1", MUST, "Where prefix and suffix are not neutral to the checksum, transport checksums are updated.")
vector("checksum-not-neutral", translator("2001:db8:122:344::/64"), send(
    ip4() / tcp() / data(), to6(OTHER[64], TABLE_1[4][1]) / tcp() / data()))
requirement("4.1", MAY, "A neutral prefix leaves the transport checksum of TCP and UDP as it is.")
# 64:ff9b sums to ffff: one's complement zero. (Not for ICMP, whose pseudo-header is new.)
vector("checksum-neutral-well-known", WELL_KNOWN, send(
    ip4("8.8.4.4", "1.2.3.4") / tcp() / data(), to6("64:ff9b::8.8.4.4", "64:ff9b::1.2.3.4") / tcp() / data()))

requirement("3.1", SHOULD, "The well-known prefix is not used for IPv4-translatable addresses.",
            status="operator: the choice of prefix; `isthmus check` prints what it means")
requirement("3.2", MUST, "Prefixes longer than the well-known prefix are not advertised in BGP.", status="operator: routing")
requirement("3.2", MUST, "Network-specific prefixes are advertised aggregated, and who advertises the well-known one translates.",
            status="operator: routing")
requirement("3.3", SHOULD, "A stateless deployment has a network-specific prefix, one for both kinds of addresses.",
            status="operator: the choice of prefix")
requirement("3.4", MUST, "The well-known prefix is not used where the IPv4 side is a private network.",
            status="operator: the choice of prefix; packets are dropped by the rule of section 3.1 all the same")
