//! Paper 001 in exact instructions: a translation on Linux and on a machine without an operating system, by system, by the
//! protocol above IP and by the length of the prefix.

use maud::{Markup, html};

use super::table::Table;
use crate::report::{amount, counted};

/// Both directions, as they stand in the names of rows.
const WAYS: [&str; 2] = ["4to6", "6to4"];

/// Returns the tables.
pub(super) fn tables() -> Markup {
    html! {
        p.about {
            "The same in instructions, which repeat on every machine: committed counts, not of this run. On Linux they are \
             what a packet takes beyond an XDP program that hands it on; without an operating system all that happens from \
             one card to the other."
        }
        div.figures {
            (table("A small packet of UDP through SIIT", &systems()))
            (table("Steps of our code in memory", &steps()))
            (table("A packet without an operating system, by protocol", &protocols()))
            (table("The whole translation, by the length of the prefix", &prefixes()))
        }
    }
}

/// A row: its name, and what it takes in each direction.
type Row = (String, [Option<f64>; 2]);

fn systems() -> Vec<Row> {
    let linux = |name: &str, row: &str| {
        (
            name.to_owned(),
            WAYS.map(|way| counted::packet(&row.replace("WAY", way))),
        )
    };
    vec![
        (
            "Isthmus without an operating system".into(),
            WAYS.map(|way| counted::bare(&format!("siit-{way}-128"))),
        ),
        linux("Isthmus in XDP", "siit-WAY-xdp"),
        linux("Isthmus in user space", "siit-WAY-user"),
        ("Jool".into(), [None, counted::packet("siit-jool")]),
        linux("TAYGA", "siit-WAY-tayga"),
        (
            "the kernel’s forwarding, which translates nothing".into(),
            ["kernel-forwarding-ipv4", "kernel-forwarding-ipv6"].map(counted::packet),
        ),
    ]
}

fn steps() -> Vec<Row> {
    let steps = [
        ("headers read and checked", "parse"),
        ("both addresses", "address"),
        ("TCP’s checksum", "tcp"),
        ("UDP’s checksum", "udp"),
        ("ICMP’s checksum", "icmp"),
        ("the whole", "header"),
    ];
    let row = |(name, step): (&str, &str)| {
        let counts = WAYS.map(|way| counted::step(&format!("{way}-{step}")));
        (name.to_owned(), counts)
    };
    steps.map(row).into()
}

fn protocols() -> Vec<Row> {
    let protocols = [("UDP", "prefix-96"), ("TCP", "tcp"), ("ICMP echo", "icmp")];
    let row = |(name, row): (&str, &str)| {
        let counts = WAYS.map(|way| counted::bare(&format!("siit-{way}-{row}")));
        (name.to_owned(), counts)
    };
    protocols.map(row).into()
}

fn prefixes() -> Vec<Row> {
    let lengths = [32, 40, 48, 56, 64, 96];
    let row = |name: &str, length: u8, counts| (format!("{length} bits, {name}"), counts);
    let linux = lengths.iter().map(|length| {
        let counts = WAYS.map(|way| counted::step(&format!("{way}-prefix-{length}")));
        row("our code on Linux", *length, counts)
    });
    let bare = lengths.iter().map(|length| {
        let counts = WAYS.map(|way| counted::bare(&format!("siit-{way}-prefix-{length}")));
        row("without an operating system", *length, counts)
    });
    linux.chain(bare).collect()
}

fn table(caption: &str, rows: &[Row]) -> Markup {
    let table = Table {
        class: Some("beside"),
        caption: html! { (caption) },
        heads: html! {
            th scope="col" { "instructions" }
            th.n scope="col" { "IPv4 to IPv6" }
            th.n scope="col" { "IPv6 to IPv4" }
        },
        rows: html! {
            @for (name, counts) in rows {
                tr {
                    th scope="row" { (name) }
                    @for count in counts {
                        td.n {
                            @match count {
                                Some(count) => (amount::grouped(*count)),
                                None => span.none { "not counted" },
                            }
                        }
                    }
                }
            }
        },
    };
    html! { div.card { (table) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tables_show_is_counted() {
        for rows in [steps(), protocols(), prefixes()] {
            for (name, counts) in rows {
                assert!(counts.iter().all(Option::is_some), "{name}");
            }
        }
        let none = systems()
            .into_iter()
            .flat_map(|(name, counts)| counts.map(|count| (name.clone(), count)))
            .filter(|(_, count)| count.is_none());
        let names: Vec<String> = none.map(|(name, _)| name).collect();
        assert_eq!(names, ["Isthmus in user space", "Jool"]);
    }
}
