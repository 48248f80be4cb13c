//! JSON objects, read key by key. Every mistake names its path.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::sink::{Place, Sink};

/// A value with its path.
#[derive(Clone)]
pub(super) struct Member<'j> {
    path: String,
    value: &'j Value,
    sink: &'j Sink,
}

/// An object whose members are taken one by one. Jool does not tell capital letters from small ones in names.
pub(super) struct Object<'j> {
    path: String,
    members: RefCell<BTreeMap<String, Member<'j>>>,
    sink: &'j Sink,
}

impl<'j> Member<'j> {
    pub(super) fn root(value: &'j Value, sink: &'j Sink) -> Self {
        let path = String::new();
        Self { path, value, sink }
    }

    fn place(&self) -> Place {
        self.sink.path(&self.path)
    }

    /// Reports it as left out.
    pub(super) fn left_out(&self, instead: &str) {
        self.part_left_out(self.value, instead);
    }

    /// Reports something in it as left out.
    pub(super) fn part_left_out(&self, part: impl Display, instead: &str) {
        self.sink.left_out(self.place(), part, instead);
    }

    /// Reports it as wrong.
    pub(super) fn wrong(&self, expected: impl Display) {
        let problem = format!("is {}; expected {expected}", self.value);
        self.sink.mistake(self.place(), problem);
    }

    /// Returns what is there as one kind of value, or reports that it is another.
    fn expect<T>(&self, found: Option<T>, expected: impl Display) -> Option<T> {
        if found.is_none() {
            self.wrong(expected);
        }
        found
    }

    pub(super) fn is_null(&self) -> bool {
        self.value.is_null()
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.expect(self.value.as_bool(), "true or false")
    }

    pub(super) fn string(&self, expected: &str) -> Option<&'j str> {
        self.expect(self.value.as_str(), expected)
    }

    pub(super) fn number(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let number = self.value.as_u64().and_then(|n| u32::try_from(n).ok());
        let (first, last) = (range.start(), range.end());
        let expected = format!("a number from {first} to {last}");
        self.expect(number.filter(|n| range.contains(n)), expected)
    }

    pub(super) fn array(&self) -> Vec<Self> {
        let Some(values) = self.expect(self.value.as_array(), "a list") else {
            return Vec::new();
        };
        let element = |(index, value)| Self {
            path: format!("{}[{index}]", self.path),
            value,
            sink: self.sink,
        };
        values.iter().enumerate().map(element).collect()
    }

    pub(super) fn object(&self) -> Option<Object<'j>> {
        let members: &Map<_, _> = self.expect(self.value.as_object(), "an object")?;
        let member = |(key, value): (&String, &'j Value)| {
            let path = match self.path.as_str() {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            let sink = self.sink;
            (key.to_lowercase(), Self { path, value, sink })
        };
        Some(Object {
            path: self.path.clone(),
            members: RefCell::new(members.iter().map(member).collect()),
            sink: self.sink,
        })
    }
}

impl<'j> Object<'j> {
    /// Whether it has one of these members.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        let members = self.members.borrow();
        keys.iter().any(|key| members.contains_key(*key))
    }

    /// Takes a member, if it is there.
    pub(super) fn take(&self, key: &str) -> Option<Member<'j>> {
        self.members.borrow_mut().remove(key)
    }

    /// Takes a member that must be there.
    pub(super) fn require(&self, key: &str) -> Option<Member<'j>> {
        let member = self.take(key);
        if member.is_none() {
            let problem = format!("has no \"{key}\"");
            self.sink.mistake(self.place(), problem);
        }
        member
    }

    /// Takes a member that is true or false.
    pub(super) fn flag(&self, key: &str, default: bool) -> bool {
        let given = self.take(key).and_then(|member| member.boolean());
        given.unwrap_or(default)
    }

    /// Takes a member that is left out if it is `value`: otherwise there is nothing to carry over.
    pub(super) fn leave_if(&self, key: &str, value: bool, instead: &str) {
        if let Some(member) = self.take(key)
            && member.boolean() == Some(value)
        {
            member.left_out(instead);
        }
    }

    fn place(&self) -> Place {
        self.sink.path(&self.path)
    }

    /// Reports something that no single member says.
    pub(super) fn left_out(&self, value: &str, instead: &str) {
        self.sink.left_out(self.place(), value, instead);
    }

    /// Reports what is wrong with it as a whole.
    pub(super) fn wrong(&self, problem: &str) {
        self.sink.mistake(self.place(), problem);
    }

    /// Refuses members that nobody took, except comments.
    pub(super) fn finish(self) {
        for (key, member) in self.members.into_inner() {
            if key != "comment" {
                let problem = "Jool has no such key, or not in an instance of this kind";
                self.sink.mistake(member.place(), problem);
            }
        }
    }
}
