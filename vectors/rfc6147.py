"""RFC 6147: DNS64. Its requirements are shown by the tests of `crates/dns64`, not by packets."""

from table import *

rfc(6147)

requirement("3", MUST, "Case 1, DO clear: answers are synthesized.", tests=["rfc6147_3_case_1_do_clear_is_synthesized"])
requirement("3", MUST, "Case 3, DO set and CD clear, not validating: the same, without AD.",
            tests=["rfc6147_3_case_3_do_set_and_cd_clear_is_synthesized_without_validation"])
requirement("5", SHOULD, "Ranges of IPv4 addresses have prefixes of their own.", tests=["rfc6147_5_1_7_ranges_select_the_prefix"])
requirement("5.1", MUST, "Classes other than IN are answered as if there were no DNS64.",
            tests=["rfc6147_5_1_other_classes_have_no_dns64"])
requirement("5.1.1", MUST, "By default nothing is synthesized where real AAAA exist.",
            tests=["rfc6147_5_1_1_real_aaaa_is_passed_and_nothing_is_synthesized"])
requirement("5.1.1", SHOULD, "Synthetic and real AAAA are not mixed.",
            tests=["rfc6147_5_1_1_real_aaaa_is_passed_and_nothing_is_synthesized"])
requirement("5.1.2", MUST, "Name Error is handled as usual.", tests=["rfc6147_5_1_2_nxdomain_is_passed"])
requirement("5.1.2", MUST, "Any other error counts as an empty answer.", tests=["rfc6147_5_1_2_other_errors_count_as_empty"])
requirement("5.1.3", MUST, "A timeout counts as Server Failure.", tests=[
    "rfc6147_5_1_3_a_timeout_counts_as_server_failure_and_so_as_empty", "rfc6147_5_1_3_no_reply_at_all_is_server_failure"])
requirement("5.1.4", SHOULD, "AAAA in prefixes that can be configured count as absent.",
            tests=["rfc6147_5_1_4_the_exclusion_set_is_configurable"])
requirement("5.1.4", SHOULD, "::ffff:0:0/96 is among them by default.", tests=["rfc6147_5_1_4_default_exclusion"])
requirement("5.1.4", MUST, "An answer of nothing but such AAAA counts as empty.",
            tests=["rfc6147_5_1_4_only_excluded_aaaa_count_as_empty"])
requirement("5.1.4", SHOULD, "If there are others, the answer has these only.",
            tests=["rfc6147_5_1_4_excluded_aaaa_are_taken_out_of_an_answer"])
requirement("5.1.4", MUST, "The excluded ones are never returned.",
            tests=["rfc6147_5_1_4_excluded_aaaa_never_come_back_when_there_is_no_a",
                   "rfc6147_5_1_4_excluded_aaaa_of_someone_else_do_not_come_along"])
requirement("5.1.5", MUST, "CNAME and DNAME are followed to the first A or AAAA.",
            tests=["rfc6147_5_1_5_a_chain_that_upstream_does_not_follow_is_followed", "rfc6147_5_1_5_loops_end_in_server_failure"])
requirement("5.1.5", MUST, "The chain is part of the answer.",
            tests=["rfc6147_5_1_5_the_cname_chain_is_part_of_the_answer", "rfc6147_5_1_5_the_dname_is_part_of_the_answer"])
requirement("5.1.6", MUST, "An empty answer or an error for A is the basis of the answer for AAAA.",
            tests=["rfc6147_5_1_6_an_empty_answer_for_a_gives_the_empty_answer_for_aaaa", "rfc6147_5_1_6_an_error_for_a_is_the_answer"])
requirement("5.1.6", MUST, "The A records are not in the answer.", tests=["rfc6147_5_1_6_a_records_are_not_in_the_answer"])
requirement("5.1.7", MUST, "Name, type, class and data of the synthetic AAAA.", tests=["rfc6147_7_1_example"])
requirement("5.1.7", MUST, "Its TTL is the lesser of that of the A and of the SOA.",
            tests=["rfc6147_5_1_7_ttl_is_the_lesser_of_a_and_soa"])
requirement("5.1.7", SHOULD, "Without an SOA it is at most 600 seconds.", tests=["rfc6147_5_1_7_without_soa_the_ttl_is_at_most_600"])
requirement("5.1.7", MUST, "Each A is checked against the configured ranges.",
            tests=["rfc6147_5_1_7_addresses_that_no_prefix_has_give_the_empty_answer"])
requirement("5.1.8", MAY, "AAAA and A are asked for in parallel.", status="no: one after the other")
requirement("5.2", MUST, "The algorithm of RFC 6052 is there, is the default, and is the one of the translator.",
            tests=["rfc6147_5_2_one_aaaa_for_each_prefix_in_every_length_of_rfc6052_2_4"])
requirement("5.2", MUST, "Configured prefixes are used, and then not the well-known one.",
            tests=["rfc6147_5_2_with_a_prefix_the_well_known_one_is_not_used"])
requirement("5.2", MUST, "Without a prefix the well-known one is used.",
            tests=["rfc6147_5_2_without_a_prefix_the_well_known_one_is_used"])
requirement("5.3.1", MUST, "PTR questions for addresses under a prefix are answered, here by a CNAME into in-addr.arpa.",
            tests=["rfc6147_5_3_1_ptr_is_a_cname_into_in_addr_arpa_with_its_data", "rfc6147_5_3_1_the_well_known_prefix_matches_too"])
requirement("5.3.1", SHOULD, "The CNAME leads to data, and makes no chain longer.",
            tests=["rfc6147_5_3_1_no_cname_to_nothing", "rfc6147_5_3_1_an_existing_cname_does_not_make_the_chain_longer"])
requirement("5.3.1", MUST, "Other PTR questions are questions like any other.", tests=["rfc6147_5_3_1_other_ptr_questions_are_passed"])
requirement("5.3.2", MUST, "Nothing is synthesized in the additional section, which stays as it is.",
            tests=["rfc6147_5_3_2_the_additional_section_is_unchanged"])
requirement("5.3.3", MUST, "All other records are returned unchanged.", tests=["rfc6147_5_3_3_other_records_are_unchanged"])
requirement("5.4", MUST, "The question is copied; truncation and EDNS follow the usual rules.",
            tests=["rfc6147_5_4_the_question_is_copied_with_its_case", "rfc1035_4_2_1_without_edns_512_bytes",
                   "rfc6891_6_2_5_the_size_that_the_client_says_holds"])
requirement("5.5", SHOULD, "With CD clear the answers are validated.",
            status="no: validation is left to the resolver that is asked, which gets DO and CD as they came",
            tests=["rfc6147_5_5_do_and_cd_go_upstream_as_they_came"])
requirement("5.5", MUST, "With DO clear AD is never set.", tests=["rfc6147_3_case_1_do_clear_is_synthesized"])
requirement("5.5", MUST, "With DO and CD set nothing is synthesized, and all data are passed.",
            tests=["rfc6147_5_5_do_and_cd_set_is_not_synthesized"])
