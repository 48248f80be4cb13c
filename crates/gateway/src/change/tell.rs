//! Differences in words.

use std::fmt;

use serde_json::Value;

use super::{Differences, Fate, InstanceChange, KeyChange, Sessions, Turn};

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing changes");
        }
        let mut sections: Vec<(String, Vec<String>)> = Vec::new();
        let mut add = |section: &str, line: String| match sections
            .iter_mut()
            .find(|(heading, _)| heading == section)
        {
            Some((_, lines)) => lines.push(line),
            None => sections.push((section.to_owned(), vec![line])),
        };
        for change in &self.keys {
            add(&change.section, of_key(change));
        }
        for change in &self.instances {
            add(&heading(&change.instance), of_instance(change));
        }
        for line in &self.link {
            add("link", line.clone());
        }
        if !self.restart.is_empty() {
            let what = self.restart.join(", ");
            add(
                "a reload is refused",
                format!("only a restart changes {what}"),
            );
        }
        let told = sections.iter().map(|(heading, lines)| {
            let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
            format!("{heading}{lines}")
        });
        f.write_str(&told.collect::<Vec<_>>().join("\n"))
    }
}

/// The section of the keys of an instance.
fn heading(instance: &str) -> String {
    format!("instance {instance}")
}

fn of_key(change: &KeyChange) -> String {
    let value = |value: &Option<Value>| match value {
        Some(value) => value.to_string(),
        None => "not set".to_owned(),
    };
    let (before, after) = (value(&change.before), value(&change.after));
    format!("{}: {before} → {after}", change.key)
}

fn of_instance(change: &InstanceChange) -> String {
    let turn = change.change.name();
    match (&change.sessions, change.change) {
        (None, _) | (_, Turn::Added) => turn.to_owned(),
        (Some(sessions), _) => format!("{turn}: {}", of_sessions(sessions)),
    }
}

fn of_sessions(sessions: &Sessions) -> String {
    match (sessions.fate, sessions.counted) {
        (_, Some(count)) if count.all == 0 => "there are no sessions now".to_owned(),
        (Fate::LiveOn, None) => "all sessions live on".to_owned(),
        (Fate::LiveOn, Some(count)) => format!("all {} sessions live on", count.all),
        (Fate::End, None) => "all sessions end".to_owned(),
        (Fate::End, Some(count)) => format!("all {} sessions end", count.all),
        (Fate::Judged, Some(count)) => format!("{} of {} sessions end", count.ending, count.all),
        (Fate::Judged, None) => {
            "sessions end whose host is not inside any more, or whose outside address and port \
             are not in the pool any more or are another's"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Counted;

    #[test]
    fn what_changes_stands_below_its_section() {
        let differences = Differences {
            keys: vec![
                KeyChange {
                    section: "instance plat".into(),
                    key: "max-sessions".into(),
                    before: None,
                    after: Some(8192.into()),
                },
                KeyChange {
                    section: "[tun]".into(),
                    key: "queues".into(),
                    before: Some(1.into()),
                    after: Some(2.into()),
                },
            ],
            instances: vec![InstanceChange {
                instance: "plat".into(),
                change: Turn::Changed,
                sessions: Some(Sessions {
                    fate: Fate::End,
                    counted: Some(Counted { ending: 7, all: 7 }),
                }),
            }],
            link: vec!["route 192.0.2.0/24 added".into()],
            restart: vec!["`queues` of [tun]".into()],
        };
        assert_eq!(
            differences.to_string(),
            "instance plat\n  max-sessions: not set → 8192\n  changed: all 7 sessions end\n\
             [tun]\n  queues: 1 → 2\n\
             link\n  route 192.0.2.0/24 added\n\
             a reload is refused\n  only a restart changes `queues` of [tun]"
        );
        assert_eq!(Differences::default().to_string(), "nothing changes");
    }
}
