//! Values as people read them: three figures and an SI prefix.

use crate::figures::results::Quantity;

/// A unit with a prefix, for a whole axis or one value.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The divisor of values.
    pub divisor: f64,
    /// The text after a value; empty for a plain share.
    pub name: String,
}

/// The unit of bits per second, as the papers write it.
const BITS: &str = "b/s";
const SMALL: [(f64, &str); 4] = [(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
const LARGE: [(f64, &str); 5] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

impl Unit {
    /// Returns the unit in which values up to `largest` are readable.
    pub fn of(quantity: Quantity, largest: f64) -> Self {
        let size = largest.abs();
        let with = |prefixes: &[(f64, &str)], separator: &str, unit: &str| {
            let last = prefixes[prefixes.len() - 1];
            let fits = |(divisor, _): &&(f64, &str)| size >= *divisor * 0.9995;
            let (divisor, prefix) = *prefixes.iter().find(fits).unwrap_or(&last);
            let separator = if prefix.is_empty() { "" } else { separator };
            Self {
                divisor,
                name: format!("{prefix}{separator}{unit}"),
            }
        };
        match (quantity, quantity.unit()) {
            (Quantity::Works, _) => Self::plain(""),
            (_, "1") => Self::percent(),
            (_, "bytes") => Self::plain("bytes"),
            (_, "bit/s") => with(&LARGE, "", BITS),
            // Zero has no prefix.
            (_, unit) if size == 0.0 => Self::plain(unit),
            (_, unit @ "s") => with(&SMALL, "", unit),
            (_, unit) => with(&LARGE, " ", unit),
        }
    }

    /// Returns the unit of shares.
    pub fn percent() -> Self {
        Self {
            divisor: 0.01,
            name: "%".into(),
        }
    }

    fn plain(name: &str) -> Self {
        Self {
            divisor: 1.0,
            name: name.into(),
        }
    }
}

/// Formats a value with its unit, such as `12.3 µs`.
pub fn amount(quantity: Quantity, value: f64) -> String {
    let unit = Unit::of(quantity, value);
    let number = number(value / unit.divisor);
    if unit.name.is_empty() {
        number
    } else {
        format!("{number} {}", unit.name)
    }
}

/// Formats a range in one unit, such as `1.2–3.4 µs`.
pub fn range(quantity: Quantity, [low, high]: [f64; 2]) -> String {
    let unit = Unit::of(quantity, high.abs().max(low.abs()));
    let (low, high) = (number(low / unit.divisor), number(high / unit.divisor));
    format!("{low}–{high} {}", unit.name).trim_end().to_owned()
}

/// Formats a share in per cent.
pub fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// Formats a number with three significant figures, without trailing zeros.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if value == 0.0 => return "0".into(),
        // Nobody reads more noughts than these.
        _ if size < 1e-4 => return "< 0.0001".into(),
        _ if size >= 1e7 => return grouped(value),
        _ if size >= 99.95 => format!("{value:.0}"),
        _ if size >= 9.995 => format!("{value:.1}"),
        _ if size >= 0.9995 => format!("{value:.2}"),
        _ => {
            let places = (2.0 - size.log10().floor()).clamp(0.0, 8.0) as usize;
            format!("{value:.places$}")
        }
    };
    let whole = text
        .split_once('.')
        .filter(|(_, fraction)| fraction.bytes().all(|digit| digit == b'0'));
    whole
        .map_or(text.as_str(), |(whole, _)| whole)
        .replacen('-', "−", 1)
}

/// Formats a whole number, with its thousands apart.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 {
        text.insert(0, '−');
    }
    text
}

/// Formats the value of a tick as short as it can be without loss. Ticks are round.
pub fn tick(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if value == 0.0 => return "0".into(),
        _ if size < 1e-4 => format!("{value:.9}").trim_end_matches('0').to_owned(),
        _ if size >= 1e9 => format!("{} G", trimmed(value / 1e9)),
        _ if size >= 1e6 => format!("{} M", trimmed(value / 1e6)),
        _ if size >= 1e4 => format!("{} k", trimmed(value / 1e3)),
        _ => trimmed(value),
    };
    text.replacen('-', "−", 1)
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a place on an axis in full: `1500`, `0.5`.
pub fn place(at: f64) -> String {
    if at.abs() >= 1e-6 && at.abs() < 1e15 || at == 0.0 {
        at.to_string()
    } else {
        format!("{at:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_figures_and_a_prefix() {
        let cases = [
            (Quantity::RoundTrip, 631e-6, "631 µs"),
            (Quantity::RoundTrip, 0.9999e-3, "1 ms"),
            (Quantity::OneWayDelay, 1.0e-3, "1 ms"),
            (Quantity::Cost, 4.7e-8, "47 ns"),
            (Quantity::Cost, 4.74e-8, "47.4 ns"),
            (Quantity::FileTime, 90.0, "90 s"),
            (Quantity::Throughput, 9.571e6, "9.57 Mb/s"),
            (Quantity::Throughput, 0.0, "0 b/s"),
            (Quantity::PacketRate, 3.456e6, "3.46 M packets/s"),
            (Quantity::PacketRate, 999.96, "1 k packets/s"),
            (Quantity::QueryRate, 12.0, "12 queries/s"),
            (Quantity::Loss, 0.84, "84 %"),
            (Quantity::Loss, 0.00123, "0.123 %"),
            (Quantity::Cpu, 1.5, "150 %"),
            (Quantity::Overhead, 40.0, "40 bytes"),
            (Quantity::Works, 0.5, "0.500"),
            (Quantity::Capacity, 4e6, "4 M sessions"),
            (Quantity::RoundTrip, -2.5e-3, "−2.50 ms"),
        ];
        for (quantity, value, text) in cases {
            assert_eq!(amount(quantity, value), text, "{value}");
        }
    }

    #[test]
    fn a_range_is_in_one_unit() {
        assert_eq!(range(Quantity::RoundTrip, [0.5e-3, 2e-3]), "0.500–2 ms");
        assert_eq!(range(Quantity::Works, [0.0, 1.0]), "0–1");
    }

    #[test]
    fn ticks_are_short() {
        let cases = [
            (0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (5000.0, "5000"),
            (10_000.0, "10 k"),
            (-2.5, "−2.5"),
        ];
        for (value, text) in cases {
            assert_eq!(tick(value), text);
        }
    }

    #[test]
    fn places_on_an_axis_are_written_in_full() {
        assert_eq!(place(10_000.0), "10000");
        assert_eq!(place(0.5), "0.5");
        assert_eq!(place(-0.0), "-0");
        assert_eq!(place(1e300), "1e300");
    }
}
