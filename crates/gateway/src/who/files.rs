//! The files of records as logrotate leaves them: numbered or dated, compressed or not. The programs that compressed
//! them read them, as streams.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use jiff::Timestamp;

use super::line::{self, LineError};

/// Octets of a line, at most; no record comes near.
const LONGEST: u64 = 16 * 1024;
/// Octets that are read at once.
const CHUNK: usize = 128 * 1024;
/// Endings that compressed files have, the programs that made them, and how such files begin.
const COMPRESSED: [(&str, &str, &[u8]); 4] = [
    (".gz", "gzip", &[0x1f, 0x8b]),
    (".xz", "xz", &[0xfd, b'7', b'z', b'X', b'Z', 0]),
    (".zst", "zstd", &[0x28, 0xb5, 0x2f, 0xfd]),
    (".bz2", "bzip2", b"BZh"),
];

/// Why records cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file or its folder cannot be read.
    #[error("{}: {error}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The program that reads a compressed file did not start.
    #[error("{}: {program} reads such files, and does not start: {error}", path.display())]
    Program {
        /// The file.
        path: PathBuf,
        /// The program.
        program: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// That program found a mistake.
    #[error("{}: {program}: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The program.
        program: &'static str,
        /// What it said.
        message: String,
    },
    /// There is no record in a file.
    #[error("{}:1: {line:?} is no record, and neither is any line after it", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first line.
        line: String,
    },
}

impl ReadError {
    fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::File {
            path: path.into(),
            error,
        }
    }
}

/// The file with this name and those that it was before it was rotated, by their first records from the oldest, each
/// with the time of that. Files without records are not among them.
pub(super) fn generations(path: &Path) -> Result<Vec<(Timestamp, PathBuf)>, ReadError> {
    let mut paths = rotated(path).map_err(ReadError::file(path))?;
    // Whoever names a file that is not there and never was has made a mistake; right after a rotation it is not there.
    if paths.is_empty() || path.exists() {
        paths.push(path.into());
    }
    let mut dated = Vec::new();
    for path in paths {
        if let Some(first) = first_time(&path)? {
            dated.push((first, path));
        }
    }
    dated.sort();
    Ok(dated)
}

/// The files beside this one that are called like it but for a number or a date. Of one that is compressed at this
/// moment there are two; the compressed one may not be whole.
fn rotated(path: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in folder.read_dir()? {
        if let Ok(other) = entry?.file_name().into_string()
            && is_rotated(name, plain(&other))
        {
            names.push(other);
        }
    }
    let is_whole = |other: &&String| {
        let plain = plain(other);
        plain == **other || !names.iter().any(|name| name == plain)
    };
    let whole = names.iter().filter(is_whole);
    Ok(whole.map(|name| path.with_file_name(name)).collect())
}

/// A name without the ending of compressed files.
fn plain(name: &str) -> &str {
    let mut endings = COMPRESSED.iter();
    let stripped = endings.find_map(|(ending, ..)| name.strip_suffix(ending));
    stripped.unwrap_or(name)
}

/// Whether a file has another one's name with a number or a date, at the end or before the extension.
fn is_rotated(name: &str, other: &str) -> bool {
    let is_number = |text: &str| {
        let number = text.strip_prefix(['.', '-']);
        number.is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_digit())
                && rest
                    .chars()
                    .all(|c| c.is_ascii_digit() || "-_T:".contains(c))
        })
    };
    if other.strip_prefix(name).is_some_and(is_number) {
        return true;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let middle = other
        .strip_prefix(stem)
        .and_then(|rest| rest.strip_suffix(extension));
    middle.is_some_and(|middle| middle.strip_suffix('.').is_some_and(is_number))
}

/// The time of the first record in a file; `None` if it is empty.
fn first_time(path: &Path) -> Result<Option<Timestamp>, ReadError> {
    let mut lines = Lines::open(path)?;
    let mut foreign = None;
    while let Some(Numbered { text, ended, .. }) = lines.next()? {
        let first = match text {
            Ok("") => continue,
            Ok(text) => match line::read(text) {
                Ok(Some(record)) => return Ok(Some(record.time)),
                // It is being written at this moment.
                Err(_) if !ended => continue,
                Ok(None) | Err(_) => text.to_owned(),
            },
            Err(error) => error.to_string(),
        };
        foreign.get_or_insert(first);
    }
    match foreign {
        Some(line) => Err(ReadError::Foreign {
            path: path.into(),
            line,
        }),
        None => Ok(None),
    }
}

