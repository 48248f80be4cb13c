//! Reads records and follows who has the port. Time goes by as the lines do: the end of one subscriber's use is
//! recorded before the beginning of the next one's.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use isthmus_core::nat::Protocol;
use jiff::{SignedDuration, Timestamp};

use super::files::{Lines, Numbered, ReadError, generations};
use super::line::{self, Content, Form, Line, LineError, Sign, Use};
use super::missing::{Amount, Missing};
use super::time::{earlier, later};
use super::{Place, Question};
use crate::records::event;

/// The clock of the tables ticks about once in a millisecond.
const GRAIN: SignedDuration = SignedDuration::from_millis(2);
/// A port block is used for so long before its record, at most.
const BLOCK_DELAY: SignedDuration = SignedDuration::from_secs(2);
/// A configuration is in force for so long before its record, and the one before after it, at most.
const TURN: SignedDuration = SignedDuration::from_secs(1);
/// Uses that are remembered: more would be no answer.
const MOST: usize = 64;
/// Damaged lines that are told one by one.
const COMPLAINTS: usize = 10;

/// A subscriber's use of the port, from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tenure {
    pub(super) owner: Owner,
    /// None for a block of ports.
    pub(super) protocol: Option<Protocol>,
    pub(super) inside: IpAddr,
    pub(super) inside_port: Option<u16>,
    pub(super) ports: (u16, u16),
    /// Its beginning, if that is recorded.
    pub(super) from: Option<Timestamp>,
    /// It began after this.
    after: Option<Timestamp>,
    /// The time until which it may have lasted.
    pub(super) to: Option<Timestamp>,
    pub(super) end: End,
    pub(super) place: Place,
}

/// How much is known of the end of a use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There is none in the records.
    Open,
    /// It is recorded.
    Recorded,
    /// It was before something that the records have.
    Unrecorded,
}

/// An instance of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) gateway: String,
    pub(super) instance: String,
}

/// What is followed by itself: the port of a protocol, or the block that it is in.
type Lane = (Owner, Option<Protocol>);

/// The use of a lane so far.
#[derive(Debug, Default)]
struct State {
    open: Option<Tenure>,
    /// The last event.
    last: Option<Timestamp>,
    /// Missing records before the last event that is not later than the beginning of the time asked about.
    anchor: (Amount, Amount),
}

/// Everything that the records say about a question.
#[derive(Debug)]
pub(super) struct Scan<'q> {
    question: &'q Question,
    lanes: BTreeMap<Lane, State>,
    /// Uses within the time asked about.
    pub(super) tenures: Vec<Tenure>,
    /// Those that were too many.
    pub(super) more: u64,
    suppressed: BTreeMap<String, Missing>,
    damage: Missing,
    /// By gateway the configurations in force at some moment of the time asked about, and the one before.
    configurations: BTreeMap<String, Vec<(Timestamp, String)>>,
    /// The first and the last record.
    pub(super) span: Option<(Timestamp, Timestamp)>,
    pub(super) files: u64,
    pub(super) lines: u64,
    pub(super) damaged: u64,
    /// The first damaged lines.
    pub(super) complaints: Vec<String>,
}

impl<'q> Scan<'q> {
    /// Reads the records in these files, and in those that they were before they were rotated.
    pub(super) fn read(question: &'q Question, paths: &[PathBuf]) -> Result<Self, ReadError> {
        let mut scan = Self {
            question,
            lanes: BTreeMap::new(),
            tenures: Vec::new(),
            more: 0,
            suppressed: BTreeMap::new(),
            damage: Missing::default(),
            configurations: BTreeMap::new(),
            span: None,
            files: 0,
            lines: 0,
            damaged: 0,
            complaints: Vec::new(),
        };
        for path in paths {
            let files = generations(path)?;
            for (place, (first, file)) in files.iter().enumerate() {
                let (since, until) = scan.span.unwrap_or((*first, *first));
                scan.span = Some((since.min(*first), until.max(*first)));
                scan.file(file, place + 1 == files.len())?;
            }
        }
        let open = scan
            .lanes
            .values_mut()
            .filter_map(|state| state.open.take());
        let open: Vec<_> = open.collect();
        for tenure in open {
            scan.keep(tenure);
        }
        Ok(scan)
    }

