//! The code blocks of the documentation: commands are commands, and JSON is JSON. Configurations are read by
//! `the_manual_is_right` of the gateway's tests; pages under `docs/start` and `docs/recipes` are followed by those of the
//! namespaces.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages that are not followed step by step.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let others = [
        "README.md",
        "CONTRIBUTING.md",
        "packaging/openwrt/README.md",
    ];
    pages.chain(others.map(|page| root().join(page))).collect()
}

/// A line of a code block, with the language of that; blocks that are indented have none.
struct Line {
    place: String,
    language: String,
    text: String,
}

/// The lines of all code blocks of a page.
fn lines(page: &Path) -> Vec<Line> {
    let text = fs::read_to_string(page).unwrap();
    let mut language: Option<String> = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(after) = line.trim_start().strip_prefix("```") {
            language = match language {
                Some(_) => None,
                None => Some(after.to_owned()),
            };
        } else if language.is_some() || line.starts_with("    ") {
            lines.push(Line {
                place: format!("{}:{number}", page.display()),
                language: language.clone().unwrap_or_default(),
                text: line.trim().to_owned(),
            });
        }
    }
    lines
}

/// The words of the simple commands of a line, without comments and what is redirected. None of what is no shell's.
fn commands(line: &str) -> Vec<Vec<String>> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let mut commands = vec![Vec::new()];
    let mut words = shlex::split(line).unwrap_or_default().into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "|" | "&&" | "||" => commands.push(Vec::new()),
            ">" | ">>" | "<" | "2>" => {
                words.next();
            }
            word => {
                let (word, ends) = match word.strip_suffix(';') {
                    Some(word) => (word, true),
                    None => (word, false),
                };
                if !word.starts_with('>') {
                    commands.last_mut().unwrap().push(word.to_owned());
                }
                if ends {
                    commands.push(Vec::new());
                }
            }
        }
    }
    commands
}

/// Why a command of the program is none.
fn mistake(words: &[String]) -> Option<String> {
    let program = isthmus::command();
    // "isthmus status · top": the names of commands, and no more. The laboratory reads what follows `lab` itself.
    if words.iter().any(|word| word == "·") || words.get(1).is_some_and(|word| word == "lab") {
        let names = words.iter().skip(1).filter(|word| *word != "·");
        let known = |name: &str| program.find_subcommand(name).is_some();
        let first = words.get(1).map(String::as_str).unwrap_or_default();
        let inner = program.find_subcommand(first);
        let within = |name: &str| inner.is_some_and(|it| it.find_subcommand(name).is_some());
        if first == "lab" {
            return None;
        }
        return names
            .filter(|name| !known(name) && !within(name))
            .map(|name| format!("there is no command {name}"))
            .next();
    }
    let parsed = program.try_get_matches_from(words);
    parsed.err().map(|error| error.to_string())
}

#[test]
fn commands_of_the_documentation_are_commands() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter_map(|line| line.split_once(": ").or_else(|| line.split_once(':')))
        .map(|(target, _)| target)
        .collect();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for line in pages().iter().flat_map(|page| lines(page)) {
        if !matches!(line.language.as_str(), "" | "sh") {
            continue;
        }
        for words in commands(&line.text) {
            let found = match words.first().map(String::as_str) {
                Some("isthmus") if words.len() > 1 => mistake(&words),
                Some("make") if words.len() > 1 && !words[1].contains(['/', '=']) => {
                    let target = words[1].as_str();
                    (!targets.contains(target)).then(|| format!("there is no target {target}"))
                }
                _ => continue,
            };
            seen += 1;
            wrong.extend(found.map(|why| format!("{}: {}: {why}", line.place, words.join(" "))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 50, "{seen} commands");
}

#[test]
fn every_language_has_a_rule() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let mut blocks = text.split("```").skip(1).step_by(2);
        for block in &mut blocks {
            let (language, content) = block.split_once('\n').unwrap();
            match language {
                // Read by others: commands above, configurations by the gateway, units by systemd, rules by Ansible.
                "" | "sh" | "toml" | "ini" | "yaml" => {}
                "json" => {
                    let read = serde_json::from_str::<serde_json::Value>(content);
                    assert!(read.is_ok(), "{}: {read:?}: {content}", page.display());
                }
                other => panic!("{}: nobody looks at a block of {other}", page.display()),
            }
        }
    }
}
