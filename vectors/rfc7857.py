"""RFC 7857: what was added to the requirements for NATs."""

from nat44_packets import *
from nat64_packets import PREFIX
from nat64_packets import in4 as in64
from nat64_packets import in6, out4 as out64, out6
from configurations import nat64
from table import *

rfc(7857)
p = port("p")


def out(flags, at=None):
    return through(go() / tcp(flags), gone() / tcp(flags, p), at=at)


def into(flags, at=None):
    return through(come() / tcp(flags, 80, p), came() / tcp(flags, 80, 40000), at=at)


CLOSED = [out("S", 0), into("SA", 1), out("A", 2), out("FA", 3), into("FA", 4), out("A", 5)]
requirement("2", SHOULD, "TCP connections are tracked by the state machine of RFC 6146.", see=[
    "rfc5382-4.2-handshake-data-close", "rfc5382-4.2-simultaneous-open", "rfc5382-5-half-open-gone-after-242-seconds",
    "rfc5382-5-closed-gone-after-4-minutes"])
requirement("2", SHOULD, "From its closing state a SYN opens a connection again, as endpoints do in TIME-WAIT (RFC 9293 section 3.6.1): the "
            "new one does not end with the old one.", tests=["rfc7857_2_a_syn_opens_a_closing_session_again"])
requirement("2", SHOULD, "So it is with hosts behind a NAT44...")
vector("opened-again", NAT44, *CLOSED, out("S", 100), into("SA", 101), out("A", 102), into("A", 500), out("A", 7000))
vector("opened-again-from-outside", NAT44, *CLOSED, into("S", 100), out("SA", 101), into("A", 102), into("A", 500), out("A", 7000))
vector("opened-again-without-an-answer", NAT44, *CLOSED, out("S", 100), drop(come() / tcp("SA", 80, p), "no-binding", at=350))
vector("other-segments-open-nothing", NAT44, *CLOSED, into("SA", 100), out("FA", 101), into("R", 102), drop(
    come() / tcp("A", 80, p), "no-binding", at=250))
requirement("2", SHOULD, "... and behind a NAT64.")
NAT64 = nat64(prefix=PREFIX)
there = lambda flags, at: send(out6() / tcp(flags), out64() / tcp(flags, p), at=at)
back = lambda flags, at: send(in64() / tcp(flags, 80, p), in6() / tcp(flags, 80, 40000), at=at)
vector("opened-again-through-a-nat64", NAT64,
       there("S", 0), back("SA", 1), there("A", 2), back("FA", 3), there("FA", 4), back("A", 5),
       there("S", 100), back("SA", 101), there("A", 102), back("A", 500), there("A", 7000))

requirement("2.1", SHOULD, "The times of opening and of closing connections are configured apart, 4 minutes by default.", see=[
    "rfc5382-5-half-open-alive-after-239-seconds", "rfc5382-5-closed-gone-after-4-minutes"])
APART = nat44("nat44-opening-and-closing", more="[instance.timers]\ntcp-opening = 300\ntcp-closing = 240\n")
requirement("2.1", SHOULD, "They are two keys.")
vector("opening-and-closing-apart", APART, out("S", 0), into("SA", 280))
requirement("2.2", MUST, "A RST of a connection is translated.")
requirement("2.2", SHOULD, "The session lives for 4 minutes more, unless other packets come.")
OPEN = [out("S", 0), into("SA", 1), out("A", 2)]
vector("reset-alive-after-239-seconds", NAT44, *OPEN, into("R", 10), out("A", 249))
vector("reset-gone-after-242-seconds", NAT44, *OPEN, into("R", 10), drop(come() / tcp("A", 80, p), "no-binding", at=252))
requirement("2.2", MUST, "Whether a RST belongs to the connection is verified.",
            status="no: by addresses and ports only, as RFC 6146 does; the 4 minutes and the next segment make up for a forged one")
requirement("3", MAY, "A port serves two hosts at once if their destinations differ.", status="no: mappings are endpoint-independent")
requirement("4", SHOULD, "With paired pooling a host whose address has no port left gets no other one, also for TCP.", see=[
    "rfc6146-3.5.1.1-udp-paired-address", "rfc6888-3-pool-exhausted"])
requirement("4", MAY, "That can be relaxed.", status="yes: `pooling`")
requirement("5", SHOULD, "Mappings are of one protocol.")
requirement("6", SHOULD, "So is the filtering.")
vector("mapping-of-one-protocol", NAT44, through(go() / udp() / data(), gone() / udp(p) / data()),
       drop(come() / tcp("S", 80, p), "no-binding"))
requirement("7", SHOULD, "A packet from outside that the filtering does not let in prolongs nothing.")
FILTERED = nat44("nat44-filtering-by-address", more='filtering = "address-dependent"\n')
vector("filtered-prolongs-nothing", FILTERED, through(go() / udp() / data(), gone() / udp(p) / data(), at=0),
       drop(come(S2) / udp(53, p) / data(), "filtered", at=290), drop(come() / udp(53, p) / data(), "no-binding", at=303))
requirement("7.1", SHOULD, "An ICMP error from inside prolongs nothing.", see=["rfc5508-4.4-no-refresh-gone"])
requirement("7.1", SHOULD, "Neither does a RST from inside.", see=["rfc7857-2-other-segments-open-nothing"])
requirement("8", MAY, "Parity is not preserved.", status="no: it is, for all dynamic mappings (RFC 4787 REQ-4)")
requirement("9", SHOULD, "Ports are obfuscated as RFC 6056 section 4 says.", see=["rfc4787-4.2.2-parity"])
requirement("10", SHOULD, "The identification of packets is unique for two minutes (RFC 6864 section 5.3.1).",
            status="no: the identification of a host stays, as RFC 3022 has it; hosts choose them at random today")
requirement("11", MAY, "The mapping of ICMP queries ends with its last session.", see=["rfc5508-3.2-gone-after-62-seconds"])
requirement("12", MUST, "Hairpinned queries are for NATs without ports; hairpinned errors pass.", see=["rfc5508-5-hairpin-error"])
