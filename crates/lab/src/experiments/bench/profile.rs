//! The profile of a row that misses its target: `perf` watches the cores of the device, which does the work of the
//! row alone.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde::Serialize;

use super::{Row, turns::Effort};
use crate::{
    LabError, Result,
    network::{
        leftovers,
        process::{self, Process},
    },
};

/// Lines of a profile.
const LINES: usize = 25;
/// The time that perf has to begin.
const START: Duration = Duration::from_secs(5);
/// The separator of perf's columns, which occurs in no symbol's name.
const SEPARATOR: &str = "|";

/// A device at work, for as long as a profile needs.
pub(super) struct Busy {
    pub(super) cores: Cores,
    pub(super) work: Box<dyn FnMut() -> Result<()>>,
}

/// The cores to watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cores {
    /// The one that the row measures.
    One(usize),
    /// All cores: packets go from one to another.
    All,
}

/// The profile of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// In this file.
    File(PathBuf),
    /// There is none, for this reason.
    Skipped(String),
}

impl Profile {
    /// Writes the profile of a row into a directory.
    pub(super) fn take(row: &Row, effort: &Effort, directory: &Path) -> Self {
        let busy = match process::require("perf", "linux-perf") {
            Ok(()) => row.busy(effort),
            Err(missing) => Some(Err(missing)),
        };
        let Some(busy) = busy else {
            return Self::Skipped("time does not come into it".into());
        };
        match busy.and_then(|busy| written(row.name, busy, directory)) {
            Ok(path) => Self::File(path),
            Err(error) => Self::Skipped(error.to_string()),
        }
    }

    /// Removes the profile of an earlier run of a row.
    pub(super) fn forget(row: &str, directory: &Path) {
        // As a rule there is none.
        let _ = fs::remove_file(file(row, directory));
    }
}

fn file(row: &str, directory: &Path) -> PathBuf {
    directory.join(format!("{row}.txt"))
}

fn written(row: &str, mut busy: Busy, directory: &Path) -> Result<PathBuf> {
    let recorded = leftovers::file()?;
    record(&mut busy, recorded.path())?;
    let symbols = symbols(&process::run(
        Command::new("perf")
            .args(["report", "--stdio", "--quiet", "--no-children"])
            .args(["--fields", "overhead,symbol,dso", "--field-separator"])
            .args([SEPARATOR, "--input"])
            .arg(recorded.path()),
    )?);
    let path = file(row, directory);
    fs::create_dir_all(directory).map_err(LabError::file(&path))?;
    fs::write(&path, table(row, busy.cores, &symbols)).map_err(LabError::file(&path))?;
    Ok(path)
}

/// Runs perf while the work is done.
fn record(busy: &mut Busy, output: &Path) -> Result<()> {
    let mut command = Command::new("perf");
    command.args(["record", "--quiet"]);
    match busy.cores {
        Cores::One(core) => command.args(["--cpu", &core.to_string()]),
        Cores::All => command.arg("--all-cpus"),
    };
    let mut perf = Process::start("perf", command.arg("--output").arg(output))?;
    perf.wait_until(START, || {
        fs::metadata(output).is_ok_and(|file| file.len() > 0)
    })?;
    (busy.work)()?;
    perf.check()?;
    perf.stop();
    Ok(())
}

/// A function and its share of the time.
#[derive(Debug, PartialEq)]
struct Symbol {
    percent: f64,
    name: String,
    /// The kernel, BPF, a program, or a library.
    object: String,
}

/// Parses the output of `perf report`, the largest share first.
fn symbols(report: &str) -> Vec<Symbol> {
    let symbol = |line: &str| {
        let mut columns = line.split(SEPARATOR).map(str::trim);
        let percent = columns.next()?.strip_suffix('%')?.parse().ok()?;
        let name = columns.next()?;
        // `[k] ` or `[.] ` stands before the name: the kernel's mode or the user's.
        let name = name.split_once("] ").map_or(name, |(_, name)| name);
        let (name, object) = match (bpf_function(name), columns.next()?) {
            (Some(function), _) => (function, "BPF"),
            (None, "[kernel.kallsyms]") => (name, "kernel"),
            (None, object) => (name, object),
        };
        Some(Symbol {
            percent,
            name: name.to_owned(),
            object: object.to_owned(),
        })
    };
    let mut symbols: Vec<Symbol> = report.lines().filter_map(symbol).collect();
    symbols.sort_by(|a, b| b.percent.total_cmp(&a.percent));
    symbols
}

/// Returns the function's name in `bpf_prog_TAG_NAME`, the kernel's name of a compiled function.
fn bpf_function(symbol: &str) -> Option<&str> {
    let (tag, name) = symbol.strip_prefix("bpf_prog_")?.split_once('_')?;
    (tag.len() == 16 && tag.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(name)
}

fn table(row: &str, cores: Cores, symbols: &[Symbol]) -> String {
    let mut text = format!("{row} is below its target. The subject alone, on ");
    let _ = match cores {
        Cores::One(core) => writeln!(text, "core {core}:\n"),
        Cores::All => writeln!(text, "all cores:\n"),
    };
    for symbol in symbols.iter().take(LINES) {
        let Symbol {
            percent,
            name,
            object,
        } = symbol;
        let _ = writeln!(text, "{percent:>6.2} %  {name}  ({object})");
    }
    let rest: f64 = symbols.iter().skip(LINES).map(|s| s.percent).sum();
    let _ = writeln!(
        text,
        "{rest:>6.2} %  in {} other functions",
        symbols.len().saturating_sub(LINES)
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of perf 6.1.
    const REPORT: &str = "
 0.15%  |[.] read                                       |libc.so.6         |-      -
24.93%  |[k] bpf_prog_3e1eafe5b1b1a0b4_isthmus_xdp      |bpf_prog_3e1eafe5b1b1a0b4_isthmus_xdp |-      -
 1.02%  |[k] fib_table_lookup                           |[kernel.kallsyms] |-      -
";

    #[test]
    fn the_largest_share_comes_first() {
        let symbols = symbols(REPORT);
        assert_eq!(
            symbols[0],
            Symbol {
                percent: 24.93,
                name: "isthmus_xdp".into(),
                object: "BPF".into(),
            }
        );
        assert_eq!(symbols[1].name, "fib_table_lookup");
        assert_eq!(symbols[1].object, "kernel");
        assert_eq!(symbols[2].object, "libc.so.6");
        assert_eq!(symbols.len(), 3);
    }

    #[test]
    fn omitted_functions_are_summed() {
        let symbols: Vec<Symbol> = (0..LINES + 2)
            .map(|number| Symbol {
                percent: 2.0,
                name: format!("f{number}"),
                object: "o".into(),
            })
            .collect();
        let text = table("row", Cores::One(3), &symbols);
        assert!(text.contains("core 3"), "{text}");
        assert!(text.ends_with("  4.00 %  in 2 other functions\n"), "{text}");
    }

    /// perf itself, on work that waits.
    #[test]
    fn a_profile_is_written_and_forgotten() {
        let possible =
            process::require_root().and_then(|()| process::require("perf", "linux-perf"));
        if let Err(reason) = possible {
            println!("skipped: {reason}");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let busy = Busy {
            cores: Cores::All,
            work: Box::new(|| {
                std::thread::sleep(Duration::from_millis(300));
                Ok(())
            }),
        };
        let path = written("idle", busy, directory.path()).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("idle is below its target"), "{text}");
        assert!(text.contains(" %  "), "{text}");
        Profile::forget("idle", directory.path());
        assert!(!path.exists());
    }
}
