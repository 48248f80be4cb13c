//! A running `isthmus up`, observed through the service manager's socket.

mod manager;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use manager::{Manager, Store};
use serde_json::Value;

use super::net::{Net, text};

/// The program under test.
pub(crate) const ISTHMUS: &str = env!("CARGO_BIN_EXE_isthmus");

/// Time limit of a start: the kernel takes long to verify BPF programs, and an emulated processor on a busy
/// machine is slow.
const PATIENCE: Duration = Duration::from_secs(400);

/// A process that is killed on drop.
pub(crate) struct Gateway {
    folder: PathBuf,
    process: Child,
    manager: Manager,
}

impl Gateway {
    /// Starts a gateway and waits until it is ready.
    pub(crate) fn start(net: &Net, folder: &Path, file: &Path) -> Self {
        let gateway = Self::spawn(net.command("gateway", ISTHMUS), folder, file);
        gateway.expect("READY=1");
        gateway
    }

    /// Starts a gateway that must fail to start. Returns its exit status and its output.
    pub(crate) fn refused(net: &Net, file: &Path) -> (ExitStatus, String) {
        let output = net
            .command("gateway", ISTHMUS)
            .arg("up")
            .arg(file)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status, said)
    }

    /// Starts a gateway by a command that runs the program in the right place. Its control socket must be
    /// `edge.sock` in the folder.
    pub(crate) fn spawn(isthmus: Command, folder: &Path, file: &Path) -> Self {
        let manager = Manager::listen(&folder.join("notify"), Store::new());
        Self::run(isthmus, folder, file, manager)
    }

    /// Starts a gateway whose service manager has stored descriptors of an earlier one, and stores more.
    pub(crate) fn spawn_with(isthmus: Command, folder: &Path, file: &Path, store: Store) -> Self {
        let isthmus = manager::hand_over(isthmus, &store);
        let manager = Manager::listen(&folder.join("notify"), store);
        Self::run(isthmus, folder, file, manager)
    }

    fn run(mut isthmus: Command, folder: &Path, file: &Path, manager: Manager) -> Self {
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.join("log"))
            .unwrap();
        let process = isthmus
            .arg("up")
            .arg(file)
            .env("NOTIFY_SOCKET", folder.join("notify"))
            .stderr(log)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            folder: folder.into(),
            process,
            manager,
        }
    }

    /// Waits for a message to the service manager with this line.
    pub(crate) fn expect(&self, line: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.manager.told.recv_timeout(Duration::from_secs(1)) {
                Ok(message) if message.lines().any(|there| there == line) => return,
                Ok(_) => {}
                Err(_) => {
                    let waits = self.runs() && Instant::now() < until;
                    assert!(waits, "no {line}\n{}", self.log());
                }
            }
        }
    }

    /// Whether it has not ended yet: what has ended, and was not waited for, has no program any more.
    fn runs(&self) -> bool {
        fs::read_link(format!("/proc/{}/exe", self.process.id())).is_ok()
    }

    /// Returns the numbers of the attachments of programs that it holds.
    pub(crate) fn bpf_links(&self) -> Vec<String> {
        self.held("link_id:")
    }

    /// Returns the kinds of the programs that it holds, by the kernel's numbers: 3 is tc, 6 XDP.
    pub(crate) fn bpf_programs(&self) -> Vec<String> {
        let mut kinds = self.held("prog_type:");
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Whether it holds maps of programs.
    pub(crate) fn holds_maps(&self) -> bool {
        !self.held("map_type:").is_empty()
    }

    /// Returns a property of all its descriptors that have it, as the kernel says.
    fn held(&self, property: &str) -> Vec<String> {
        let descriptors = fs::read_dir(format!("/proc/{}/fdinfo", self.process.id())).unwrap();
        descriptors
            .filter_map(|one| {
                let about = fs::read_to_string(one.ok()?.path()).ok()?;
                let value = about.lines().find_map(|line| line.strip_prefix(property));
                Some(value?.trim().to_owned())
            })
            .collect()
    }

    /// Takes what the service manager has stored.
    pub(crate) fn stored(&self) -> Store {
        std::mem::take(&mut *self.manager.store.lock().unwrap())
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// Sends a signal. `ip netns exec` has become the gateway.
    pub(crate) fn signal(&self, signal: &str) {
        let process = self.process.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{signal}"), &process])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Stops the gateway for good, and waits for its end.
    pub(crate) fn stop(self) -> ExitStatus {
        self.end("INT")
    }

    /// Stops the gateway like a service manager, and waits for its end. It leaves its sessions to the next one.
    pub(crate) fn terminate(self) -> ExitStatus {
        self.end("TERM")
    }

    fn end(mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        self.expect("STOPPING=1");
        self.process.wait().unwrap()
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Kills the gateway, so that it cannot clean up.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Runs a command of the program against the gateway.
    pub(crate) fn client(&self, arguments: &str) -> Output {
        Command::new(ISTHMUS)
            .args(arguments.split(' '))
            .arg("--socket")
            .arg(self.folder.join("edge.sock"))
            .output()
            .unwrap()
    }

    /// Returns the output of a command with `--json`.
    pub(crate) fn json(&self, arguments: &str) -> Value {
        let output = self.client(&format!("{arguments} --json"));
        assert!(output.status.success(), "{output:?}\n{}", self.log());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Returns the number of sessions.
    pub(crate) fn sessions(&self) -> u64 {
        let output = self.client("sessions --count");
        text(&output).trim().parse().unwrap()
    }

    /// Waits a few seconds for `done`.
    pub(crate) fn wait_until(&self, done: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !done(self) {
            assert!(begun.elapsed() < Duration::from_secs(8), "{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
