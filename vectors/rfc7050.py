"""RFC 7050: finding the prefix of a NAT64 in what the DNS says. Shown by tests: no packet is translated."""

from table import *

rfc(7050)
requirement("3", MUST, "The AAAA records of ipv4only.arpa are asked for with checking not disabled.",
            tests=["rfc7050_3_addresses_with_the_least_ttl"])
requirement("3", MUST, "Well-known addresses are looked for in all six places of RFC 6052.",
            tests=["rfc7050_3_every_length", "rfc7050_3_what_is_no_prefix"])
requirement("3", MUST, "On octet boundaries, a well-known address is there only once; else the other one decides.",
            tests=["rfc7050_3_a_well_known_address_in_the_prefix"])
requirement("3", MUST, "All records are looked through; of several prefixes, their order counts.",
            status="partly: a translator uses one, the first; the one in use stays as long as it is told",
            tests=["rfc7050_3_4_the_example", "rfc7050_3_the_first_of_several_and_no_change_without_need"])
requirement("3", MUST, "After a negative response the question is repeated when its TTL has ended.",
            tests=["rfc7050_3_a_negative_response", "rfc7050_3_a_negative_response_holds"])
requirement("3", SHOULD, "After a timeout the question is repeated.", tests=["rfc7050_3_the_question_is_repeated"])
requirement("3", MUST, "The question is repeated ten seconds before the TTL ends.",
            tests=["rfc7050_3_the_question_is_repeated"])
requirement("3.1", SHOULD, "The resolver is asked over a secure channel, or DNSSEC is used.",
            status="no: the resolver, and the way to it, have to be trusted")
requirement("3.2", SHOULD, "A prefix that was found is tried before it is used.",
            status="no: the second way of that section, using it, is taken")
