"""RFC 2765: SIIT, as RFC 2766 refers to it. RFC 7915 has taken its place, and its vectors show what has stayed."""

from table import *

rfc(2765)

requirement("3", MUST, "Without DF, a packet that would exceed 1280 bytes is fragmented before it is translated.",
            see=["rfc7915-4.1-df-0-1261-split-at-1280", "rfc7915-4.1-df-0-1280-split-at-1280",
                 "rfc7915-4.1-df-0-4000-split-in-four"])
requirement("3", MUST, "Without DF, there is always a fragment header.",
            status="no: RFC 7915 section 4 says that a packet which needs no fragmentation gets none")
requirement("3.1", SHOULD, "The type of service can be ignored.", see=["rfc7915-4.1-tos-ignored"])
requirement("3.1", MUST, "A packet with an unexpired source route is dropped.",
            see=["rfc7915-4.1-source-route-loose-refused", "rfc7915-4.1-source-route-strict-refused"])
requirement("3.1", SHOULD, "Its sender is told.",
            see=["rfc7915-4.1-source-route-loose-refused", "rfc7915-4.1-source-route-strict-refused"])
requirement("3.2", SHOULD, "Fragments of a UDP datagram without a checksum are dropped, the first one with an event. "
            "A translator with state reassembles them.",
            see=["rfc7915-4.5-udp-without-checksum-first-fragment", "rfc6146-3.4-fragments-without-checksum-in-order"])
requirement("3.2", MUST, "An unfragmented UDP packet without a checksum gets one.", see=["rfc6146-3.4-udp-without-checksum"])
requirement("3.2", SHOULD, "It is counted.", see=["rfc6146-3.4-udp-without-checksum"])
requirement("3.3", MUST, "Where an ICMP error has no MTU, a plateau of RFC 1191 stands for it.",
            see=["rfc7915-4.2-plateau-for-1500", "rfc7915-4.2-plateau-for-1300"])
requirement("4.1", SHOULD, "The traffic class can be ignored.", see=["rfc7915-5.1-traffic-class-ignored"])
requirement("4.1", MUST, "A packet with a routing header that has segments left is not translated, and its sender is told.",
            see=["rfc7915-5.1-segments-left-first", "rfc7915-5.1-segments-left-two-left"])
requirement("5", MUST, "A host with both protocols uses an IPv4-translatable source for an IPv4-mapped destination only.",
            status="operator: the host's own stack")
requirement("5", SHOULD, "A host does not fall back to A records where there are AAAA records.",
            status="operator: the host's own resolver")
