//! What `isthmus top` shows on a terminal, and what the keys do. Knows neither the terminal nor the gateway.

use std::collections::HashMap;

use isthmus_gateway::config::Choice;
use isthmus_gateway::control::{By, Carried, Most, Top, TopRow};
use ratatui_core::layout::{Constraint, Layout};
use ratatui_core::style::{Modifier, Style, Stylize as _};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span};

/// Characters of a number's column, with the space before it; and the least of that of the names.
const NUMBER: usize = 11;
const NAME: usize = 20;
/// Ctrl-C, where the terminal does not make a signal of it.
const INTERRUPT: u8 = 3;
const ESCAPE: u8 = 0x1b;
/// Lines that are no rows of the table: title, headings and keys.
const OTHER_LINES: u16 = 3;
const KEYS: &str = "by: 1 subscriber  2 remote  3 port  4 instance    most: s sessions  n new  p packets  b bytes    q quit";

/// The effect of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// None.
    Nothing,
    /// Something else is to be asked for.
    Ask,
    /// The end.
    Quit,
}

/// What is shown.
#[derive(Debug)]
pub(super) struct View {
    pub(super) by: By,
    pub(super) most: Most,
    answer: Top,
    /// What a row carried in a second, by its name.
    rates: HashMap<String, Rates>,
    trouble: Option<String>,
}

/// What a row carried in a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rates {
    packets: f64,
    bytes_out: f64,
    bytes_in: f64,
}

impl Rates {
    /// Sessions that ended meanwhile are missing in the later sum, so that it may be the smaller one.
    fn between(before: &Carried, now: &Carried, seconds: f64) -> Self {
        let rate = |before: u64, now: u64| now.saturating_sub(before) as f64 / seconds;
        Self {
            packets: rate(before.packets(), now.packets()),
            bytes_out: rate(before.bytes_out, now.bytes_out),
            bytes_in: rate(before.bytes_in, now.bytes_in),
        }
    }
}

impl View {
    pub(super) fn new(by: By, most: Most) -> Self {
        Self {
            by,
            most,
            answer: Top::default(),
            rates: HashMap::new(),
            trouble: None,
        }
    }

    /// Rows that a terminal with so many lines has room for.
    pub(super) const fn rows(lines: u16) -> u16 {
        lines.saturating_sub(OTHER_LINES)
    }

    /// Takes an answer of the gateway, `seconds` after the one before.
    pub(super) fn take(&mut self, answer: Top, seconds: f64) {
        let before = self.answer.rows.drain(..);
        let before: HashMap<_, _> = before
            .filter_map(|row| Some((row.name, row.carried?)))
            .collect();
        let rate = |row: &TopRow| {
            let rates = Rates::between(before.get(&row.name)?, row.carried.as_ref()?, seconds);
            Some((row.name.clone(), rates))
        };
        self.rates = answer.rows.iter().filter_map(rate).collect();
        self.answer = answer;
        self.trouble = None;
    }

    /// Shows why there is no answer, and the last one that there was.
    pub(super) fn fail(&mut self, why: String) {
        self.trouble = Some(why);
    }

    pub(super) fn press(&mut self, key: u8) -> Effect {
        let (by, most) = (self.by, self.most);
        match key {
            b'q' | INTERRUPT | ESCAPE => return Effect::Quit,
            b'1' => self.by = By::Subscriber,
            b'2' => self.by = By::Remote,
            b'3' => self.by = By::Port,
            b'4' => self.by = By::Instance,
            b's' => self.most = Most::Sessions,
            b'n' => self.most = Most::New,
            b'p' => self.most = Most::Packets,
            b'b' => self.most = Most::Bytes,
            _ => return Effect::Nothing,
        }
        if (by, most) == (self.by, self.most) {
            return Effect::Nothing;
        }
        Effect::Ask
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let parts = [
            Constraint::Length(1),
            Constraint::Min(1),
            Constraint::Length(1),
        ];
        let [title, table, keys] = Layout::vertical(parts).areas(frame.area());
        frame.render_widget(self.title(), title);
        for (line, row) in self.table(table.width).into_iter().zip(table.rows()) {
            frame.render_widget(line, row);
        }
        frame.render_widget(Line::from(KEYS).dim(), keys);
    }

    fn title(&self) -> Line<'_> {
        if let Some(trouble) = &self.trouble {
            return Line::from(trouble.as_str()).red();
        }
        let Top {
            sessions,
            new_per_second,
            uncertain: missing,
            ..
        } = &self.answer;
        let mut title = format!("{sessions} sessions, {new_per_second:.1} new ones in a second");
        if *missing > 0 {
            title = format!("{title}; {}", uncertain(*missing));
        }
        Line::from(title)
    }

    /// The headings and the rows of a table that is so wide.
    fn table(&self, width: u16) -> Vec<Line<'static>> {
        let mut headings = vec![
            ("SESSIONS", Some(Most::Sessions)),
            ("NEW/S", Some(Most::New)),
        ];
        if self.answer.counted {
            headings.extend([
                ("PACKETS/S", Some(Most::Packets)),
                ("OUT B/S", None),
                ("IN B/S", None),
                ("BYTES", Some(Most::Bytes)),
            ]);
        }
        let name = NAME.max(usize::from(width).saturating_sub(headings.len() * NUMBER));
        let by = self.by.name().to_uppercase();
        let mut spans = vec![Span::from(format!("{by:<name$}"))];
        spans.extend(headings.iter().map(|(text, most)| {
            let style = match *most == Some(self.most) {
                true => Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
                false => Style::new(),
            };
            Span::styled(format!("{text:>NUMBER$}"), style)
        }));
        let mut lines = vec![Line::from(spans).reversed()];
        lines.extend(self.answer.rows.iter().map(|row| {
            let numbers = self.numbers(row).into_iter();
            let numbers: String = numbers.map(|number| format!("{number:>NUMBER$}")).collect();
            Line::from(format!("{:<name$}{numbers}", row.name))
        }));
        lines
    }

    fn numbers(&self, row: &TopRow) -> Vec<String> {
        let mut numbers = vec![
            row.sessions.to_string(),
            format!("{:.1}", row.new_per_second),
        ];
        if self.answer.counted {
            let rates = self.rates.get(&row.name).copied().unwrap_or_default();
            numbers.extend([rates.packets, rates.bytes_out, rates.bytes_in].map(amount));
            let carried = row.carried.unwrap_or_default();
            numbers.push(amount(carried.bytes() as f64));
        }
        numbers
    }
}

