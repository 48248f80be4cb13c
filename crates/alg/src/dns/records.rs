//! The records of answers.

use std::net::Ipv4Addr;

use hickory_proto::op::Message;
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use isthmus_core::address::rfc6052::Prefix;
use isthmus_core::address::special;

use crate::Translator;

/// Makes AAAA of the A records of an answer (RFC 2766 section 4.2). Their TTL stays: the prefix does.
pub(super) fn embed(message: &mut Message, prefix: &Prefix) {
    each(message, |record| {
        let RData::A(A(address)) = record.data else {
            return true;
        };
        if special::is_illegal_destination_v4(address.into()) {
            return false;
        }
        record.data = RData::AAAA(AAAA(prefix.embed(address.into()).into()));
        true
    });
}

/// Makes A of the AAAA records of an answer, of which each host gets an address (RFC 2766 section 4.1). The TTL is 0
/// where the host may lose the address.
pub(super) fn assign(message: &mut Message, asker: Ipv4Addr, translator: &mut dyn Translator) {
    let prefix = translator.prefix();
    each(message, |record| {
        let RData::AAAA(AAAA(address)) = record.data else {
            return true;
        };
        // An address under the prefix stands for an IPv4 host already.
        if let Some(v4) = prefix.extract(address.into()) {
            record.data = RData::A(A(v4.into()));
            return true;
        }
        let Some(outside) = translator.outside(address, asker) else {
            return false;
        };
        record.data = RData::A(A(outside.address));
        if !outside.always {
            record.ttl = 0;
        }
        true
    });
}

/// Gives the records of an answer the name that was asked for. The TTL is 0, because another host may have the address
/// soon (RFC 2766 section 4.1).
pub(super) fn rename(message: &mut Message, name: &Name) {
    let asked = message.queries[0].name().clone();
    each(message, |record| {
        if record.name == asked {
            record.name.clone_from(name);
            record.ttl = 0;
        }
        true
    });
}

/// Changes each record of the answer, and leaves out those for which `change` is false, and all signatures: they are
/// about other records.
fn each(message: &mut Message, mut change: impl FnMut(&mut Record) -> bool) {
    message
        .answers
        .retain_mut(|record| record.record_type() != RecordType::RRSIG && change(record));
}
