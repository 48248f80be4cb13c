//! DNS64 (RFC 6147): a forwarding resolver that makes AAAA records of A records, so that hosts
//! with IPv6 alone find hosts with IPv4 alone.
//!
//! It asks real resolvers over UDP and TCP and keeps their answers; it neither walks the tree of
//! names nor validates DNSSEC. [`Server::start`] runs it; [`respond()`] is all of it but sockets,
//! cache and clock.
//!
//! Reading order: [`config`] has its settings; `query` and `wire` read what a client sends;
//! `triage` sorts out what can be said at once, with `special` for the names that are ours;
//! `resolution` is RFC 6147 itself, without socket or clock, with `chain` for aliases, `reverse`
//! for names of addresses and [`Policy`] for what to synthesize; `ask`, `cookie` and `upstream` put
//! questions; `answer` and `cache` keep what came; `guard` says what a client may take, with `access`
//! and `client`; `engine` puts these together for one message, and `udp`, `tcp` and [`datagram`] bring the
//! messages. [`lookup`] asks for itself what RFC 7050 asks of a DNS64, and [`Resolver`] what other services of the
//! gateway want to know.
//!
//! # Requirements and tests
//!
//! Messages are made and read by hickory-proto in all tests but those of `wire`, `query` and
//! `ask`; `dig_through_to_dnsmasq` and `dig_through_to_unbound` repeat the main ones with programs
//! that know nothing of this one.
//!
//! | requirement | status | test |
//! |---|---|---|
//! | RFC 6147 §3 case 1: DO clear, DNSSEC is no concern | yes | `rfc6147_3_case_1_do_clear_is_synthesized` |
//! | RFC 6147 §3 case 3: DO set, CD clear, not validating: synthesis, never AD | yes | `rfc6147_3_case_3_do_set_and_cd_clear_is_synthesized_without_validation` |
//! | RFC 6147 §3 case 4, §5.5 item 3: DO and CD set: no synthesis, all data passed | yes | `rfc6147_5_5_do_and_cd_set_is_not_synthesized` |
//! | RFC 6147 §3 cases 5 and 6, §5.5 items 1 and 2: validating | no: the resolver asked validates, and gets DO and CD as the client set them | `rfc6147_5_5_do_and_cd_go_upstream_as_they_came` |
//! | RFC 6147 §5: IPv4 ranges to prefixes (SHOULD) | yes | `rfc6147_5_1_7_ranges_select_the_prefix` |
//! | RFC 6147 §5.1: classes other than IN as if there were no DNS64 (MUST) | yes | `rfc6147_5_1_other_classes_have_no_dns64` |
//! | RFC 6147 §5.1.1: no synthesis when real AAAA exist (MUST NOT) | yes | `rfc6147_5_1_1_real_aaaa_is_passed_and_nothing_is_synthesized` |
//! | RFC 6147 §5.1.2: RCODE 3 as usual | yes | `rfc6147_5_1_2_nxdomain_is_passed` |
//! | RFC 6147 §5.1.2: other RCODEs as RCODE 0 and empty | yes | `rfc6147_5_1_2_other_errors_count_as_empty` |
//! | RFC 6147 §5.1.3: timeout as RCODE 2 | yes | `rfc6147_5_1_3_a_timeout_counts_as_server_failure_and_so_as_empty`, `rfc6147_5_1_3_silence_on_aaaa_leaves_time_for_a` |
//! | RFC 6147 §5.1.4: exclusion set (SHOULD), ::ffff:0:0/96 by default (SHOULD) | yes | `rfc6147_5_1_4_the_exclusion_set_is_configurable`, `rfc6147_5_1_4_default_exclusion` |
//! | RFC 6147 §5.1.4: only excluded AAAA count as empty (MUST) | yes | `rfc6147_5_1_4_only_excluded_aaaa_count_as_empty` |
//! | RFC 6147 §5.1.4: answer of the AAAA that are not excluded (SHOULD) | yes | `rfc6147_5_1_4_excluded_aaaa_are_taken_out_of_an_answer` |
//! | RFC 6147 §5.1.4: excluded AAAA never returned (MUST NOT) | yes, but with DO and CD set, where §3 case 4 wants all data | `rfc6147_5_1_4_excluded_aaaa_never_come_back_when_there_is_no_a` |
//! | RFC 6147 §5.1.5: CNAME and DNAME followed | yes | `rfc6147_5_1_5_a_chain_that_upstream_does_not_follow_is_followed`, `rfc6147_5_1_5_loops_end_in_server_failure` |
//! | RFC 6147 §5.1.5: the chain is in the answer | yes | `rfc6147_5_1_5_the_cname_chain_is_part_of_the_answer`, `rfc6147_5_1_5_the_dname_is_part_of_the_answer` |
//! | RFC 6147 §5.1.6: empty answer or error for A | yes | `rfc6147_5_1_6_an_empty_answer_for_a_gives_the_empty_answer_for_aaaa`, `rfc6147_5_1_6_an_error_for_a_is_the_answer` |
//! | RFC 6147 §5.1.6: A records are removed | yes | `rfc6147_5_1_6_a_records_are_not_in_the_answer` |
//! | RFC 6147 §5.1.7: NAME, TYPE, CLASS, RDATA | yes | `rfc6147_7_1_example`, `rfc6147_5_1_5_the_cname_chain_is_part_of_the_answer` |
//! | RFC 6147 §5.1.7: TTL the lesser of A and SOA | yes | `rfc6147_5_1_7_ttl_is_the_lesser_of_a_and_soa` |
//! | RFC 6147 §5.1.7: without SOA at most 600 s (SHOULD) | yes | `rfc6147_5_1_7_without_soa_the_ttl_is_at_most_600` |
//! | RFC 6147 §5.1.7: each A checked against ranges (MUST) | yes | `rfc6147_5_1_7_addresses_that_no_prefix_has_give_the_empty_answer` |
//! | RFC 6147 §5.1.8: AAAA and A in parallel (MAY) | no: one after the other | |
//! | RFC 6147 §5.2: the algorithm of RFC 6052 §2 by default (MUST), several prefixes | yes | `rfc6147_5_2_one_aaaa_for_each_prefix_in_every_length_of_rfc6052_2_4` |
//! | RFC 6147 §5.2: configured prefixes, and not the well-known one (MUST) | yes | `rfc6147_5_2_with_a_prefix_the_well_known_one_is_not_used` |
//! | RFC 6147 §5.2: without a prefix the well-known one (MUST) | yes | `rfc6147_5_2_without_a_prefix_the_well_known_one_is_used` |
//! | RFC 6147 §5.3.1: PTR, second option: CNAME into in-addr.arpa (MUST provide one) | yes | `rfc6147_5_3_1_ptr_is_a_cname_into_in_addr_arpa_with_its_data` |
//! | RFC 6147 §5.3.1: the CNAME points to data (SHOULD) | yes | `rfc6147_5_3_1_no_cname_to_nothing` |
//! | RFC 6147 §5.3.1: no longer chain by it (SHOULD) | yes: it points to the end of a chain that is there | `rfc6147_5_3_1_an_existing_cname_does_not_make_the_chain_longer` |
//! | RFC 6147 §5.3.1: configured prefixes and the well-known one | yes | `rfc6147_5_3_1_the_well_known_prefix_matches_too` |
//! | RFC 6147 §5.3.1: other PTR questions as any (MUST) | yes | `rfc6147_5_3_1_other_ptr_questions_are_passed` |
//! | RFC 6147 §5.3.2: additional section unchanged (MUST) | yes | `rfc6147_5_3_2_the_additional_section_is_unchanged` |
//! | RFC 6147 §5.3.3: other records unchanged (MUST) | yes | `rfc6147_5_3_3_other_records_are_unchanged` |
//! | RFC 6147 §5.4: question copied, sections of the final reply | yes | `rfc6147_5_4_the_question_is_copied_with_its_case`, `rfc6147_5_3_2_the_additional_section_is_unchanged` |
//! | RFC 6147 §5.4: truncation and EDNS by the usual rules | yes | `rfc1035_4_2_1_without_edns_512_bytes`, `rfc6891_6_2_5_the_size_that_the_client_says_holds`, `rfc6891_6_1_1_opt_is_in_the_response_if_it_was_in_the_query`, `rfc6891_6_1_3_other_versions_get_badvers` |
//! | RFC 6052 §3.1: no non-global IPv4 under 64:ff9b::/96 (MUST NOT) | yes | `rfc6052_3_1_private_addresses_are_not_synthesized_under_the_well_known_prefix` |
//! | RFC 7050 §3, RFC 8880 §7.1: ipv4only.arpa AAAA under every prefix (MUST) | yes | `rfc8880_7_1_ipv4only_arpa_aaaa_under_every_prefix` |
//! | RFC 8880 §7.1: ipv4only.arpa A (MUST) | yes | `rfc8880_7_1_ipv4only_arpa_a` |
//! | RFC 8880 §7.1: other types empty, never asked upstream (MUST) | yes | `rfc8880_7_1_ipv4only_arpa_has_nothing_else` |
//! | RFC 8880 §7.1: NXDOMAIN below it (MUST) | yes | `rfc8880_7_1_below_ipv4only_arpa_is_nothing` |
//! | RFC 8880 §7.1: DS the usual way | yes | `rfc8880_7_1_ds_is_resolved_the_usual_way` |
//! | RFC 8880 §7.2.1: reverse names of its synthesized addresses | yes | `rfc8880_7_2_1_reverse_names_of_the_well_known_addresses` |
//! | RFC 2308 §5: negative answers kept by their SOA, not without | yes | `rfc2308_5_ttls_count_down_and_answers_end`, `rfc2308_5_how_long_answers_are_kept` |
//! | RFC 5358 §4: no answers to everybody by default, lists of clients | yes | `rfc5358_4_strangers_are_not_admitted_by_default`, `rfc5358_4_strangers_are_refused` |
//! | RFC 5358 §4: TSIG or SIG(0), per interface | no: lists of addresses | |
//! | RFC 5452 §9: ID, port and question | yes | `rfc5452_9_2_ids_and_ports_vary`, `rfc5452_9_forged_replies_are_passed_over`, `rfc5452_4_2_only_the_reply_to_our_question_counts` |
//! | draft-vixie-dnsext-dns0x20: letters in upper or lower case at random | yes | `every_question_is_spelled_by_chance_and_clients_do_not_see_it`, `a_reply_in_another_spelling_is_not_believed` |
//! | RFC 7873 §5.2, §5.3: DNS cookies towards upstream | yes | `rfc7873_4_a_question_with_a_cookie`, `rfc7873_5_3_what_a_client_believes`, `rfc7873_5_3_a_reply_without_the_cookie_is_not_believed`, `rfc7873_5_3_a_known_server_without_its_cookie_is_asked_over_tcp`, `rfc7873_5_3_badcookie_is_answered_with_the_new_cookie` |
//! | RFC 7873 §5.2: cookies for our own clients | no: strangers are refused, and who asks too much over UDP is told to use TCP | |
//! | RFC 9018 §3: another client cookie for another address of ours | yes | `rfc9018_3_another_address_has_another_cookie` |
//! | RFC 7766 §6.2: pipelining, answers out of order, bounds on idle connections | yes | `rfc7766_6_2_1_1_pipelined_queries_are_answered_as_they_are_ready`, `tcp_connections_are_bounded_and_idle_ones_closed` |
//! | RFC 8482 §4.2: ANY | yes | `rfc8482_4_2_any_is_one_hinfo` |
#![warn(missing_docs)]

mod access;
mod answer;
mod ask;
mod cache;
mod chain;
mod client;
pub mod config;
mod cookie;
pub mod counter;
pub mod datagram;
mod engine;
mod guard;
pub mod lookup;
mod policy;
mod query;
mod resolution;
mod resolver;
mod respond;
mod reverse;
mod server;
mod special;
mod tcp;
mod triage;
mod udp;
mod upstream;
mod wire;

pub use access::Allow;
pub use answer::Transport;
pub use ask::{Ask, Dialect, NotOurs, Reply};
pub use client::{Client, Share, Shares};
pub use config::{Config, ConfigError, NonGlobal, Translation};
pub use cookie::Cookie;
pub use counter::{Counter, Counters, Kind};
pub use policy::Policy;
pub use query::{UDP_MAX, UDP_PLAIN};
pub use resolver::{Family, NoAddress, Resolver};
pub use respond::respond;
pub use server::{Handle, Server, StartError};
