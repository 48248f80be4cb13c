"""RFC 7648: a proxy of PCP, at a B4 and at a CLAT. Shown by tests: what it says is no translation."""

from table import *

rfc(7648)
requirement("3", SHOULD, "A mapping of which three quarters of the lifetime asked for are left is confirmed at once.",
            tests=["rfc7648_3_what_lasts_for_long_enough_is_answered_at_once"])
requirement("3", MUST, "With less left, the server is asked.",
            tests=["rfc7648_3_what_lasts_for_long_enough_is_answered_at_once"])
requirement("3", MUST, "The end of a mapping goes to the server, whether or not there is one.",
            status="partly: a CLAT without a port of its NAT for it has nothing that the server could know it by",
            tests=["rfc7648_3_an_end_goes_on_always", "rfc7648_3_a_port_of_the_nat_is_given_back_at_the_end"])
requirement("3", MUST, "The server is found as PCP clients find it: configured, or the default router.",
            status="yes: `server`, which for a B4 is 192.0.0.1, its default router (RFC 6333 section 10), if nothing else is said; "
                   "for a CLAT it is the anycast address of RFC 7723")
requirement("3", SHOULD, "A mapping of the NAT is temporary until the server confirms it.",
            tests=["rfc7648_3_a_port_of_the_nat_is_given_back_without_an_answer"])
requirement("3", MUST, "A lifetime longer than the server's is not granted without renewing it.",
            status="yes: that of the server is", tests=["rfc7648_3_the_response_goes_back_with_another_epoch"])
requirement("3", MUST, "The epoch is the proxy's own, not the server's.",
            tests=["rfc7648_3_the_response_goes_back_with_another_epoch"])
requirement("3", MAY, "It begins anew when the server has lost its state.",
            tests=["rfc7648_3_hosts_hear_of_it_when_the_server_forgets",
                   "rfc7648_3_ports_of_the_nat_are_given_back_when_the_server_forgets", "rfc6887_8_5_epochs"])
requirement("3.1", SHOULD, "Hairpinning does not go as far as the outermost NAT.", status="no: it does")
requirement("3.3", MUST, "Where no NAT is, the server is asked for a third party.",
            tests=["rfc7648_3_3_a_request_goes_on_as_that_of_a_third_party"])
requirement("3.3", MUST, "Where a NAT is, the server is asked from its address, for its port.",
            tests=["rfc7648_3_3_where_a_nat_is_the_server_is_asked_for_its_port"])
requirement("3.4", MUST, "Unknown opcodes and options are passed on.",
            status="partly: options, and the opcode PEER where no NAT is; others are refused",
            tests=["rfc7648_3_4_unknown_options_go_on"])
requirement("3.4.2", MUST, "Where a NAT is, this can be turned off.", status="no")
requirement("3.5", MUST, "ANNOUNCE is not passed on.", tests=["rfc7648_3_5_announcements_are_answered_here"])
requirement("3.5", MUST, "Hosts are told when mappings have changed.",
            status="yes: by a new epoch, in multicast announcements")
requirement("4", MUST, "A third party is asked for only where nobody else can be.",
            status="yes: in the softwire, whose far end takes it from the addresses of a B4 only",
            tests=["only_the_b4_asks_for_others_in_its_softwire"])
