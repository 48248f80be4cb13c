//! The directory of a run. Files are written whole, and damage is reported when they are read.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};

use super::{FORMAT, Files, Interface, MOST_SAMPLES, OLDEST, Run, Samples, Trial};

/// A problem with the directory of a run.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no run in it.
    #[error("{0}: there is no run here: a run's directory has the file run.json")]
    NoRun(PathBuf),
    /// There is a run already.
    #[error(
        "{0}: there is a run here: give another directory, or go on with this one by `--resume`"
    )]
    Occupied(PathBuf),
    /// A file is damaged, or was changed by hand.
    #[error("{path}: {problem}; if a trial's file is removed, `--resume` measures it again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage, with the line where there is one.
        problem: String,
    },
    /// It was written by another version of the laboratory.
    #[error("{path}: format {found}, but this program reads formats {OLDEST} to {FORMAT}")]
    Format {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// It contains a trial of another run.
    #[error("{path}: a trial of the run {found}, but this directory is of the run {expected}")]
    Stranger {
        /// The file.
        path: PathBuf,
        /// The run that it belongs to.
        found: String,
        /// The run of the directory.
        expected: String,
    },
}

/// The directory of a run, with the trials that are over.
#[derive(Debug, Clone, PartialEq)]
pub struct Directory {
    path: PathBuf,
    run: Run,
    trials: BTreeMap<usize, Trial>,
}

impl Directory {
    /// Begins a run, and makes the directory if it does not exist.
    ///
    /// # Errors
    /// There is a run already, or nothing can be written there.
    pub fn begin(path: &Path, run: Run) -> Result<Self, Problem> {
        let directory = Self {
            path: path.into(),
            run,
            trials: BTreeMap::new(),
        };
        if directory.header().exists() {
            return Err(Problem::Occupied(path.into()));
        }
        let trials = path.join(TRIALS);
        fs::create_dir_all(&trials).map_err(|source| file(&trials, source))?;
        // A directory with trials but without a run belongs to another run.
        if let Some((left, _)) = numbered(&trials)?.into_iter().next() {
            return Err(Problem::Occupied(left));
        }
        write(&directory.header(), &directory.run)?;
        Ok(directory)
    }

    /// Opens a run, whether it is over or not.
    ///
    /// # Errors
    /// There is no run, or a file in it is damaged, of another version or of another run.
    pub fn open(path: &Path) -> Result<Self, Problem> {
        let header = path.join(HEADER);
        if !header.exists() {
            return Err(Problem::NoRun(path.into()));
        }
        let run: Run = read_format(&header)?;
        let mut trials = BTreeMap::new();
        for (path, number) in numbered(&path.join(TRIALS))? {
            let trial: Trial = read(&path)?;
            if trial.run != run.id {
                return Err(Problem::Stranger {
                    path,
                    found: trial.run,
                    expected: run.id,
                });
            }
            if run.plan.get(number) != Some(&trial.planned) {
                let problem = "it is not the trial that run.json plans under this number".into();
                return Err(Problem::Damaged { path, problem });
            }
            trials.insert(number, trial);
        }
        Ok(Self {
            path: path.into(),
            run,
            trials,
        })
    }

    /// Returns the run and its plan.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the trials that are over, in the order of the plan.
    pub fn trials(&self) -> impl Iterator<Item = &Trial> {
        self.trials.values()
    }

    /// Returns the numbers of the trials that are not over.
    pub fn left(&self) -> impl Iterator<Item = usize> {
        (0..self.run.plan.len()).filter(|number| !self.trials.contains_key(number))
    }

    /// Keeps a trial, and its samples apart. Its file is whole or absent, whenever the program ends, and its samples are
    /// there if it is.
    ///
    /// # Errors
    /// A file cannot be written.
    ///
    /// # Panics
    /// The plan has no trial of this number.
    pub fn keep(&mut self, number: usize, mut trial: Trial) -> Result<(), Problem> {
        assert_eq!(self.run.plan.get(number), Some(&trial.planned));
        let name = format!("{number:04}.json");
        if let Some(samples) = Samples::take(&mut trial) {
            let directory = self.path.join(SAMPLES);
            fs::create_dir_all(&directory).map_err(|source| file(&directory, source))?;
            write_compact(&directory.join(&name), &samples)?;
        }
        write(&self.path.join(TRIALS).join(&name), &trial)?;
        self.trials.insert(number, trial);
        Ok(())
    }

    /// Keeps a network in `run.json`, unless an equal one is there. Returns its index in [`Run::networks`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn network(&mut self, interfaces: Vec<Interface>) -> Result<usize, Problem> {
        let known = self.run.networks.iter().position(|one| *one == interfaces);
        if let Some(index) = known {
            return Ok(index);
        }
        self.run.networks.push(interfaces);
        // A run of an older format goes on in this one.
        self.run.format = FORMAT;
        write(&self.header(), &self.run)?;
        Ok(self.run.networks.len() - 1)
    }

    fn header(&self) -> PathBuf {
        self.path.join(HEADER)
    }
}

