//! `isthmus bare`: the gateway as a machine without an operating system.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, id};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use isthmus_gateway::config::{self, Chance, LoadError, PackError, Secrets};

use super::configuration;

/// Where the machine lies, from the folder of this program.
const INSTALLED: &str = "../lib/isthmus/bare.elf";

/// Run the gateway without an operating system
///
/// The machine boots by PVH, as QEMU, Cloud Hypervisor and Firecracker do it, and has two virtio network cards. Its
/// configuration is the initial ramdisk: the file of `isthmus bare pack`. The same TOML document describes it; each
/// `[[card]]` has the addresses and routes of a card.
#[derive(Args, Debug)]
pub(crate) struct Bare {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Pack(Pack),
    Run(Run),
}

/// Compile a configuration for a bare machine
///
/// The file is for the machine of this version of isthmus. It holds the keys by which a stateful translator chooses ports:
/// keep it to yourself.
#[derive(Args, Debug)]
struct Pack {
    /// The configuration
    file: PathBuf,
    /// The file to write
    #[arg(long, short)]
    output: PathBuf,
    /// Repeat the random choices (ports, identifications) with this number, and let the console tell the time: for tests
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// Start QEMU with a bare machine between two TAP links
///
/// Its console is the standard input and output of this command: `c` prints the counters, `q` ends the machine.
#[derive(Args, Debug)]
struct Run {
    /// The configuration
    file: PathBuf,
    /// The TAP link of the first card
    #[arg(long, value_name = "LINK")]
    left: String,
    /// The TAP link of the second card
    #[arg(long, value_name = "LINK")]
    right: String,
    /// The machine, if it is not installed beside this program
    #[arg(long, value_name = "FILE.elf")]
    machine: Option<PathBuf>,
}

impl Bare {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Pack(pack) => pack.run(),
            Action::Run(run) => run.run(),
        }
    }
}

impl Pack {
    fn run(&self) -> Result<ExitCode> {
        let Some(image) = pack(&self.file, self.seed)? else {
            return Ok(ExitCode::FAILURE);
        };
        let mut file = private(File::options().create(true).truncate(true), &self.output)?;
        file.write_all(&image)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Run {
    fn run(&self) -> Result<ExitCode> {
        let machine = match &self.machine {
            Some(machine) => machine.clone(),
            None => installed()?,
        };
        let Some(image) = pack(&self.file, None)? else {
            return Ok(ExitCode::FAILURE);
        };
        // A file without a name, which ends with this process: QEMU opens it by its descriptor here.
        let path = std::env::temp_dir().join(format!("isthmus-bare-{}", id()));
        let mut file = private(File::options().create_new(true), &path)?;
        fs::remove_file(&path)?;
        file.write_all(&image)?;
        let status = Command::new("qemu-system-x86_64")
            .args([
                "-machine",
                "q35",
                "-no-reboot",
                "-nodefaults",
                "-display",
                "none",
            ])
            .args([
                "-serial",
                "stdio",
                "-device",
                "isa-debug-exit,iobase=0xf4,iosize=4",
            ])
            .args(["-m", &memory(&image).to_string()])
            .args(kvm())
            .arg("-kernel")
            .arg(machine)
            .arg("-initrd")
            .arg(format!("/proc/{}/fd/{}", id(), file.as_raw_fd()))
            .args(card("left", &self.left))
            .args(card("right", &self.right))
            .status()
            .context("cannot start qemu-system-x86_64; install QEMU")?;
        // The exit device makes an odd number of what the machine writes, which is 0.
        match status.code() {
            Some(1) => Ok(ExitCode::SUCCESS),
            Some(0) => bail!("the machine was reset, or somebody ended QEMU"),
            _ => bail!("qemu-system-x86_64 ended: {status}"),
        }
    }
}

/// Packs a configuration, or prints what is wrong with it.
fn pack(path: &Path, seed: Option<u64>) -> Result<Option<Vec<u8>>> {
    let loaded = match config::load(path) {
        Ok(loaded) => loaded,
        Err(LoadError::Invalid(report)) => {
            configuration::print(&report);
            return Ok(None);
        }
        Err(error @ LoadError::Read { .. }) => return Err(error.into()),
    };
    let (secrets, chance) = match seed {
        Some(seed) => (Secrets::repeated(seed), Chance::Repeated(seed)),
        None => {
            let mut random = [0; 12];
            for word in &mut random {
                *word = getrandom::u64()?;
            }
            let [secrets @ .., a, b, c, d] = random;
            (secrets.into(), Chance::Key([a, b, c, d]))
        }
    };
    let warnings = loaded.warnings.clone();
    match loaded.pack(&secrets, chance) {
        Ok(image) => {
            if !warnings.is_empty() {
                configuration::print(&warnings);
            }
            Ok(Some(image))
        }
        Err(PackError::Beyond(report)) => {
            configuration::print(&report);
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens a file that nobody else may read.
fn private(options: &mut fs::OpenOptions, path: &Path) -> Result<File> {
    let opened = options.write(true).mode(0o600).open(path);
    opened.with_context(|| format!("cannot write {}", path.display()))
}

fn installed() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let machine = program.parent().unwrap_or(Path::new("/")).join(INSTALLED);
    if !machine.exists() {
        bail!(
            "there is no {}: `make bare install` puts it there, or name it with `--machine`",
            machine.display()
        );
    }
    Ok(machine)
}

/// MiB for a machine with this configuration.
fn memory(image: &[u8]) -> u64 {
    (image.len() as u64 + isthmus_image::state_bytes(image)).div_ceil(1 << 20) + 64
}

/// Hardware virtualisation, if this machine has it. The register that lists a processor's vulnerabilities is not needed,
/// and a host that is a guest itself may refuse to set it.
fn kvm() -> &'static [&'static str] {
    const PROCESSOR: &str = "max,-arch-capabilities";
    let is_open = File::options()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .is_ok();
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    match is_open && virtualises(&processors) {
        true => &["-accel", "kvm", "-accel", "tcg", "-cpu", PROCESSOR],
        false => &["-accel", "tcg", "-cpu", PROCESSOR],
    }
}

/// Whether the processors of this `/proc/cpuinfo` run other machines by themselves. KVM without that (`kvm_pvm`) takes
/// every instruction of a machine like ours apart: it is a hundred times slower, slower than QEMU alone.
fn virtualises(processors: &str) -> bool {
    let mut lines = processors.lines();
    let flags = lines.find_map(|line| line.strip_prefix("flags"));
    flags.is_some_and(|flags| {
        flags
            .split_whitespace()
            .any(|flag| matches!(flag, "vmx" | "svm"))
    })
}

fn card(side: &str, link: &str) -> [String; 4] {
    [
        "-netdev".to_owned(),
        format!("tap,id={side},ifname={link},script=no,downscript=no"),
        "-device".to_owned(),
        format!("virtio-net-pci,netdev={side},disable-legacy=on,romfile="),
    ]
}

#[cfg(test)]
mod tests {
    use super::virtualises;

    #[test]
    fn only_processors_that_run_machines_themselves_virtualise() {
        let processor = |flags| {
            format!("processor\t: 0\nmodel name\t: vmx 2000\nflags\t\t: {flags}\nbugs\t:\n")
        };
        assert!(virtualises(&processor("fpu vmx sse")));
        assert!(virtualises(&processor("fpu svm")));
        assert!(!virtualises(&processor("fpu sse svmx")));
        assert!(!virtualises(""));
    }
}