    /// Reads a file; `newest` may be in the middle of being written.
    fn file(&mut self, path: &Path, newest: bool) -> Result<(), ReadError> {
        let needles = Needles::new(self.question);
        let mut lines = Lines::open(path)?;
        self.files += 1;
        // The last line that looked like a record: its time is that of the last one.
        let mut last = String::new();
        while let Some(Numbered {
            number,
            text,
            ended,
        }) = lines.next()?
        {
            self.lines += 1;
            let read = match &text {
                Ok("") => continue,
                Ok(text) => needles.read(text),
                Err(error) => Err(error.clone()),
            };
            let place = || Place {
                file: path.into(),
                line: number,
            };
            match read {
                Ok(Some(line)) => {
                    self.until(line.time);
                    self.take(line, &place());
                }
                Ok(None) => {}
                // It is being written at this moment.
                Err(_) if newest && !ended => break,
                Err(error) => self.complain(&place(), &error),
            }
            if let Ok(text) = text
                && line::form(text) != Form::Foreign
            {
                last.clear();
                last.push_str(text);
            }
        }
        if let Ok(Some(line)) = line::read(&last) {
            self.until(line.time);
        }
        Ok(())
    }

    /// The records go on until this time.
    fn until(&mut self, time: Timestamp) {
        let (first, last) = self.span.unwrap_or((time, time));
        self.span = Some((first, last.max(time)));
    }

    fn complain(&mut self, place: &Place, error: &LineError) {
        self.damaged += 1;
        let time = self.span.map_or(Timestamp::MIN, |(_, last)| last);
        self.damage.damaged(time, self.question.window.to);
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(format!("{place}: {error}"));
        }
    }

    fn take(&mut self, line: Line, place: &Place) {
        let Line {
            time,
            gateway,
            content,
        } = line;
        match content {
            Content::Use(seen) => self.follow(time, gateway, &seen, place),
            Content::Started => self.suppressed.entry(gateway).or_default().restart(),
            Content::TablesEmpty { instance } => self.clear(time, &Owner { gateway, instance }),
            Content::Suppressed { records, bindings } => {
                let missing = self.suppressed.entry(gateway).or_default();
                missing.report(time, (records, bindings), self.question.window.to);
            }
            Content::Configuration { digest } => self.turn(time, gateway, digest),
            Content::Other => {}
        }
    }

    /// A configuration came into force.
    fn turn(&mut self, time: Timestamp, gateway: String, digest: String) {
        let window = self.question.window;
        if earlier(time, TURN) > window.to {
            return;
        }
        let turns = self.configurations.entry(gateway).or_default();
        if later(time, TURN) < window.from {
            turns.clear();
        }
        if turns.last().is_none_or(|(_, last)| *last != digest) {
            turns.push((time, digest));
        }
    }

    /// The configurations that may have been in force, by gateway, each with its beginning.
    pub(super) fn configurations(&self, gateway: &str) -> &[(Timestamp, String)] {
        self.configurations.get(gateway).map_or(&[], Vec::as_slice)
    }

    /// Somebody uses the port.
    fn follow(&mut self, time: Timestamp, gateway: String, seen: &Use, place: &Place) {
        let question = self.question;
        let (first, last) = seen.ports;
        if seen.outside != question.address || !(first..=last).contains(&question.port) {
            return;
        }
        let asked = |protocol| question.protocol.is_none_or(|asked| asked == protocol);
        if !seen.protocol.is_none_or(asked) {
            return;
        }
        let owner = Owner {
            gateway,
            instance: seen.instance.clone(),
        };
        let missing = self.missing_before(&owner, time);
        let state = self
            .lanes
            .entry((owner.clone(), seen.protocol))
            .or_default();
        let same =
            |open: &Tenure| (open.inside, open.inside_port) == (seen.inside, seen.inside_port);
        let before = match &state.open {
            Some(open) if same(open) => None,
            _ => state.open.replace(Tenure {
                owner,
                protocol: seen.protocol,
                inside: seen.inside,
                inside_port: seen.inside_port,
                ports: seen.ports,
                from: None,
                after: state.last,
                to: None,
                end: End::Open,
                place: place.clone(),
            }),
        };
        if let (Sign::Made, Some(open)) = (seen.sign, &mut state.open)
            && open.from.is_none()
        {
            open.from = Some(time);
            open.place = place.clone();
        }
        let mut gone = None;
        if seen.sign == Sign::Gone {
            gone = state
                .open
                .take()
                .map(|open| open.ended(time, End::Recorded));
        }
        if time <= question.window.from {
            state.anchor = missing;
        }
        state.last = Some(time);
        let before = before.map(|before| before.ended(time, End::Unrecorded));
        for tenure in [before, gone].into_iter().flatten() {
            self.keep(tenure);
        }
    }

    /// The tables of an instance are empty: whoever had the port has it no more.
    fn clear(&mut self, time: Timestamp, owner: &Owner) {
        let missing = self.missing_before(owner, time);
        let mut ended = Vec::new();
        let lanes = self.lanes.iter_mut();
        for (_, state) in lanes.filter(|((of, _), _)| of == owner) {
            ended.extend(state.open.take());
            state.last = Some(time);
            if time <= self.question.window.from {
                state.anchor = missing;
            }
        }
        for tenure in ended {
            self.keep(tenure.ended(time, End::Unrecorded));
        }
    }

    /// Remembers a use if it touches the time asked about.
    fn keep(&mut self, tenure: Tenure) {
        let window = self.question.window;
        let touches = tenure.earliest() <= window.to
            && tenure.to.is_none_or(|to| later(to, GRAIN) >= window.from);
        if !touches {
            return;
        }
        if self.tenures.len() < MOST {
            self.tenures.push(tenure);
        } else {
            self.more += 1;
        }
    }

    fn missing_before(&self, owner: &Owner, time: Timestamp) -> (Amount, Amount) {
        let suppressed = self.suppressed.get(&owner.gateway);
        let suppressed = suppressed.map(|missing| missing.before(time));
        (suppressed.unwrap_or_default(), self.damage.before(time))
    }

    /// The records of an instance that are missing since it was last certain who has the port, suppressed and damaged.
    /// Of several lanes the longest time counts.
    pub(super) fn missing(&self, owner: &Owner) -> (Amount, Amount) {
        let until = self.suppressed.get(&owner.gateway);
        let suppressed = until.map(Missing::until_then).unwrap_or_default();
        let damaged = self.damage.until_then();
        let asked = self.question.protocols().into_iter();
        let anchors = asked.map(|protocol| {
            let lane = self.lanes.get(&(owner.clone(), Some(protocol)));
            lane.map_or_else(Default::default, |state| state.anchor)
        });
        anchors.fold(Default::default(), |most: (Amount, Amount), anchor| {
            (
                most.0.max(suppressed - anchor.0),
                most.1.max(damaged - anchor.1),
            )
        })
    }

    /// All records that are missing until then.
    pub(super) fn all_missing(&self) -> Amount {
        let suppressed = self.suppressed.values().map(Missing::until_then);
        suppressed.fold(self.damage.until_then(), |sum, one| sum + one)
    }
}