const HEADER: &str = "run.json";
const TRIALS: &str = "trials";
const SAMPLES: &str = "samples";

impl Files {
    /// Returns the files beside `run.json`.
    pub fn all() -> Vec<Self> {
        let samples = format!(
            "the single samples behind the values of the trial NNNN, if it has any: at most {MOST_SAMPLES} of a value, \
            evenly chosen in the order of measurement"
        );
        let trials = "a trial that is over: its values, and the evidence for them; NNNN is its index in the plan, from 0000";
        [(TRIALS, trials.into()), (SAMPLES, samples)]
            .map(|(directory, holds)| Self {
                path: format!("{directory}/NNNN.json"),
                holds,
            })
            .into()
    }
}

fn file(path: &Path, source: io::Error) -> Problem {
    Problem::File {
        path: path.into(),
        source,
    }
}

/// Returns the files of trials with their numbers, without those of interrupted writes.
fn numbered(trials: &Path) -> Result<Vec<(PathBuf, usize)>, Problem> {
    let entries = fs::read_dir(trials).map_err(|source| file(trials, source))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| file(trials, source))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        match stem.and_then(|stem| stem.parse().ok()) {
            Some(number) => found.push((path, number)),
            None => {
                let problem = "a trial's file is named by its number, such as 0012.json".into();
                return Err(Problem::Damaged { path, problem });
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a file with a format, which is checked first: another format may have other fields.
fn read_format<T: DeserializeOwned>(path: &Path) -> Result<T, Problem> {
    let value: serde_json::Value = read(path)?;
    match value["format"].as_u64() {
        Some(found) if !(u64::from(OLDEST)..=u64::from(FORMAT)).contains(&found) => {
            Err(Problem::Format {
                path: path.into(),
                found,
            })
        }
        _ => read(path),
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Problem> {
    let text = fs::read_to_string(path).map_err(|source| file(path, source))?;
    serde_json::from_str(&text).map_err(|error| Problem::Damaged {
        path: path.into(),
        problem: error.to_string(),
    })
}

/// Writes a value to be read by people as well.
fn write(path: &Path, value: &impl Serialize) -> Result<(), Problem> {
    put(path, serde_json::to_string_pretty(value))
}

/// Writes a value without blanks: long lists of numbers.
fn write_compact(path: &Path, value: &impl Serialize) -> Result<(), Problem> {
    put(path, serde_json::to_string(value))
}

/// Writes a file beside its place, and renames it when it is on the disk.
fn put(path: &Path, text: serde_json::Result<String>) -> Result<(), Problem> {
    let unfinished = path.with_extension("unfinished");
    let mut text = text.map_err(|error| Problem::Damaged {
        path: path.into(),
        problem: error.to_string(),
    })?;
    text.push('\n');
    let put = || {
        fs::write(&unfinished, text)?;
        fs::File::open(&unfinished)?.sync_all()?;
        fs::rename(&unfinished, path)
    };
    put().map_err(|source| file(path, source))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Environment, Evidence, Offload, Outcome, Planned, Point, Raw, Rules},
        *,
    };

    fn planned(subject: &str) -> Planned {
        Planned {
            experiment: "delay".into(),
            subject: subject.into(),
            repetition: 0,
        }
    }

    fn run() -> Run {
        Run {
            format: FORMAT,
            id: "one".into(),
            begun: "2026-11-21T20:00:00Z".into(),
            profile: "smoke".into(),
            command: "isthmus lab run".into(),
            environment: Environment {
                cpu: "a".into(),
                cores: 2,
                memory_mib: 1,
                kernel: "6.1".into(),
                isthmus: "0.1.0".into(),
                program: "00".into(),
            },
            experiments: vec![],
            subjects: vec![],
            rules: Rules::default(),
            networks: vec![],
            plan: vec![planned("a"), planned("b"), planned("c")],
        }
    }

    fn trial(subject: &str) -> Trial {
        Trial {
            run: "one".into(),
            planned: planned(subject),
            seconds: 0.5,
            outcome: Outcome::Measured(vec![Point::new("both", 0.0, 1e-4)]),
            gaps: vec![],
            evidence: Evidence::default(),
        }
    }

    /// A run of which the second trial is over.
    fn begun() -> (tempfile::TempDir, Directory) {
        let place = tempfile::tempdir().unwrap();
        let mut directory = Directory::begin(place.path(), run()).unwrap();
        directory.keep(1, trial("b")).unwrap();
        (place, directory)
    }

    fn problem(place: &tempfile::TempDir) -> String {
        Directory::open(place.path()).unwrap_err().to_string()
    }

    #[test]
    fn a_run_goes_on_where_it_stopped() {
        let (place, directory) = begun();
        let again = Directory::open(place.path()).unwrap();
        assert_eq!(again, directory);
        assert!(again.left().eq([0, 2]));
        assert!(again.trials().eq([&trial("b")]));
    }

    #[test]
    fn samples_are_apart_from_their_trial() {
        let (place, mut directory) = begun();
        let samples = [0.000_012_345, 0.000_012_346_5, 0.1];
        let sampled = Trial {
            outcome: Outcome::Measured(vec![Point::of("both", 64.0, &samples).unwrap()]),
            ..trial("a")
        };
        directory.keep(0, sampled).unwrap();
        assert_eq!(Directory::open(place.path()).unwrap(), directory);
        let kept: Samples = read(&place.path().join("samples/0000.json")).unwrap();
        assert_eq!((kept.run.as_str(), &kept.planned), ("one", &planned("a")));
        assert_eq!(kept.points[0].raw, Raw::Values(samples.into()));
        assert!(!place.path().join("samples/0001.json").exists());
    }

    #[test]
    fn a_network_is_kept_once() {
        let (place, mut directory) = begun();
        let network = |mtu| {
            vec![Interface {
                node: "gateway".into(),
                name: "six".into(),
                mtu,
                offloads: vec![Offload::GenericReceive],
                congestion_control: Some("cubic".into()),
            }]
        };
        let indices = [1500, 1280, 1500].map(|mtu| directory.network(network(mtu)).unwrap());
        assert_eq!(indices, [0, 1, 0]);
        let again = Directory::open(place.path()).unwrap();
        assert_eq!(again.run().networks, [network(1500), network(1280)]);
    }

    /// Congestion control was left to the machine once. The format is the same.
    #[test]
    fn a_network_without_its_congestion_control_is_read() {
        let (place, mut directory) = begun();
        let interface = Interface {
            node: "gateway".into(),
            name: "six".into(),
            mtu: 1500,
            offloads: vec![],
            congestion_control: None,
        };
        directory.network(vec![interface.clone()]).unwrap();
        let header = fs::read_to_string(place.path().join(HEADER)).unwrap();
        assert!(!header.contains("congestion-control"));
        let again = Directory::open(place.path()).unwrap();
        assert_eq!(again.run().networks, [vec![interface]]);
    }

    /// A run as the version before wrote it.
    #[test]
    fn a_run_of_the_first_format_is_read_and_goes_on_in_this_one() {
        let (place, _) = begun();
        let strip = |path: &Path, fields: &[&str]| {
            let mut value: serde_json::Value = read(path).unwrap();
            let object = value.as_object_mut().unwrap();
            for field in fields {
                assert!(object.remove(*field).is_some(), "{field}");
            }
            if object.contains_key("format") {
                object.insert("format".into(), 1.into());
            }
            write(path, &value).unwrap();
        };
        strip(&place.path().join(HEADER), &["rules", "networks"]);
        strip(&place.path().join("trials/0001.json"), &["evidence"]);
        let mut old = Directory::open(place.path()).unwrap();
        assert_eq!(old.run().format, 1);
        assert!(old.trials().eq([&trial("b")]));
        old.network(vec![]).unwrap();
        let sampled = Outcome::Measured(vec![Point::of("both", 0.0, &[1.0]).unwrap()]);
        let sampled = Trial {
            outcome: sampled,
            ..trial("a")
        };
        old.keep(0, sampled).unwrap();
        assert_eq!(Directory::open(place.path()).unwrap().run().format, FORMAT);
    }

    #[test]
    fn a_directory_holds_one_run() {
        let (place, _) = begun();
        let occupied = |place: &Path| Directory::begin(place, run()).unwrap_err().to_string();
        assert!(occupied(place.path()).contains("--resume"));
        fs::remove_file(place.path().join(HEADER)).unwrap();
        assert!(occupied(place.path()).contains("0001.json"));
    }

    #[test]
    fn an_interrupted_write_leaves_no_trial() {
        let (place, directory) = begun();
        fs::write(place.path().join("trials/0002.unfinished"), "{\"ru").unwrap();
        assert_eq!(Directory::open(place.path()).unwrap(), directory);
    }

    #[test]
    fn damage_is_reported_with_file_and_line() {
        let (place, _) = begun();
        let path = place.path().join("trials/0001.json");
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let told = problem(&place);
        assert!(
            told.contains("0001.json") && told.contains("line"),
            "{told}"
        );
        fs::remove_file(&path).unwrap();
        assert!(Directory::open(place.path()).unwrap().left().eq(0..3));
    }

    #[test]
    fn trials_of_two_runs_are_not_mixed() {
        let (place, _) = begun();
        let stranger = Trial {
            run: "two".into(),
            ..trial("a")
        };
        write(&place.path().join("trials/0000.json"), &stranger).unwrap();
        assert!(problem(&place).contains("of the run two"));
        write(&place.path().join("trials/0000.json"), &trial("c")).unwrap();
        assert!(problem(&place).contains("not the trial"));
    }

    #[test]
    fn another_format_is_refused_and_an_empty_directory_is_no_run() {
        let (place, _) = begun();
        fs::write(place.path().join(HEADER), "{\"format\": 7}").unwrap();
        assert!(problem(&place).contains("format 7"));
        fs::remove_file(place.path().join(HEADER)).unwrap();
        assert!(problem(&place).contains("no run"));
    }
}