/// The lines of a file.
pub(super) struct Lines {
    path: PathBuf,
    source: Source,
    buffer: Vec<u8>,
    number: u64,
}

/// A line of a file.
pub(super) struct Numbered<'l> {
    pub(super) number: u64,
    /// The text, or why there is none.
    pub(super) text: Result<&'l str, LineError>,
    /// Whether its end is there: the last line of a file that is being written may be without.
    pub(super) ended: bool,
}

enum Source {
    Plain(BufReader<File>),
    Program {
        name: &'static str,
        child: Child,
        output: BufReader<ChildStdout>,
    },
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self, ReadError> {
        let failed = ReadError::file(path);
        let mut start = Vec::new();
        let file = File::open(path).map_err(&failed)?;
        file.take(6).read_to_end(&mut start).map_err(&failed)?;
        let mut compressed = COMPRESSED.iter();
        let program = compressed.find(|(_, _, magic)| start.starts_with(magic));
        let file = File::open(path).map_err(&failed)?;
        let source = match program {
            None => Source::Plain(BufReader::with_capacity(CHUNK, file)),
            Some((_, name, _)) => run(name, file).map_err(|error| ReadError::Program {
                path: path.into(),
                program: name,
                error,
            })?,
        };
        Ok(Self {
            path: path.into(),
            source,
            buffer: Vec::new(),
            number: 0,
        })
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Numbered<'_>>, ReadError> {
        self.buffer.clear();
        let read = match &mut self.source {
            Source::Plain(file) => line(file, &mut self.buffer),
            Source::Program { output, .. } => line(output, &mut self.buffer),
        };
        let read = read.map_err(ReadError::file(&self.path))?;
        if matches!(read, Outcome::End) {
            self.finish()?;
            return Ok(None);
        }
        self.number += 1;
        let ended = self.buffer.last() == Some(&b'\n');
        let line = self.buffer.trim_ascii_end();
        let text = match read {
            Outcome::Long => Err(LineError::Long),
            _ => std::str::from_utf8(line).map_err(|_| LineError::Encoding),
        };
        Ok(Some(Numbered {
            number: self.number,
            text,
            ended: ended || matches!(read, Outcome::Long),
        }))
    }

    /// Asks a program whether all was well.
    fn finish(&mut self) -> Result<(), ReadError> {
        let Source::Program { name, child, .. } = &mut self.source else {
            return Ok(());
        };
        let failed = ReadError::file(&self.path);
        let mut message = String::new();
        if let Some(errors) = child.stderr.as_mut() {
            errors
                .take(1024)
                .read_to_string(&mut message)
                .map_err(&failed)?;
        }
        if child.wait().map_err(&failed)?.success() {
            return Ok(());
        }
        Err(ReadError::Damaged {
            path: self.path.clone(),
            program: name,
            message: message.trim().replace('\n', "; "),
        })
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if let Source::Program { child, .. } = &mut self.source {
            // It may have more to say than anybody wants to hear, or has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn run(name: &'static str, file: File) -> io::Result<Source> {
    let mut child = Command::new(name)
        .arg("-dc")
        .stdin(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok(Source::Program {
        name,
        child,
        output: BufReader::with_capacity(CHUNK, output),
    })
}

/// The outcome of reading a line.
enum Outcome {
    Line,
    /// Only its beginning was kept.
    Long,
    End,
}

/// Reads a line with its end into an empty buffer, which does not grow beyond [`LONGEST`].
fn line(from: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Outcome> {
    let read = from.by_ref().take(LONGEST).read_until(b'\n', buffer)?;
    if read == 0 {
        return Ok(Outcome::End);
    }
    if (read as u64) < LONGEST || buffer.ends_with(b"\n") {
        return Ok(Outcome::Line);
    }
    from.skip_until(b'\n')?;
    Ok(Outcome::Long)
}
