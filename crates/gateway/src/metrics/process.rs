//! The metrics that every program has of its process, under the names that all have in common.

use std::fs;
use std::sync::OnceLock;
use std::time::Duration;

use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use super::exposition::{Exposition, Type};

/// Adds the families of this process; those that the system does not tell are left out.
pub(super) fn add(text: &mut Exposition) {
    let mut gauge = |name: &str, help, value: Option<f64>| {
        if let Some(value) = value {
            let name = format!("process_{name}");
            text.common_family(name, help, Type::Gauge)
                .sample(&[], value);
        }
    };
    let help = "Start of the process since the epoch in seconds";
    gauge("start_time_seconds", help, start());
    let (virtual_memory, resident) = memory().unzip();
    gauge("virtual_memory_bytes", "Virtual memory", virtual_memory);
    gauge("resident_memory_bytes", "Resident memory", resident);
    gauge("open_fds", "Open file descriptors", open_files());
    let limit = getrlimit(Resource::RLIMIT_NOFILE).ok();
    let limit = limit.map(|(soft, _)| soft as f64);
    gauge("max_fds", "Most open file descriptors", limit);
    if let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) {
        let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        let help = "Time of processors, of the user and of the system, in seconds";
        text.common_family("process_cpu_seconds".into(), help, Type::Counter)
            .sample(
                &[],
                seconds(usage.user_time()) + seconds(usage.system_time()),
            );
    }
}

/// The start of the process, in seconds since the epoch: the same for all of its life, whatever the clock does.
fn start() -> Option<f64> {
    static START: OnceLock<Option<f64>> = OnceLock::new();
    *START.get_or_init(|| {
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let ticks: f64 = field(&stat, 22)?.parse().ok()?;
        let a_second = sysconf(SysconfVar::CLK_TCK).ok()??;
        let seconds = |clock| {
            let now = clock_gettime(clock).ok()?;
            Some(Duration::from(now).as_secs_f64())
        };
        let age = seconds(ClockId::CLOCK_BOOTTIME)? - ticks / a_second as f64;
        let start = seconds(ClockId::CLOCK_REALTIME)? - age;
        Some((start * 100.0).round() / 100.0)
    })
}

/// A field of `/proc/self/stat` by its number in proc(5). The name of the program, which may have spaces, is the
/// second.
fn field(stat: &str, number: usize) -> Option<&str> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split_whitespace().nth(number - 3)
}

/// Bytes of virtual and of resident memory.
fn memory() -> Option<(f64, f64)> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()?? as f64;
    let mut pages = statm.split_whitespace().map(str::parse::<f64>);
    let mut bytes = || Some(pages.next()?.ok()? * page);
    Some((bytes()?, bytes()?))
}

fn open_files() -> Option<f64> {
    // One of them is the folder.
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(count.saturating_sub(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Format;

    #[test]
    fn the_name_of_the_program_is_one_field() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 1234 20";
        assert_eq!(field(stat, 3), Some("S"));
        assert_eq!(field(stat, 22), Some("1234"));
    }

    #[test]
    fn this_process_is_described() {
        let mut text = Exposition::new(Format::Prometheus);
        add(&mut text);
        let text = text.finish();
        let value = |name: &str| -> f64 {
            let line = text
                .lines()
                .find(|line| line.starts_with(&format!("{name} ")));
            let line = line.unwrap_or_else(|| panic!("{name}: {text}"));
            line.rsplit_once(' ').unwrap().1.parse().unwrap()
        };
        let now = jiff::Timestamp::now().as_second() as f64;
        let age = now - value("process_start_time_seconds");
        assert!((-1.0..100_000.0).contains(&age), "{age} s");
        let resident = value("process_resident_memory_bytes");
        assert!(resident > 1e6 && resident < value("process_virtual_memory_bytes"));
        assert!(value("process_open_fds") >= 3.0);
        assert!(value("process_open_fds") < value("process_max_fds"));
        assert!(value("process_cpu_seconds_total") > 0.0);
    }
}
