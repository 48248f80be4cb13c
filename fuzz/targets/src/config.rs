//! Any text as a configuration: it is accepted, or every mistake has words.

use std::path::Path;

use isthmus_gateway::config::{self, Plan, Style};

/// Parses a text; what is accepted is also compiled for the data plane.
pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    // Files that it names are looked for where there are none.
    let folder = Path::new("/nonexistent");
    match config::parse("fuzz.toml", "fuzz", text.to_owned(), folder) {
        Ok(loaded) => {
            let _ = loaded.warnings.render(Style::Plain);
            if let Ok(compiled) = loaded.document.compile(&[1; 8].into()) {
                let _ = Plan::new(&loaded.document, &compiled).to_string();
            }
        }
        Err(report) => {
            let message = report.to_string();
            assert!(message.contains("fuzz.toml"), "names no file: {message}");
        }
    }
}
