//! The mapping rules of a domain, with longest match either way.

use core::cmp::Reverse;
use core::fmt;

use super::{MapRule, Ports};
use crate::address::port_set::PortSet;
use crate::address::{V4, V6};

/// A few mapping rules, plain data for the packet path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct MapRules {
    /// Longest Rule IPv4 prefix first.
    rules: [MapRule; Self::MOST],
    /// Their places in this order.
    by_v4: [u8; Self::MOST],
    /// Their places, longest Rule IPv6 prefix first.
    by_v6: [u8; Self::MOST],
    count: u32,
}

/// Why a rule cannot be one of a domain with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulesError {
    /// There are [`MapRules::MOST`] already.
    Full,
    /// There is one for the same Rule IPv6 prefix.
    SameV6(MapRule),
    /// There is one for the same Rule IPv4 prefix, and for some ports both apply.
    SameV4(MapRule),
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "there are at most {} mapping rules", MapRules::MOST),
            Self::SameV6(rule) => {
                let (v6, length) = rule.v6();
                write!(f, "there is a rule for {v6}/{length} already")
            }
            Self::SameV4(rule) => {
                let (v4, length) = rule.v4();
                write!(
                    f,
                    "there is a rule for {v4}/{length} already; only rules that give different PSIDs \
                     of the same length and offset can share an address (RFC 7597 section 5.1)"
                )
            }
        }
    }
}

impl core::error::Error for RulesError {}

impl MapRules {
    /// The most rules that fit.
    pub const MOST: usize = 16;

    /// No rules.
    pub const NONE: Self = {
        let nothing = MapRule::new(
            (V6::from_halves(0, 0), 128),
            (V4::from_number(0), 32),
            0,
            Ports::Given(PortSet::WHOLE),
        );
        let Ok(nothing) = nothing else {
            panic!("a rule without EA bits is a rule");
        };
        Self {
            rules: [nothing; Self::MOST],
            by_v4: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            by_v6: [0; Self::MOST],
            count: 0,
        }
    };

    /// Adds a rule.
    ///
    /// # Errors
    /// See [`RulesError`].
    pub fn push(&mut self, rule: MapRule) -> Result<(), RulesError> {
        for other in self.iter() {
            if other.v6() == rule.v6() {
                return Err(RulesError::SameV6(*other));
            }
            if other.v4() == rule.v4() && meet(other.ports(), rule.ports()) {
                return Err(RulesError::SameV4(*other));
            }
        }
        let count = self.count as usize;
        if count == Self::MOST {
            return Err(RulesError::Full);
        }
        self.rules[count] = rule;
        self.count += 1;
        self.rules[..=count].sort_unstable_by_key(|rule| Reverse(rule.v4_length));
        for (place, slot) in self.by_v6[..=count].iter_mut().enumerate() {
            *slot = place as u8;
        }
        let rules = &self.rules;
        let length = |place: &u8| rules[usize::from(*place)].v6_length;
        self.by_v6[..=count].sort_unstable_by_key(|place| Reverse(length(place)));
        Ok(())
    }

    /// The rules, longest Rule IPv4 prefix first.
    pub fn iter(&self) -> impl Iterator<Item = &MapRule> {
        self.rules.iter().take(self.count as usize)
    }

    /// The rule for an IPv4 address and port: that with the longest Rule IPv4 prefix (RFC 7597
    /// section 5, RFC 7599 sections 8.1 and 8.4). Without one, the address is outside the domain.
    #[inline(always)]
    #[must_use]
    pub fn find_v4(&self, address: V4, port: u16) -> Option<&MapRule> {
        self.first(&self.by_v4, |rule| rule.covers_v4(address, port))
    }

    /// The rule for an IPv6 address: that with the longest Rule IPv6 prefix (RFC 7597 sections 5 and
    /// 8.1).
    #[inline(always)]
    #[must_use]
    pub fn find_v6(&self, address: V6) -> Option<&MapRule> {
        self.first(&self.by_v6, |rule| rule.covers_v6(address))
    }

    /// The first rule in an order that covers something.
    #[inline(always)]
    fn first(
        &self,
        order: &[u8; Self::MOST],
        covers: impl Fn(&MapRule) -> bool,
    ) -> Option<&MapRule> {
        for (turn, place) in order.iter().enumerate() {
            if turn as u32 >= self.count {
                break;
            }
            // The verifier of BPF does not know what is in memory: it goes through what follows once, and not for each
            // place. The remainder tells it that the place is one.
            let rule = &self.rules[usize::from(*place) % Self::MOST];
            if covers(rule) {
                return Some(rule);
            }
        }
        None
    }
}

impl Default for MapRules {
    fn default() -> Self {
        Self::NONE
    }
}

/// Whether two rules for the same IPv4 prefix apply to the same port.
fn meet(one: Ports, other: Ports) -> bool {
    match (one, other) {
        (Ports::Given(one), Ports::Given(other)) => {
            one.sharing() != other.sharing() || one.psid() == other.psid()
        }
        _ => true,
    }
}
