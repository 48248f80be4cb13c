"""RFC 9110 and RFC 9112: HTTP, as far as a proxy is concerned. Shown by the tests of `crates/proxy`, not by packets."""

from table import *

LINES = ["rfc9112_2_lines_and_fields"]
TARGETS = ["rfc9112_3_targets"]
REQUESTS = ["rfc9112_6_where_a_request_ends"]
RESPONSES = ["rfc9112_6_where_a_response_ends"]
HOPS = ["rfc9110_7_6_one_connection"]
SERVERS = ["rfc9112_4_heads_of_servers"]

rfc(9110)

requirement("5.5", MUST, "Values with CR, LF or NUL are refused, or these become spaces.", tests=LINES + SERVERS)
requirement("5.3", MUST, "Fields of one name keep their order.", tests=LINES + SERVERS)
requirement("7.6.1", MUST, "Connection, and the fields that it names, are not forwarded.", tests=HOPS + SERVERS)
requirement("7.6.2", MUST, "OPTIONS with Max-Forwards 0 is answered here, and loses one otherwise.", tests=TARGETS)
requirement("7.6.3", MUST, "Via says the version of the sender and who forwards, in both directions.", tests=HOPS + SERVERS)
requirement("7.7", MUST, "Path and query are forwarded as they are.", tests=TARGETS)
requirement("7.8", MAY, "A change of protocol is passed on: to WebSocket, and to no other.",
            tests=["a_web_socket_works_from_end_to_end", "a_refused_upgrade_is_a_response_like_any_other"])
requirement("7.8", MUST, "Nobody changes to a protocol that the client has not named. HTTP/1.0 cannot ask.",
            tests=HOPS + ["no_other_protocol_gets_through"])
requirement("8.6", MUST, "No length is forwarded that is not the length; none beside 204.", tests=REQUESTS + RESPONSES)
requirement("9.3.2", MUST, "A response to HEAD has no content, and may have its length.", tests=RESPONSES)
requirement("9.3.6", MUST, "CONNECT needs a host and a port; 2xx to it has neither length nor coding.", tests=TARGETS)
requirement("10.1.1", MUST, "Who expects 100-continue gets 100, or the response at once. HTTP/1.0 gets no 100.",
            tests=HOPS + ["a_client_that_waits_to_continue_is_told_to"])
requirement("10.1.1", MAY, "Other expectations get 417.", tests=HOPS)
requirement("11.7.2", MUST, "Proxy-Authorization is not forwarded.",
            tests=HOPS + ["http_needs_a_password_that_goes_no_further"])
requirement("15.2", MUST, "Responses before the last are forwarded, and not to HTTP/1.0.", tests=SERVERS)
requirement("15.5.15", MUST, "A target that is too long gets 414.", tests=["rfc9112_3_sizes"])

rfc(9112)

requirement("2.2", SHOULD, "Empty lines in front of a request are skipped.", tests=LINES)
requirement("2.2", MUST, "CR alone is no end of a line, and space in front of the first field is refused.", tests=LINES)
requirement("2.3", MUST, "The version that is forwarded is our own.", tests=LINES + SERVERS)
requirement("3.2", MUST, "HTTP/1.1 without Host, with two, or with one that is none gets 400.", tests=TARGETS)
requirement("3.2.2", MUST, "The host of the target replaces Host.", tests=TARGETS)
requirement("3.2.4", MUST, "OPTIONS without a path is forwarded for `*`.",
            status="no: for `/`; hyper does not tell one from the other, and browsers ask about `/`")
requirement("5.1", MUST, "Space in front of a colon gets 400; in a response it is taken out.", tests=LINES + SERVERS)
requirement("5.2", MUST, "Folded lines get 400, and 502 in a response.", tests=LINES + SERVERS)
requirement("6.1", MUST, "A coding in HTTP/1.0 gets 400.", tests=REQUESTS)
requirement("6.1", SHOULD, "A coding that is not known gets 501, and 502 in a response.", tests=REQUESTS + RESPONSES)
requirement("6.3", MUST, "A length beside a coding is not forwarded, and the connection ends after the response.",
            tests=REQUESTS + RESPONSES)
requirement("6.3", MUST, "chunked that is not last gets 400, and the connection ends.", tests=REQUESTS)
requirement("6.3", MUST, "Lengths that differ or are none get 400, and 502 in a response.", tests=REQUESTS + RESPONSES)
requirement("6.3", MUST, "What a server sends behind its response is not another.", tests=RESPONSES)
requirement("7.1", MUST, "Chunks are read, also with extensions and in any case; what is none breaks off.",
            tests=REQUESTS + RESPONSES)
requirement("8", MUST, "Content that breaks off is not made whole, in either direction.",
            tests=RESPONSES + ["a_client_that_leaves_in_the_middle_has_sent_no_request"])
requirement("9.3", MUST, "No connection of HTTP/1.0 is kept.", tests=HOPS)
requirement("9.3.1", MUST, "No request is sent twice that a server may have seen.",
            tests=["a_kept_connection_carries_the_next_request_and_a_closed_one_does_not"])
requirement("9.3.2", MUST, "Requests that come at once are answered in their order.",
            tests=HOPS + ["pipelined_requests_are_answered_in_order"])
requirement("9.6", MUST, "Nothing is answered after close.", tests=HOPS)
