"""RFC 7873: DNS cookies. Shown by the tests of `crates/dns64`, not by packets."""

from table import *

rfc(7873)

requirement("4", MUST, "The option has number 10, eight bytes of the client, and none or 8 to 32 of the server.",
            tests=["rfc7873_4_a_question_with_a_cookie", "rfc7873_5_3_what_a_client_believes"])
requirement("5.1", SHOULD, "A question has the server's part if one is known.",
            tests=["rfc7873_5_3_a_reply_without_the_cookie_is_not_believed"])
requirement("5.2", MAY, "The service itself has cookies for its clients.",
            status="no: strangers are refused, and who asks too much over UDP is told to use TCP")
requirement("5.3", MUST, "A reply with another client cookie is discarded.",
            tests=["rfc7873_5_3_a_reply_without_the_cookie_is_not_believed"])
requirement("5.3", MUST, "A reply without a cookie from a server that has them is discarded.",
            tests=["rfc7873_5_3_a_known_server_without_its_cookie_is_asked_over_tcp"])
requirement("5.3", SHOULD, "After BADCOOKIE the question is repeated with the cookie that came, and then over TCP.",
            tests=["rfc7873_5_3_badcookie_is_answered_with_the_new_cookie"])
requirement("4.1", SHOULD, "The client's cookie is another one for each server, and for each address of the client.",
            tests=["rfc9018_3_another_address_has_another_cookie"])
