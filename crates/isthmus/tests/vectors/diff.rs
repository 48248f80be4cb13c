//! Shows a packet, and the differences between two packets, by field and by byte.

use std::fmt::Write as _;

use super::names;

/// Formats a packet in lines of 16 bytes.
pub(crate) fn dump(packet: &[u8]) -> String {
    lines(packet, &[])
}

/// Formats two packets that differ at these offsets: the fields, then both as bytes with the differing ones
/// marked.
pub(crate) fn diff(expected: &[u8], actual: &[u8], at: &[usize]) -> String {
    let mut text = String::new();
    if expected.len() != actual.len() {
        let _ = writeln!(
            text,
            "    {} bytes expected, {} found",
            expected.len(),
            actual.len()
        );
    }
    for (start, length, name) in names::fields(expected) {
        let (wanted, found) = (span(expected, start, length), span(actual, start, length));
        let marked = at
            .iter()
            .any(|&offset| (start..start + length).contains(&offset));
        if marked || (wanted != found && expected.len() != actual.len()) {
            let _ = writeln!(
                text,
                "    {name}: expected {}, found {}",
                hex(wanted),
                hex(found)
            );
        }
    }
    let _ = write!(
        text,
        "  expected\n{}  found\n{}",
        lines(expected, at),
        lines(actual, at)
    );
    text
}

fn span(packet: &[u8], start: usize, length: usize) -> &[u8] {
    packet
        .get(start..(start + length).min(packet.len()))
        .unwrap_or_default()
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Differing bytes have a `*`. Bytes after the 160th are left out unless they differ.
fn lines(packet: &[u8], marks: &[usize]) -> String {
    let mut text = String::new();
    for (number, row) in packet.chunks(16).enumerate() {
        let start = number * 16;
        if start >= 160
            && !marks
                .iter()
                .take(64)
                .any(|at| (start..start + 16).contains(at))
        {
            continue;
        }
        let _ = write!(text, "    {start:04x} ");
        for (column, byte) in row.iter().enumerate() {
            let mark = if marks.contains(&(start + column)) {
                '*'
            } else {
                ' '
            };
            let _ = write!(text, "{mark}{byte:02x}");
        }
        text.push('\n');
    }
    text
}
