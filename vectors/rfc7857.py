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
