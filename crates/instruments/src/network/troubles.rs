//! The kernel's counts, in a namespace, of packets with which it could not do what it was asked.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

use super::{netns::Namespace, process};
use crate::Result;

/// The counts of a namespace, by the kernel's names (`nstat` of iproute2).
#[derive(Debug, Clone, Default)]
pub struct Troubles(BTreeMap<String, u64>);

#[derive(Deserialize)]
struct Printed {
    kernel: BTreeMap<String, u64>,
}

/// Words in the names of counts that are of interest.
const WORDS: [&str; 6] = ["Fail", "Err", "Discard", "Drop", "Timeout", "Overflow"];

impl Troubles {
    /// The counts as they are now.
    ///
    /// # Errors
    /// `nstat` is not installed, or prints something else.
    pub fn now(namespace: &Namespace) -> Result<Self> {
        let mut nstat = namespace.command("nstat");
        let printed = process::run(nstat.args(["--ignore", "--noupdate", "--json"]))?;
        let Printed { kernel } =
            serde_json::from_str(&printed).map_err(|error| crate::LabError::Output {
                tool: "nstat",
                output: error.to_string(),
            })?;
        Ok(Self(kernel))
    }

    /// The counts that are higher than `before`, by as much.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.0.retain(|name, count| {
            *count -= before.0.get(name).copied().unwrap_or(0).min(*count);
            *count > 0 && WORDS.iter().any(|word| name.contains(word))
        });
        self
    }
}

/// Each that there is, with its number.
impl fmt::Display for Troubles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (index, (name, count)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_and_what_is_no_trouble_is_not_told() {
        let counts = |all: [(&str, u64); 3]| Troubles(all.map(|(n, c)| (n.into(), c)).into());
        let before = counts([("IpReasmFails", 2), ("UdpInErrors", 7), ("IpReasmOKs", 1)]);
        let after = counts([("IpReasmFails", 5), ("UdpInErrors", 7), ("IpReasmOKs", 9)]);
        assert_eq!(after.since(&before).to_string(), "IpReasmFails 3");
        assert_eq!(before.clone().since(&before).to_string(), "nothing");
    }
}
