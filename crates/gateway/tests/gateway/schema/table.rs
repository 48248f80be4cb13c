//! The tables of keys in `docs/configuration.md`.

use serde_json::{Map, Value, json};

/// What stands before each table, in their order.
const PLACES: [&str; 15] = [
    "`[gateway]`",
    "`[log]`",
    "`[link]`",
    "`[[interface]]`",
    "`[tun]`",
    "`[[instance]]`",
    "### `siit`",
    "### `nat64`",
    "`[instance.pcp]`",
    "`[instance.timers]`",
    "## Records",
    "## Announcements",
    "## Cards",
    "## DNS64",
    "## Proxy",
];

/// The timers, whose range stands above their table.
const SECONDS: &str = "1 to 31536000";

/// A table of keys.
pub(super) struct Table {
    pub(super) place: &'static str,
    pub(super) rows: Vec<Row>,
}

/// A key.
pub(super) struct Row {
    pub(super) key: String,
    /// Its values, as people read them.
    values: String,
    pub(super) is_required: bool,
    pub(super) description: String,
}

/// Reads the tables of the page.
pub(super) fn tables(page: &str) -> Vec<Table> {
    let mut places = PLACES.into_iter();
    let mut tables: Vec<Table> = Vec::new();
    let mut before = String::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with("| key |") {
            before.push_str(line);
            before.push('\n');
            continue;
        }
        let place = places.next().expect("a table that has no place here");
        assert!(before.contains(place), "{place} stands before its table");
        before.clear();
        let is_timers = line.contains("minimum");
        lines.next().expect("the line below the heads");
        let mut rows = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
            rows.extend(read(line, is_timers));
        }
        tables.push(Table { place, rows });
    }
    assert_eq!(places.next(), None, "a table is missing");
    tables
}

/// The keys of a line, which may have several.
fn read(line: &str, is_timers: bool) -> Vec<Row> {
    let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
    let (values, default) = match is_timers {
        true => (SECONDS, cells[1]),
        false => (cells[1], cells[2]),
    };
    let meaning = plain(cells.get(3).unwrap_or(&"").trim_end_matches('|').trim());
    let shown = if is_timers { "seconds" } else { values };
    let row = |key: &str| Row {
        key: key.trim().trim_matches('`').to_owned(),
        values: values.to_owned(),
        is_required: matches!(default, "required" | "needed"),
        description: match default {
            "required" | "needed" => format!("{}. Required. {meaning}", plain(shown)),
            default => format!("{}. Default: {}. {meaning}", plain(shown), plain(default)),
        }
        .trim()
        .to_owned(),
    };
    cells[0].split(", ").map(row).collect()
}

/// Replaces links by their texts.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        let parts = link
            .split_once("](")
            .and_then(|(text, more)| Some((text, more.split_once(')')?.1)));
        plain.push_str(before);
        match parts {
            Some((text, after)) if !text.contains('`') || !before.ends_with('`') => {
                plain.push_str(text);
                rest = after;
            }
            _ => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain + rest
}

impl Row {
    /// The schema of its value.
    pub(super) fn schema(&self) -> Value {
        let mut schema = kind(&self.values);
        schema["description"] = self.description.clone().into();
        if self.is_required && schema["type"] == "array" {
            schema["minItems"] = 1.into();
        }
        schema
    }
}

/// Reads the column of values.
fn kind(values: &str) -> Value {
    let words: Vec<&str> = values.split(" (").next().unwrap().split(", ").collect();
    let all_quoted = words
        .iter()
        .all(|word| word.starts_with('`') && word.ends_with('`'));
    if let Some(words) = values.strip_prefix("any of ") {
        json!({ "type": "array", "items": kind(words) })
    } else if values == "`true`, `false`" {
        json!({ "type": "boolean" })
    } else if let Some(rest) = values.strip_prefix("`\"copy\"` or ") {
        json!({ "anyOf": [{ "const": "copy" }, kind(rest)] })
    } else if let Some(members) = values
        .split_once("{ ")
        .and_then(|(_, rest)| rest.split_once(" }"))
    {
        let members: Map<_, _> = members
            .0
            .split(", ")
            .map(|key| (key.to_owned(), member(key)))
            .collect();
        let object =
            json!({ "type": "object", "properties": members, "additionalProperties": false });
        match values.starts_with("list") || values.contains("tables") {
            true => json!({ "type": "array", "items": object }),
            false => object,
        }
    } else if all_quoted {
        let words: Vec<&str> = words.iter().map(|word| word.trim_matches('`')).collect();
        json!({ "enum": words })
    } else if let Some(range) = range(values) {
        range
    } else if values == "ports and ranges of them" {
        json!({ "type": "array", "items": { "type": "string", "pattern": PORTS } })
    } else if values.contains("ports") {
        json!({ "type": "array", "items": { "type": "string", "pattern": SOCKET } })
    } else if ["list", "networks", "addresses", "prefixes"]
        .iter()
        .any(|word| values.contains(word))
    {
        json!({ "type": "array", "items": { "type": "string", "pattern": NETWORK } })
    } else if values.contains("port") {
        json!({ "type": "string", "pattern": SOCKET })
    } else if values.contains("address") {
        json!({ "type": "string", "pattern": ADDRESS })
    } else {
        json!({ "type": "string", "minLength": 1 })
    }
}

const PORTS: &str = "^[0-9]{1,5}( *- *[0-9]{1,5})?$";
const ADDRESS: &str = r"^[0-9A-Fa-f:.]+$";
const NETWORK: &str = r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$";
const SOCKET: &str = r"^([0-9.]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$";

/// The schema of a value in a list of tables.
fn member(key: &str) -> Value {
    match key {
        "v4" | "v6" | "addresses" => json!({ "type": "string", "pattern": NETWORK }),
        "to" => json!({ "type": "string", "pattern": NETWORK }),
        "via" => json!({ "type": "string", "pattern": ADDRESS }),
        "ports" => json!({ "type": "string", "pattern": PORTS }),
        "protocol" => json!({ "enum": ["tcp", "udp", "icmp"] }),
        "size" => json!({ "type": "integer", "minimum": 8, "maximum": 32768 }),
        "per-subscriber" => json!({ "type": "integer", "minimum": 1, "maximum": 4 }),
        "subscriber" => json!({ "type": "string", "pattern": ADDRESS }),
        "sessions" | "bindings" | "session-rate" => json!({ "type": "integer", "minimum": 0 }),
        // An endpoint of a binding, or a network of subscribers.
        "inside" | "outside" => json!({ "type": "string", "minLength": 1 }),
        _ => panic!("what is {key}?"),
    }
}

/// `68 to 65535 bytes`, `number`, or the length of a name. The name of another key is as little as 0.
fn range(values: &str) -> Option<Value> {
    if values == "number" {
        return Some(json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }));
    }
    if values.contains("letters") {
        return Some(json!({ "type": "string", "pattern": "^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$" }));
    }
    let (first, last) = values.split_once(" to ")?;
    let last: u64 = last.split(' ').next()?.parse().ok()?;
    let first: u64 = match first.parse() {
        Ok(first) => first,
        Err(_) if first.contains("`interval`") => 0,
        Err(_) => return None,
    };
    Some(json!({ "type": "integer", "minimum": first, "maximum": last }))
}
