"""RFC 8781: the prefix of a NAT64 in router advertisements. Shown by tests: no packet is translated."""

from table import *

rfc(8781)
requirement("4", MUST, "The option has a length of 2, type 38 and the prefix length as a code.",
            tests=["rfc8781_4_the_figure"])
requirement("4", MUST, "Options of another length, or with another code, are ignored.",
            tests=["rfc8781_4_what_is_ignored", "hostile_advertisements_are_refused"])
requirement("4.1", MUST, "The lifetime is in units of 8 seconds.", tests=["rfc8781_4_the_figure"])
requirement("4.1", SHOULD, "A lifetime of 0 ends the use of a prefix.",
            tests=["rfc8781_4_1_a_lifetime_of_zero_removes"])
requirement("4.1", SHOULD, "The lifetime is three times the interval by default; other lifetimes are rounded up.",
            tests=["rfc8781_4_1_lifetimes"])
requirement("5.1", SHOULD, "One source counts: router advertisements before the DNS.",
            tests=["rfc8781_5_1_routers_come_before_the_dns", "a_clat_asks_the_dns"])
requirement("5.1", SHOULD, "A prefix is that of the link that it was heard on.",
            tests=["rfc8781_5_1_another_link_has_other_prefixes"])
requirement("5.2", SHOULD, "Routers that announce compare what others announce on the link.",
            tests=["routers_that_disagree_are_told_of"])
