"""RFC 6877: the CLAT of 464XLAT for hosts that share its one address."""

from configurations import siit
from sharing_packets import *
from table import *

rfc(6877)
CLAT = configuration("clat", f'mechanism = "clat"\nprefix = "64:ff9b::/96"\nlocal = "2001:db8:a::464"\n'
                     f'inside = ["192.168.0.0/16"]\n{OWN6}{BOUNDS}')
p = Choice("p", 1, 65535, parity="even")
WEB = "64:ff9b::102:304"
requirement("6.3", MUST, "A CLAT with one IPv6 address translates its hosts by NAT44 and then without state to IPv6.")
vector("out-and-back", CLAT,
       send(ip4(HOST, SERVER) / udp() / data(), ip6("2001:db8:a::464", WEB, 63) / udp(p) / data()),
       send(ip6(WEB, "2001:db8:a::464") / udp(53, p) / data(), to4(SERVER, HOST) / udp(53, 40000) / data()))
vector("atomic-back-touches-no-store", CLAT,
       send(ip4(HOST, SERVER) / udp() / data(), ip6("2001:db8:a::464", WEB, 63) / udp(p) / data()),
       send(ip6(WEB, "2001:db8:a::464") / IPv6ExtHdrFragment(id=0x1234) / udp(53, p) / data(), to4(SERVER, HOST, id=0x1234) / udp(53, 40000) / data()),
       held(fragment6(ip6(WEB, "2001:db8:a::464") / udp(53, p) / data(992), 504)), counters={"fragment-timeout": 1})
GONE = ip4(HOST, SERVER, id=0xbeef) / udp() / data(1000), ip6("2001:db8:a::464", WEB, 63) / udp(p) / data(1000)
BACK = ip6(WEB, "2001:db8:a::464") / udp(53, p) / data(1000), to4(SERVER, HOST, id=0xbeef, flags=0) / udp(53, 40000) / data(1000)
SPANS = [(0, 400), (400, 800), (800, None)]
vector("fragments-out-and-back", CLAT,
       *[send(fragment4(GONE[0], *span), fragment6(GONE[1], *span, 0xbeef)) for span in SPANS],
       *[send(fragment6(BACK[0], *span, 0xbeef), fragment4(BACK[1], *span)) for span in SPANS])
vector("icmp-errors-out-and-back", CLAT,
       send(ip4(HOST, SERVER) / udp() / data(), ip6("2001:db8:a::464", WEB, 63) / udp(p) / data()),
       send(ip6(WEB, "2001:db8:a::464") / ICMPv6DestUnreach(code=4) / quote(ip6("2001:db8:a::464", WEB, 50) / udp(p, 53) / data()),
            to4(SERVER, HOST) / ICMP(type=3, code=3) / quote(to4(HOST, SERVER, 50, id=0) / udp(40000, 53) / data())),
       send(ip4(HOST, SERVER) / ICMP(type=3, code=3) / quote(ip4(SERVER, HOST, 50) / udp(53, 40000) / data()),
            ip6("2001:db8:a::464", WEB, 63) / ICMPv6DestUnreach(code=4) / quote(ip6(WEB, "2001:db8:a::464", 50) / udp(53, p) / data())))
vector("stranger", CLAT, drop(ip6("2001:db8::bad", "2001:db8:a::464") / udp(53, 5000) / data(), "tunnel-source"))
# A PCP server would say so to the CLAT itself (RFC 7648), but was not asked.
vector("stranger-from-the-port-of-pcp", CLAT, drop(
    ip6("2001:db8::bad", "2001:db8:a::464") / udp(5351, 5000) / data(), "tunnel-source"))

requirement("6.3", SHOULD, "The CLAT knows its own IPv6 address, and finds the prefix of the PLAT by RFC 7050.", tests=["a_clat_asks_the_dns"])
requirement("6.3", SHOULD, "With a prefix of its own for translation the CLAT needs no NAT44.")
HOST_464 = siit("siit-clat", "64:ff9b::/96", ["0.0.0.0/0"], more='eam = [{ v4 = "192.0.0.1", v6 = "2001:db8:1:2::464" }]\n')
vector("stateless-out-and-back", HOST_464,
       send(ip4("192.0.0.1", SERVER) / udp() / data(), ip6("2001:db8:1:2::464", WEB, 63) / udp() / data()),
       send(ip6(WEB, "2001:db8:1:2::464") / udp(53, 40000) / data(), to4(SERVER, "192.0.0.1") / udp(53, 40000) / data()))
vector("stateless-ping", HOST_464,
       send(ip4("192.0.0.1", SERVER) / ICMP(type=8, id=7, seq=1) / data(),
            to6("2001:db8:1:2::464", WEB) / ICMPv6EchoRequest(id=7, seq=1, data=bytes(data()))),
       send(ip6(WEB, "2001:db8:1:2::464") / ICMPv6EchoReply(id=7, seq=1, data=b"pong"),
            to4(SERVER, "192.0.0.1") / ICMP(type=0, id=7, seq=1) / b"pong"))
requirement("6.4", SHOULD, "The CLAT is a DNS proxy over IPv6.", status="operator: another program")
requirement("6.5", SHOULD, "The CLAT routes between its hosts, and serves DHCP.", status="operator: the kernel, and another program")
requirement("8.1", SHOULD, "Fragmentation and sizes are those of RFC 7915.", see=["rfc7915-5.1.1-fragment-first"])
