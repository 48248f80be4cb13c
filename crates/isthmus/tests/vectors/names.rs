//! Names of the fields of a packet, for readers of a failure.

/// A field: offset, length and name.
pub(crate) type Field = (usize, usize, String);

const IPV4: [(usize, usize, &str); 10] = [
    (0, 1, "version, header length"),
    (1, 1, "type of service"),
    (2, 2, "total length"),
    (4, 2, "identification"),
    (6, 2, "flags, fragment offset"),
    (8, 1, "TTL"),
    (9, 1, "protocol"),
    (10, 2, "header checksum"),
    (12, 4, "source"),
    (16, 4, "destination"),
];
const IPV6: [(usize, usize, &str); 6] = [
    (0, 4, "version, traffic class, flow label"),
    (4, 2, "payload length"),
    (6, 1, "next header"),
    (7, 1, "hop limit"),
    (8, 16, "source"),
    (24, 16, "destination"),
];
const FRAGMENT: [(usize, usize, &str); 4] = [
    (0, 1, "next header"),
    (1, 1, "reserved"),
    (2, 2, "offset, M"),
    (4, 4, "identification"),
];
const UDP: [(usize, usize, &str); 4] = [
    (0, 2, "source port"),
    (2, 2, "destination port"),
    (4, 2, "length"),
    (6, 2, "checksum"),
];
const TCP: [(usize, usize, &str); 9] = [
    (0, 2, "source port"),
    (2, 2, "destination port"),
    (4, 4, "sequence"),
    (8, 4, "acknowledgement"),
    (12, 1, "data offset"),
    (13, 1, "flags"),
    (14, 2, "window"),
    (16, 2, "checksum"),
    (18, 2, "urgent pointer"),
];
const ICMP: [(usize, usize, &str); 5] = [
    (0, 1, "type"),
    (1, 1, "code"),
    (2, 2, "checksum"),
    (4, 2, "identifier, length or pointer"),
    (6, 2, "sequence or MTU"),
];

/// Returns the fields of an IP packet and of the packet that it quotes.
pub(crate) fn fields(packet: &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    walk(packet, 0, "", &mut fields);
    fields
}

fn walk(packet: &[u8], start: usize, prefix: &str, fields: &mut Vec<Field>) {
    let Some(first) = packet.get(start) else {
        return;
    };
    let mut add = |at: usize, layer: &str, list: &[(usize, usize, &str)]| {
        fields.extend(list.iter().map(|(offset, length, name)| {
            (at + offset, *length, format!("{prefix}{layer} {name}"))
        }));
    };
    let byte = |at: usize| packet.get(at).copied().unwrap_or(0);
    let (mut at, mut protocol, mut later) = (start, 0, false);
    if first >> 4 == 4 {
        add(at, "IPv4", &IPV4);
        protocol = byte(at + 9);
        later = (byte(at + 6) & 0x1f, byte(at + 7)) != (0, 0);
        at += usize::from(first & 15) * 4;
    } else if first >> 4 == 6 {
        add(at, "IPv6", &IPV6);
        protocol = byte(at + 6);
        at += 40;
        if protocol == 44 {
            add(at, "fragment", &FRAGMENT);
            protocol = byte(at);
            later = (byte(at + 2), byte(at + 3) & 0xf8) != (0, 0);
            at += 8;
        }
    }
    let (layer, list, length): (&str, &[(usize, usize, &str)], usize) = match protocol {
        _ if later => ("", &[], 0),
        6 => ("TCP", &TCP, 20),
        17 => ("UDP", &UDP, 8),
        1 => ("ICMP", &ICMP, 8),
        58 => ("ICMPv6", &ICMP, 8),
        _ => ("", &[], 0),
    };
    add(at, layer, list);
    let error = match protocol {
        1 => matches!(byte(at), 3 | 4 | 5 | 11 | 12),
        58 => byte(at) < 128,
        _ => false,
    };
    if error && !later && prefix.is_empty() {
        walk(packet, at + length, "inner ", fields);
    }
}
