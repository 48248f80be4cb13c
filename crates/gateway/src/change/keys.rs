//! The keys of configurations as they are written, compared without their meaning.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::KeyChange;

/// The lists of tables, and the key that tells those of one list apart.
const LISTS: [(&str, &str); 3] = [
    ("announce", "interface"),
    ("instance", "name"),
    ("interface", "name"),
];

/// The content of a configuration that was read without mistakes.
pub(crate) fn written(text: &str) -> Map<String, Value> {
    let (table, _) = DeTable::parse_recoverable(text);
    of_table(table.get_ref())
}

fn of_table(table: &DeTable<'_>) -> Map<String, Value> {
    let pairs = table.iter();
    pairs
        .map(|(key, value)| (key.get_ref().to_string(), of_value(value.get_ref())))
        .collect()
}

fn of_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Boolean(it) => (*it).into(),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => number.into(),
            Err(_) => number.to_string().into(),
        },
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) => number.into(),
            Err(_) => number.to_string().into(),
        },
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(list) => list.iter().map(|one| of_value(one.get_ref())).collect(),
        DeValue::Table(table) => of_table(table).into(),
    }
}

/// The keys that have other values.
pub(crate) fn between(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<KeyChange> {
    let mut changes = Vec::new();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        match LISTS.iter().find(|(list, _)| list == name) {
            Some((list, key)) => lists(list, (members(old, key), members(new, key)), &mut changes),
            None => values(&format!("[{name}]"), "", (old, new), &mut changes),
        }
    }
    changes
}

/// The tables of a list by their names, and the names in their order.
struct Members<'v> {
    tables: BTreeMap<&'v str, &'v Value>,
    order: Vec<&'v str>,
}

fn members<'v>(list: Option<&'v Value>, key: &str) -> Members<'v> {
    let all = list.and_then(Value::as_array).into_iter().flatten();
    let named: Vec<(&str, &Value)> = all
        .map(|table| {
            let name = table.get(key).and_then(Value::as_str);
            (name.unwrap_or_default(), table)
        })
        .collect();
    Members {
        order: named.iter().map(|(name, _)| *name).collect(),
        tables: named.into_iter().collect(),
    }
}

fn lists(list: &str, (old, new): (Members<'_>, Members<'_>), changes: &mut Vec<KeyChange>) {
    let names = old.order.iter().chain(&new.order);
    let mut seen = BTreeSet::new();
    for name in names.filter(|name| seen.insert(**name)) {
        let both = (old.tables.get(name).copied(), new.tables.get(name).copied());
        values(&format!("{list} {name}"), "", both, changes);
    }
    // The first instance that is responsible for a packet has it.
    let common = |of: &Members<'_>, other: &Members<'_>| -> Vec<String> {
        let stays = of
            .order
            .iter()
            .filter(|name| other.tables.contains_key(*name));
        stays.map(|name| (*name).to_owned()).collect()
    };
    let (before, after) = (common(&old, &new), common(&new, &old));
    if before != after {
        changes.push(KeyChange {
            section: format!("[[{list}]]"),
            key: "order".to_owned(),
            before: Some(before.into()),
            after: Some(after.into()),
        });
    }
}

/// The differences of two values; tables are compared key by key.
fn values(
    section: &str,
    above: &str,
    (before, after): (Option<&Value>, Option<&Value>),
    changes: &mut Vec<KeyChange>,
) {
    if before == after {
        return;
    }
    let nothing = Map::new();
    let table = |value: Option<&Value>| match value {
        None => Some(nothing.clone()),
        Some(value) => value.as_object().cloned(),
    };
    match (table(before), table(after)) {
        (Some(old), Some(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let key = match above {
                    "" => name.clone(),
                    above => format!("{above}.{name}"),
                };
                values(section, &key, (old.get(name), new.get(name)), changes);
            }
        }
        _ => changes.push(KeyChange {
            section: section.to_owned(),
            key: above.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = r#"
        [tun]
        queues = 0x2
        [[instance]]
        name = "a"
        pool = [{ addresses = "203.0.113.1/32" }]
        timers = { udp = 300, icmp = 60 }
        [[instance]]
        name = "b"
        mechanism = "siit"
    "#;

    fn changed(after: &str) -> Vec<String> {
        let changes = between(&written(BEFORE), &written(after));
        let text = |value: Option<Value>| value.map_or("-".to_owned(), |value| value.to_string());
        changes
            .into_iter()
            .map(|it| {
                format!(
                    "{} {} {} {}",
                    it.section,
                    it.key,
                    text(it.before),
                    text(it.after)
                )
            })
            .collect()
    }

    #[test]
    fn the_same_in_other_words_is_the_same() {
        let other = BEFORE.replace("0x2", "2").replace(
            "timers = { udp = 300, icmp = 60 }",
            "timers.icmp = 60\ntimers.udp = 3_00",
        );
        assert_eq!(changed(&other), [""; 0]);
    }

    #[test]
    fn keys_are_told_with_their_place() {
        let other = BEFORE
            .replace("udp = 300, ", "")
            .replace("203.0.113.1", "203.0.113.2")
            .replace("queues = 0x2", "queues = 3\nmtu = 1400");
        assert_eq!(
            changed(&other),
            [
                r#"instance a pool [{"addresses":"203.0.113.1/32"}] [{"addresses":"203.0.113.2/32"}]"#,
                "instance a timers.udp 300 -",
                "[tun] mtu - 1400",
                "[tun] queues 2 3",
            ]
        );
    }

    #[test]
    fn instances_come_go_and_change_places() {
        let (head, second) = BEFORE.rsplit_once("[[instance]]").unwrap();
        let (head, first) = head.rsplit_once("[[instance]]").unwrap();
        let swapped = format!("{head}[[instance]]{second}[[instance]]{first}");
        assert_eq!(
            changed(&swapped),
            [r#"[[instance]] order ["a","b"] ["b","a"]"#]
        );
        let one = format!("{head}[[instance]]{first}");
        assert_eq!(
            changed(&one),
            [
                r#"instance b mechanism "siit" -"#,
                r#"instance b name "b" -"#
            ]
        );
    }
}
