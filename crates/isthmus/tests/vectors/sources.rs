//! The committed vectors match their tables.

use std::process::Command;

use libtest_mimic::Trial;

use super::case;

/// Runs `vectors/generate.py --check`. It is ignored, with the reason printed, if scapy is missing.
pub(crate) fn trial() -> Trial {
    let python = "/usr/bin/python3";
    let present = Command::new(python)
        .args(["-c", "import scapy"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !present {
        println!("sources: skipped: {python} has no scapy (Debian: python3-scapy)");
    }
    let trial = Trial::test("sources::json_is_what_the_tables_say", move || {
        let output = Command::new(python)
            .arg(case::folder().join("generate.py"))
            .arg("--check")
            .output()
            .map_err(|e| e.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
    });
    trial.with_ignored_flag(!present)
}
