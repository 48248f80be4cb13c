//! A page of `docs`: what its blocks of code have somebody write, run and see.
//!
//! The first line of a block says whose it is:
//!
//! ```text
//! ```toml router /etc/isthmus/edge.toml      a file
//! ```sh router                               commands
//! ```console router                          a command after `$ `, and lines of what it says; … stands for anything
//! ```toml                                    nobody's: to be read
//! ```

use std::fs;
use std::path::Path;

/// What the page says.
pub(super) struct Page {
    pub(super) steps: Vec<Step>,
}

/// Something to do on a machine.
pub(super) enum Step {
    Write {
        on: String,
        path: String,
        text: String,
    },
    Run {
        on: String,
        script: String,
    },
    See {
        on: String,
        command: String,
        lines: Vec<String>,
    },
}

impl Page {
    /// Reads the page of this name, such as `recipes/office`.
    pub(super) fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let text = fs::read_to_string(folder.join(format!("{name}.md"))).unwrap();
        let page = Self::parse(&text);
        assert!(!page.steps.is_empty(), "{name} has nothing to do");
        page
    }

    fn parse(text: &str) -> Self {
        let mut steps = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(info) = line.strip_prefix("```") else {
                continue;
            };
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let words: Vec<&str> = info.split_whitespace().collect();
            steps.extend(Self::steps(&words, &block));
        }
        Self { steps }
    }

    fn steps(info: &[&str], block: &[&str]) -> Vec<Step> {
        let text = || format!("{}\n", block.join("\n"));
        match *info {
            [] | [_] => Vec::new(),
            ["sh", on] => vec![Step::Run {
                on: on.into(),
                script: text(),
            }],
            ["console", on] => Self::commands(on, block),
            [_, on, path] if path.starts_with('/') => vec![Step::Write {
                on: on.into(),
                path: path.into(),
                text: text(),
            }],
            _ => panic!("nobody knows what to do with a block of {info:?}"),
        }
    }

    fn commands(on: &str, block: &[&str]) -> Vec<Step> {
        let mut steps: Vec<(String, Vec<String>)> = Vec::new();
        for line in block {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push((command.into(), Vec::new())),
                (None, Some((_, lines))) => lines.push((*line).into()),
                (None, None) => panic!("{line:?} comes before a command"),
            }
        }
        let step = |(command, lines)| Step::See {
            on: on.into(),
            command,
            lines,
        };
        steps.into_iter().map(step).collect()
    }
}

/// Whether a program said this line, in which … stands for anything.
pub(super) fn says(said: &str, line: &str) -> bool {
    said.lines().any(|there| {
        let mut rest = Some(there);
        for part in line.split('…') {
            rest = rest
                .and_then(|rest| rest.split_once(part))
                .map(|(_, rest)| rest);
        }
        rest.is_some()
    })
}

#[test]
fn a_line_is_found_with_anything_in_it() {
    let said = "first\n1.2.3.4 dev eth0 proto 7 metric 3\n";
    for line in ["first", "dev eth0…metric", "1.2.3.4…proto…3", "…"] {
        assert!(says(said, line), "{line}");
    }
    for line in ["second", "metric…dev", "first…dev"] {
        assert!(!says(said, line), "{line}");
    }
}

#[test]
fn blocks_with_a_machine_are_steps() {
    let text = "```toml\nread\n```\n```sh here\nrun\nmore\n```\nand\n```console there\n$ one\na\n\
                $ two\n```\n```conf here /etc/file\nx = 1\n```\n";
    let page = Page::parse(text);
    let told: Vec<String> = page
        .steps
        .into_iter()
        .map(|step| match step {
            Step::Write { on, path, text } => format!("{on} {path} {text}"),
            Step::Run { on, script } => format!("{on} {script}"),
            Step::See { on, command, lines } => format!("{on} {command} {lines:?}"),
        })
        .collect();
    assert_eq!(
        told,
        [
            "here run\nmore\n",
            "there one [\"a\"]",
            "there two []",
            "here /etc/file x = 1\n"
        ]
    );
}
