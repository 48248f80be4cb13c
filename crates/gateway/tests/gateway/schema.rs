//! `packaging/isthmus.schema.json`: the JSON Schema of the configuration, for editors.
//!
//! It is made of the tables in `docs/configuration.md`, from which the manual page is made, too, and of the keys that
//! the reader has for each mechanism. `WRITE_PAGES=1 cargo test -p isthmus-gateway --test gateway schema_page` writes it;
//! `make docs` does.

mod judge;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use isthmus_gateway::config::{self, keys_of_mechanisms};
use serde_json::{Map, Value, json};

use table::{Table, tables};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn file() -> PathBuf {
    root().join("packaging/isthmus.schema.json")
}

/// The mechanisms: those of the key `mechanism`, and those of the table in `docs/mechanisms.md`.
fn mechanisms() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join("docs/mechanisms.md")).unwrap();
    let names = page.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("| `")?.split_once("` | ")?;
        keys_of_mechanisms()
            .any(|(_, mechanisms)| mechanisms.contains(&name))
            .then(|| name.to_owned())
    });
    names
        .chain(["siit", "nat64", "nat44"].map(str::to_owned))
        .collect()
}

/// An object that has the keys of some tables and no others.
fn object(tables: &[&Table]) -> Value {
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let required: Vec<&str> = rows()
        .filter(|row| row.is_required)
        .map(|row| &*row.key)
        .collect();
    let properties: Map<_, _> = rows().map(|row| (row.key.clone(), row.schema())).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn instance(tables: &[Table]) -> Value {
    let of = |place| tables.iter().find(|table| table.place == place).unwrap();
    let common = of("`[[instance]]`");
    let (siit, nat) = (of("### `siit`"), of("### `nat64`"));
    let mut schema = object(&[common]);
    let properties = schema["properties"].as_object_mut().unwrap();
    // The keys of one mechanism may be something else in another.
    for (key, _) in keys_of_mechanisms() {
        properties.entry(key).or_insert_with(|| json!({}));
    }
    for row in &siit.rows {
        // One that all have says more there.
        if !common.rows.iter().any(|other| other.key == row.key) {
            let described = json!({ "description": row.description });
            properties.insert(row.key.clone(), described);
        }
    }
    for row in &nat.rows {
        properties.insert(row.key.clone(), row.schema());
    }
    properties.insert("pcp".to_owned(), object(&[of("`[instance.pcp]`")]));
    properties.insert("timers".to_owned(), object(&[of("`[instance.timers]`")]));
    let names: Vec<String> = mechanisms().into_iter().collect();
    properties["mechanism"]["enum"] = names.clone().into();
    let required = |table: &Table| json!({ "required": object(&[table])["required"] });
    let of_siit = json!({ "properties": object(&[siit])["properties"] });
    let when = |mechanisms: &[&str], then: Value| {
        let is_one = json!({ "properties": { "mechanism": { "enum": mechanisms } } });
        json!({ "if": is_one, "then": then })
    };
    let mut rules = vec![
        when(&["siit"], of_siit),
        when(&["nat64", "nat44"], required(nat)),
        json!({ "not": { "required": ["port-blocks", "deterministic"] } }),
    ];
    for name in &names {
        let own = keys_of_mechanisms().filter(|(_, mechanisms)| mechanisms.contains(&&**name));
        let of_all = common.rows.iter().map(|row| &*row.key);
        let shared = keys_of_mechanisms()
            .map(|(key, _)| key)
            .collect::<BTreeSet<_>>();
        let of_all = of_all.filter(|key| !shared.contains(key));
        let allowed: BTreeSet<&str> = own.map(|(key, _)| key).chain(of_all).collect();
        rules.push(when(
            &[name],
            json!({ "propertyNames": { "enum": allowed } }),
        ));
    }
    schema["allOf"] = rules.into();
    schema
}

fn schema() -> Value {
    let page = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let tables = tables(&page);
    let mut properties = Map::new();
    for (key, place) in [
        ("gateway", "`[gateway]`"),
        ("log", "`[log]`"),
        ("link", "`[link]`"),
        ("tun", "`[tun]`"),
        ("records", "## Records"),
        ("dns64", "## DNS64"),
        ("proxy", "## Proxy"),
        ("interface", "`[[interface]]`"),
        ("announce", "## Announcements"),
        ("card", "## Cards"),
    ] {
        let table = tables.iter().find(|table| table.place == place).unwrap();
        let object = object(&[table]);
        let value = match key {
            "interface" | "announce" | "card" => json!({ "type": "array", "items": object }),
            _ => object,
        };
        properties.insert(key.to_owned(), value);
    }
    let instances = json!({ "type": "array", "items": instance(&tables), "maxItems": 16 });
    properties.insert("instance".to_owned(), instances);
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "The configuration of an Isthmus gateway",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "anyOf": [{ "required": ["instance"] }, { "required": ["dns64"] }, { "required": ["proxy"] }],
    })
}

#[test]
fn the_schema_page_is_current() {
    let text = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    if std::env::var_os("WRITE_PAGES").is_some() {
        fs::write(file(), text).unwrap();
        return;
    }
    let found = fs::read_to_string(file()).unwrap();
    assert!(found == text, "run `make docs`");
}

/// Whether the reader refuses a number, in the second line of a section.
fn is_refused(heading: &str, key: &str, number: i64) -> bool {
    let rest = "name = \"a\"\nmechanism = \"nat64\"\n";
    let rest = if heading == "[[instance]]" { rest } else { "" };
    let text = format!("{heading}\n{key} = {number}\n{rest}");
    let said = config::parse("probe", "probe", text, Path::new(""));
    let problems = said
        .err()
        .map(|report| report.problems().collect::<Vec<_>>());
    let mut problems = problems.unwrap_or_default().into_iter();
    problems.any(|problem| problem.line == 2 && problem.severity == "error")
}

/// The page says what the reader does.
#[test]
fn ranges_are_those_of_the_reader() {
    let page = fs::read_to_string(root().join("docs/configuration.md")).unwrap();
    let mut probed = 0;
    for table in tables(&page) {
        let heading = match table.place {
            "### `nat64`" => "[[instance]]",
            "### `siit`" | "`[instance.pcp]`" | "`[instance.timers]`" => continue,
            "## Records" => "[records]",
            "## DNS64" => "[dns64]",
            "## Proxy" => "[proxy]",
            "## Announcements" => "[[announce]]",
            "## Cards" => "[[card]]",
            place => place.trim_matches('`'),
        };
        for row in &table.rows {
            let schema = row.schema();
            let (Some(least), Some(most)) =
                (schema["minimum"].as_i64(), schema["maximum"].as_i64())
            else {
                continue;
            };
            probed += 1;
            let refused = |number| is_refused(heading, &row.key, number);
            let at = format!("{heading} {}", row.key);
            assert!(!refused(most), "{at}: {most}");
            assert!(refused(most + 1), "{at}: {most} + 1");
            assert!(refused(least - 1), "{at}: {least} - 1");
        }
    }
    assert!(probed > 15, "{probed}");
}