/// What each row may have more, for people.
pub(super) fn uncertain(sessions: u64) -> String {
    format!("each row may have {sessions} more than it shows")
}

/// A number with three digits and the prefix of its unit.
fn amount(number: f64) -> String {
    let prefixes = ["", " k", " M", " G", " T"];
    let mut scaled = number;
    for prefix in prefixes {
        if scaled < 999.5 {
            let digits = usize::from(!prefix.is_empty() && scaled < 99.95);
            return format!("{scaled:.digits$}{prefix}");
        }
        scaled /= 1000.0;
    }
    format!("{scaled:.0} P")
}

#[cfg(test)]
mod tests {
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;

    use super::*;

    fn row(name: &str, sessions: u64, carried: Option<Carried>) -> TopRow {
        TopRow {
            name: name.into(),
            sessions,
            new_per_second: 1.5,
            carried,
        }
    }

    fn top(carried: Option<Carried>) -> Top {
        Top {
            rows: vec![
                row("2001:db8:1::", 120, carried),
                row("2001:db8:2::", 7, None),
            ],
            sessions: 127,
            new_per_second: 3.0,
            uncertain: 0,
            counted: carried.is_some(),
        }
    }

    fn shown(view: &View, width: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, 6)).unwrap();
        terminal.draw(|frame| view.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| {
            let cells = (0..width).map(|x| buffer[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        (0..6).map(line).collect()
    }

    #[test]
    fn sessions_without_traffic() {
        let mut view = View::new(By::Subscriber, Most::Sessions);
        view.take(top(None), 2.0);
        let expected = [
            "127 sessions, 3.0 new ones in a second",
            "SUBSCRIBER              SESSIONS      NEW/S",
            "2001:db8:1::                 120        1.5",
            "2001:db8:2::                   7        1.5",
            "",
        ];
        assert_eq!(shown(&view, 43)[..5], expected);
    }

    #[test]
    fn rates_are_what_came_between_two_looks() {
        let mut view = View::new(By::Subscriber, Most::Bytes);
        let carried = |packets_out, bytes_out, bytes_in| Carried {
            packets_out,
            bytes_out,
            packets_in: 0,
            bytes_in,
        };
        view.take(top(Some(carried(10, 1000, 500))), 2.0);
        view.take(top(Some(carried(30, 1000, 2_500_500))), 2.0);
        let lines = shown(&view, 90);
        let expected = [
            "SUBSCRIBER                 SESSIONS      NEW/S  PACKETS/S    OUT B/S     IN B/S      BYTES",
            "2001:db8:1::                    120        1.5         10          0      1.2 M      2.5 M",
            "2001:db8:2::                      7        1.5          0          0          0          0",
        ];
        assert_eq!(lines[1..4], expected);
        // Sessions that ended took what they had carried with them.
        view.take(top(Some(carried(1, 1, 1))), 2.0);
        assert!(shown(&view, 90)[2].ends_with("0          0          0          2"));
    }

    #[test]
    fn a_gateway_that_does_not_answer_is_told_and_its_rows_stay() {
        let mut view = View::new(By::Subscriber, Most::Sessions);
        view.take(top(None), 2.0);
        view.fail("no gateway answers".into());
        let lines = shown(&view, 60);
        assert_eq!(lines[0], "no gateway answers");
        assert!(lines[2].starts_with("2001:db8:1::"));
    }

    #[test]
    fn keys_choose_what_is_shown() {
        let mut view = View::new(By::Subscriber, Most::Sessions);
        assert_eq!(view.press(b'2'), Effect::Ask);
        assert_eq!(view.press(b'2'), Effect::Nothing);
        assert_eq!(view.press(b'b'), Effect::Ask);
        assert_eq!(view.press(b'x'), Effect::Nothing);
        assert_eq!(view.press(b'c'), Effect::Nothing);
        assert_eq!((view.by, view.most), (By::Remote, Most::Bytes));
        for end in [b'q', INTERRUPT, ESCAPE] {
            assert_eq!(view.press(end), Effect::Quit);
        }
    }

    #[test]
    fn amounts_have_three_digits() {
        let cases = [
            (0.0, "0"),
            (999.4, "999"),
            (1000.0, "1.0 k"),
            (99_949.0, "99.9 k"),
            (123_456.0, "123 k"),
            (2.5e6, "2.5 M"),
            (7e15, "7 P"),
        ];
        for (number, text) in cases {
            assert_eq!(amount(number), text);
        }
    }
}
