//! The tables of `docs/security.md` are what the attacks and their last outcomes say.
//!
//! `WRITE_PAGES=1 cargo test -p isthmus-lab --test lab security_page` writes them; `make docs` does.

use std::fs;
use std::path::Path;

use isthmus_lab::experiments::attack;

#[test]
fn the_tables_are_those_of_the_outcomes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/security.md");
    let committed = fs::read_to_string(&path).unwrap();
    let (prose, _) = committed.split_once(attack::MARK).unwrap();
    let report = attack::read(&root.join("bench/attacks.json")).unwrap();
    let page = format!("{prose}{}{}", attack::MARK, attack::page(&report));
    if std::env::var_os("WRITE_PAGES").is_some() {
        fs::write(&path, &page).unwrap();
    } else {
        assert!(
            committed == page,
            "docs/security.md is not what bench/attacks.json says; run `make docs`"
        );
    }
}
