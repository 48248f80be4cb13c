//! The pages of the documentation: each has its place in the book, and their links lead somewhere.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What a page says, without its blocks of code, in which nothing is a link.
struct Page {
    path: PathBuf,
    text: String,
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The pages in a folder and below.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

impl Page {
    fn read(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap();
        let mut code = false;
        let lines = text.lines().filter(|line| {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            !code && !fence
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        Self { path, text }
    }

    /// Where its links lead, such as `running.md#health`, that are not on the web.
    fn links(&self) -> impl Iterator<Item = &str> {
        let after = self.text.split("](").skip(1);
        let links = after.filter_map(|rest| Some(rest.split_once(')')?.0));
        links.filter(|link| !link.contains("://"))
    }

    /// The names that a forge and mdbook give its headings.
    fn anchors(&self) -> BTreeSet<String> {
        let headings = self.text.lines().filter(|line| line.starts_with('#'));
        headings
            .map(|line| anchor(line.trim_start_matches('#')))
            .collect()
    }
}

fn anchor(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = lower.chars().filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        _ => character.is_alphanumeric().then_some(character),
    });
    kept.collect()
}

/// The links of a page that lead nowhere, each with the reason.
fn broken(page: &Page) -> Vec<String> {
    let leads = |link: &str| -> Result<(), String> {
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let folder = page.path.parent().unwrap();
        let target = match path {
            "" => page.path.clone(),
            path => folder.join(path),
        };
        if !target.exists() {
            return Err("there is no such file".into());
        }
        if !anchor.is_empty() && !Page::read(target).anchors().contains(anchor) {
            return Err("that page has no such heading".into());
        }
        Ok(())
    };
    let problem = |link| {
        leads(link)
            .err()
            .map(|why| format!("{}: {link}: {why}", page.path.display()))
    };
    page.links().filter_map(problem).collect()
}

#[test]
fn links_lead_somewhere() {
    let root = root();
    let names = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
    ];
    let mut files: Vec<PathBuf> = names.map(|name| root.join(name)).into();
    for folder in ["docs", "packaging", "bench"] {
        files.extend(pages(&root.join(folder)));
    }
    let pages: Vec<Page> = files.into_iter().map(Page::read).collect();
    assert!(pages.iter().map(|page| page.links().count()).sum::<usize>() > 100);
    let broken: Vec<String> = pages.iter().flat_map(broken).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_link_to_nowhere_is_found() {
    let page = Page {
        path: root().join("docs/made-up.md"),
        text: "[a](nothing.md) [b](running.md#nothing) [c](running.md#health) [d](../docs) [e](https://example.com/)"
            .into(),
    };
    let found = broken(&page);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].contains("nothing.md: there is no such file"));
    assert!(found[1].contains("running.md#nothing: that page has no such heading"));
}

#[test]
fn every_page_has_its_place_in_the_book() {
    let docs = root().join("docs");
    let summary = Page::read(docs.join("SUMMARY.md"));
    let mut listed: Vec<PathBuf> = summary.links().map(|link| docs.join(link)).collect();
    listed.push(summary.path.clone());
    listed.sort();
    let mut there = pages(&docs);
    there.sort();
    assert_eq!(listed, there);
}

/// The last word of each row of `docs/tasks.md` is a test.
#[test]
fn every_task_has_its_test() {
    let text = fs::read_to_string(root().join("docs/tasks.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_suffix("` |"));
    let names: Vec<&str> = rows.filter_map(|row| row.rsplit('`').next()).collect();
    assert_eq!(names.len(), 15);
    let tests = sources(&root().join("crates/isthmus/tests"));
    let missing: Vec<&&str> = names
        .iter()
        .filter(|name| !tests.contains(&format!("fn {name}(")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The text of all sources in a folder and below.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}