impl Tenure {
    fn ended(self, time: Timestamp, end: End) -> Self {
        Self {
            to: Some(time),
            end,
            ..self
        }
    }

    /// The time before which it had not begun.
    fn earliest(&self) -> Timestamp {
        let after = self.after.unwrap_or(Timestamp::MIN);
        let delay = match self.protocol {
            Some(_) => GRAIN,
            None => BLOCK_DELAY,
        };
        self.from
            .map_or(after, |from| earlier(from, delay).max(after.min(from)))
    }

    /// Whether nothing tells when it began, though it began within the records.
    pub(super) fn lacks_beginning(&self) -> bool {
        self.from.is_none() && self.after.is_some()
    }
}

/// Texts in the lines that matter. Others are not taken apart.
struct Needles {
    address: String,
    port: String,
}

impl Needles {
    fn new(question: &Question) -> Self {
        Self {
            address: question.address.to_string(),
            port: question.port.to_string(),
        }
    }

    /// Reads a line, if it matters.
    fn read(&self, text: &str) -> Result<Option<Line>, LineError> {
        let end = match line::form(text) {
            Form::Json => '}',
            Form::Syslog => ']',
            Form::Foreign => return Ok(None),
        };
        if self.are_in(text) {
            return line::read(text);
        }
        if text.ends_with(end) {
            Ok(None)
        } else {
            Err(LineError::Cut)
        }
    }

    fn are_in(&self, text: &str) -> bool {
        let has = |needle: &str| text.contains(needle);
        has(&self.address) && (has(&self.port) || has("port-block") || has(event::ANY_PROTOCOL))
            || has(event::SUPPRESSED)
            || has(event::STARTED)
            || has(event::TABLES_EMPTY)
            || has(event::CONFIGURATION)
    }
}
