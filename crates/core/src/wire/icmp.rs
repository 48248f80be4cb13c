//! ICMP types and codes (RFC 792, RFC 4443).
