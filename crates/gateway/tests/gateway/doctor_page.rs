//! `docs/doctor.md` has the list of checks.
//!
//! `WRITE_PAGES=1 cargo test -p isthmus-gateway --test gateway doctor_page` writes it; `make docs` does.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use isthmus_gateway::doctor::{CHECKS, Depth};

const BEGIN: &str = "<!-- The list of crates/gateway/src/doctor, by `make docs`. -->\n";
const END: &str = "<!-- End of the list. -->\n";

fn table() -> String {
    let mut table = "\n| check | it finds | who looks |\n|---|---|---|\n".to_owned();
    for check in CHECKS {
        let who = match check.depth {
            Depth::Start => "`up`, `check`, `doctor`",
            Depth::Whole => "`doctor`",
        };
        let _ = writeln!(table, "| `{}` | {} | {who} |", check.name, check.about);
    }
    table + "\n"
}

#[test]
fn the_page_has_the_list_of_checks() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the begin of the list");
    let (found, after) = rest.split_once(END).expect("the end of the list");
    if std::env::var_os("WRITE_PAGES").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", table())).unwrap();
        return;
    }
    assert_eq!(found, table(), "run `make docs`");
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHECKS.len());
}
