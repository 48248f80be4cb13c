//! Every input in `fuzz/corpus` once: one test per file, named `target::file`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    let mut trials = Vec::new();
    for (target, function) in isthmus_fuzz_targets::ALL {
        let files = files(&corpus.join(target));
        let number = files.len();
        trials.extend(files.into_iter().map(|path| replay(target, function, path)));
        trials.push(Trial::test(
            format!("{target}::corpus_is_there"),
            move || {
                if number == 0 {
                    return Err(format!("fuzz/corpus/{target} is empty").into());
                }
                Ok(())
            },
        ));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn replay(target: &str, function: fn(&[u8]), path: PathBuf) -> Trial {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Trial::test(format!("{target}::{name}"), move || {
        let input = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // A panic is a failure of this trial only.
        function(&input);
        Ok(())
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}
