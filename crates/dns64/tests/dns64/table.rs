//! The table of requirements in the crate's documentation names tests that exist.

use std::fs;
use std::path::Path;

fn sources(directory: &Path, out: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else {
            out.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn every_test_in_the_table_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut code = String::new();
    sources(&root.join("src"), &mut code);
    sources(&root.join("tests"), &mut code);
    let table = fs::read_to_string(root.join("src/lib.rs")).unwrap();
    let rows: Vec<_> = table
        .lines()
        .filter(|line| line.starts_with("//! | RFC"))
        .collect();
    assert!(rows.len() > 30);
    for row in rows {
        let cell = row.trim_end_matches(['|', ' ']).rsplit('|').next().unwrap();
        for name in cell.split('`').skip(1).step_by(2) {
            assert!(code.contains(&format!("fn {name}(")), "no test `{name}`");
        }
    }
}
