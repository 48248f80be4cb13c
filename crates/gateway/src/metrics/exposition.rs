//! The two text formats of Prometheus: OpenMetrics 1.0, and its own, version 0.0.4.

use std::fmt::{Display, Write};

/// The common prefix of the names of our families.
const PREFIX: &str = "isthmus_";

/// A text format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// That of Prometheus, version 0.0.4.
    #[default]
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

/// The type of a metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A number that only grows.
    Counter,
    /// A number that goes up and down.
    Gauge,
    /// Labels, whose number is 1.
    Info,
}

impl Format {
    /// The media type of the text.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format that an `Accept` header prefers (RFC 9110 section 12.5.1). OpenMetrics must be asked for by its
    /// name, because programs that take everything mean the older one.
    #[must_use]
    pub fn preferred(accept: &str) -> Self {
        let (mut open, mut plain) = (0.0_f32, 0.0_f32);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default().to_ascii_lowercase();
            let mut weight = 1.0;
            let mut known = true;
            for (key, value) in parts.filter_map(|part| part.split_once('=')) {
                match key.trim() {
                    "q" => weight = value.trim().parse().unwrap_or(0.0),
                    "version" if media == "application/openmetrics-text" => {
                        known = value.trim().starts_with("1.");
                    }
                    _ => {}
                }
            }
            let best = match media.as_str() {
                "application/openmetrics-text" if known => &mut open,
                "text/plain" | "text/*" | "*/*" => &mut plain,
                _ => continue,
            };
            *best = best.max(weight);
        }
        if open > 0.0 && open >= plain {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }
}

impl Type {
    /// The name of the type. The older format has no type for labels.
    fn name(self, format: Format) -> &'static str {
        match (self, format) {
            (Self::Counter, _) => "counter",
            (Self::Gauge, _) | (Self::Info, Format::Prometheus) => "gauge",
            (Self::Info, Format::OpenMetrics) => "info",
        }
    }

    /// The suffix of a sample's name behind that of its family.
    fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Gauge => "",
            Self::Info => "_info",
        }
    }
}

/// An exposition: metric families, one after the other.
#[derive(Debug)]
pub(super) struct Exposition {
    format: Format,
    text: String,
}

impl Exposition {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            text: String::new(),
        }
    }

    /// Begins a family of ours. `help` is one line without backslashes.
    pub(super) fn family(&mut self, name: &str, help: &str, of: Type) -> Family<'_> {
        self.common_family(format!("{PREFIX}{name}"), help, of)
    }

    /// Begins a family whose name is the same in all programs.
    pub(super) fn common_family(&mut self, name: String, help: &str, of: Type) -> Family<'_> {
        let kind = of.name(self.format);
        let sample = format!("{name}{}", of.suffix());
        // In the older format a family has the name of its samples.
        let heading = match self.format {
            Format::Prometheus => &sample,
            Format::OpenMetrics => &name,
        };
        let _ = write!(
            self.text,
            "# HELP {heading} {help}\n# TYPE {heading} {kind}\n"
        );
        Family {
            text: &mut self.text,
            sample,
        }
    }

    /// Ends the text.
    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// A metric family, which takes samples.
#[derive(Debug)]
pub(super) struct Family<'a> {
    text: &'a mut String,
    /// The name of its samples.
    sample: String,
}

impl Family<'_> {
    /// Adds a sample. No two of a family have the same labels.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(&self.sample);
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

    fn written(format: Format) -> String {
        let mut text = Exposition::new(format);
        let mut family = text.family("foo", "A line", Type::Counter);
        family.sample(&[], 17);
        family.sample(&[("a", "b"), ("c", "x\"y\\z\nλ")], 0);
        text.common_family("process_time_seconds".into(), "Another", Type::Gauge)
            .sample(&[], 0.25);
        text.family("build", "A third", Type::Info)
            .info(&[("version", "8.2.7")]);
        text.finish()
    }

    /// The examples of the standard, section "Text Format".
    #[test]
    fn samples_are_as_the_standard_writes_them() {
        assert_eq!(
            written(Format::OpenMetrics),
            "# HELP isthmus_foo A line\n# TYPE isthmus_foo counter\n\
             isthmus_foo_total 17\nisthmus_foo_total{a=\"b\",c=\"x\\\"y\\\\z\\nλ\"} 0\n\
             # HELP process_time_seconds Another\n# TYPE process_time_seconds gauge\n\
             process_time_seconds 0.25\n\
             # HELP isthmus_build A third\n# TYPE isthmus_build info\n\
             isthmus_build_info{version=\"8.2.7\"} 1\n# EOF\n"
        );
    }

    /// The page "Exposition formats" of Prometheus: a family has the name of its samples.
    #[test]
    fn and_as_prometheus_reads_them() {
        assert_eq!(
            written(Format::Prometheus),
            "# HELP isthmus_foo_total A line\n# TYPE isthmus_foo_total counter\n\
             isthmus_foo_total 17\nisthmus_foo_total{a=\"b\",c=\"x\\\"y\\\\z\\nλ\"} 0\n\
             # HELP process_time_seconds Another\n# TYPE process_time_seconds gauge\n\
             process_time_seconds 0.25\n\
             # HELP isthmus_build_info A third\n# TYPE isthmus_build_info gauge\n\
             isthmus_build_info{version=\"8.2.7\"} 1\n"
        );
    }

    #[test]
    fn the_format_is_the_one_that_is_asked_for() {
        for (accept, format) in [
            ("", Format::Prometheus),
            ("*/*", Format::Prometheus),
            ("text/html, */*;q=0.8", Format::Prometheus),
            ("application/openmetrics-text", Format::OpenMetrics),
            // Prometheus 2.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                 text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Format::OpenMetrics,
            ),
            (
                "text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4",
                Format::Prometheus,
            ),
            (
                "application/openmetrics-text;version=0.0.1",
                Format::Prometheus,
            ),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            (
                "text/plain, application/openmetrics-text; q=nonsense",
                Format::Prometheus,
            ),
        ] {
            assert_eq!(Format::preferred(accept), format, "{accept}");
        }
    }
}
