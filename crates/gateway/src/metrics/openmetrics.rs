//! The text format of OpenMetrics 1.0.

use std::fmt::Write;

/// The common prefix of the names of all families.
const PREFIX: &str = "isthmus_";

/// The type of a metric family.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type {
    /// A number that only grows.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// Labels, whose number is 1.
    Info,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Info => "info",
        }
    }

    /// Returns the suffix of a sample's name behind that of its family.
    fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Gauge => "",
            Self::Info => "_info",
        }
    }
}

/// An exposition: metric families, one after the other.
#[derive(Debug, Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// Begins a family. `help` is one line without backslashes.
    pub(super) fn family(&mut self, name: &'static str, help: &str, of: Type) -> Family<'_> {
        let kind = of.name();
        let _ = write!(
            self.0,
            "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}\n"
        );
        Family {
            text: &mut self.0,
            name,
            of,
        }
    }

    /// Ends the text.
    pub(super) fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

/// A metric family, which takes samples.
#[derive(Debug)]
pub(super) struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
    of: Type,
}

impl Family<'_> {
    /// Adds a sample. No two of a family have the same labels.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: u64) {
        let _ = write!(self.text, "{PREFIX}{}{}", self.name, self.of.suffix());
        let mut before = '{';
        for (label, value) in labels {
            let _ = write!(self.text, "{before}{label}=\"");
            self.escaped(value);
            self.text.push('"');
            before = ',';
        }
        let after = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{after} {value}");
    }

    /// Adds labels that say something.
    pub(super) fn info(&mut self, labels: &[(&str, &str)]) {
        self.sample(labels, 1);
    }

    fn escaped(&mut self, value: &str) {
        for character in value.chars() {
            match character {
                '\\' => self.text.push_str("\\\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str("\\n"),
                other => self.text.push(other),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the standard, section "Text Format".
    #[test]
    fn samples_are_as_the_standard_writes_them() {
        let mut text = Exposition::default();
        let mut family = text.family("foo", "A line", Type::Counter);
        family.sample(&[], 17);
        family.sample(&[("a", "b"), ("c", "x\"y\\z\nλ")], 0);
        text.family("level", "Another", Type::Gauge).sample(&[], 5);
        text.family("build", "A third", Type::Info)
            .info(&[("version", "8.2.7")]);
        assert_eq!(
            text.finish(),
            "# HELP isthmus_foo A line\n# TYPE isthmus_foo counter\n\
             isthmus_foo_total 17\nisthmus_foo_total{a=\"b\",c=\"x\\\"y\\\\z\\nλ\"} 0\n\
             # HELP isthmus_level Another\n# TYPE isthmus_level gauge\nisthmus_level 5\n\
             # HELP isthmus_build A third\n# TYPE isthmus_build info\n\
             isthmus_build_info{version=\"8.2.7\"} 1\n# EOF\n"
        );
    }
}
