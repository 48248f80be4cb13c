"""RFC 7596: lw4o6, the lwB4. Its address and ports are given."""

from sharing_packets import *
from table import *

rfc(7596)
B4 = configuration("lwb4", f'mechanism = "lw4o6"\nrole = "b4"\nlocal = "2001:db8:a::1"\naftr = "{BR6}"\naddress = "{SHARED}"\n'
                   f'psid = 52\npsid-length = 8\npsid-offset = 6\ninside = ["192.168.0.0/16"]\n{OWN6}{BOUNDS}')
p = port("p")
requirement("5.2", MUST, "The lwB4 translates its hosts to its address and port set, and sends to the lwAFTR.")
vector("out-and-back", B4,
       enters(ip4(HOST, SERVER) / udp() / data(), over6("2001:db8:a::1", BR6) / ip4(SHARED, SERVER, 63) / udp(p) / data()),
       leaves(over6(BR6, "2001:db8:a::1") / ip4(SERVER, SHARED) / udp(53, p) / data(), ip4(SERVER, HOST, 63) / udp(53, 40000) / data()))
requirement("5.2", MUST, "It takes packets from the lwAFTR only.")
vector("stranger", B4, drop(
    over6("2001:db8:b::1", "2001:db8:a::1") / ip4(SERVER, SHARED) / udp(53, PORT) / data(), "tunnel-source"))
requirement("8", MUST, "ICMPv6 errors are handled as RFC 2473 section 8 says.")
opened = enters(ip4(HOST, SERVER) / tcp("S"), over6("2001:db8:a::1", BR6) / ip4(SHARED, SERVER, 63) / tcp("S", sport=p))
AS_SENT = ip4(HOST, SERVER, 63) / tcp("S")
vector("unreachable-inside", B4, opened, told(
    inside6(ICMPv6DestUnreach(code=0), over6("2001:db8:a::1", BR6) / ip4(SHARED, SERVER, 63) / tcp("S", sport=p), dst="2001:db8:a::1"),
    error4(ICMP(type=3, code=1), AS_SENT)))
