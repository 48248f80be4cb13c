"""RFC 5358: Resolvers that are used against others. Shown by the tests of `crates/dns64`, not by packets."""

from table import *

rfc(5358)

requirement("4", SHOULD, "By default there is no recursive service for networks outside.",
            tests=["rfc5358_4_strangers_are_not_admitted_by_default", "rfc5358_4_strangers_are_refused"])
requirement("4", SHOULD, "Clients can be told apart by their addresses, and strangers get REFUSED.",
            tests=["rfc5358_4_strangers_are_refused"])
requirement("4", SHOULD, "They can be told apart by the interface, or by signed queries.",
            status="no: by addresses only, which `listen` and the firewall narrow down")
