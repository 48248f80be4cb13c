//! `isthmus status`: the state of a running gateway.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_gateway::control::{
    HostStatus, Outcome, PrefixStatus, ReloadStatus, Reply, Request, Status as Answer, TableStatus,
};
use isthmus_gateway::health::Verdict;

use super::columns::{Align, Columns};
use super::target::Target;

/// The exit status of `--check` for a gateway that is not healthy.
const UNHEALTHY: u8 = 2;

/// Show the state of the running gateway
///
/// The last line is the verdict: `healthy`, or what is wrong and since when. `degraded` means that packets are
/// translated as configured, but that the last reload failed; `ill`, that something is not as configured.
#[derive(Args, Debug)]
pub(crate) struct Status {
    #[command(flatten)]
    target: Target,
    /// Print the verdict only, and exit with 0 if the gateway is healthy, with 2 if it is not, and with 1 if no
    /// gateway answers
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Status {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let Reply::Status(status) = self.target.answer(&Request::Status)? else {
            bail!("unexpected answer from the gateway");
        };
        let health = &status.health;
        match (self.check, self.json) {
            (true, true) => println!("{}", serde_json::to_string_pretty(health)?),
            (true, false) => println!("{health}"),
            (false, true) => println!("{}", serde_json::to_string_pretty(&status)?),
            (false, false) => print(&status),
        }
        Ok(if self.check && health.verdict != Verdict::Healthy {
            UNHEALTHY.into()
        } else {
            ExitCode::SUCCESS
        })
    }
}

fn print(status: &Answer) {
    println!(
        "{}  isthmus {}  process {}  up {}",
        status.name,
        status.version,
        status.process,
        elapsed(status.uptime)
    );
    print_configuration(status);
    for trouble in &status.troubles {
        println!("not as configured: {trouble}");
    }
    if let Some(reason) = &status.ephemeral {
        println!("a restart would end all sessions: {reason}");
    }
    println!("\n{}", engines(status));
    print!("{}", instances(status));
    for instance in &status.instances {
        if let Some(prefix) = &instance.prefix {
            println!("\n{}: {}", instance.name, of_prefix(prefix));
        }
        if let Some(host) = &instance.host {
            println!("\n{}: {}", instance.name, of_host(host));
        }
    }
    for announcement in &status.announcements {
        let prefixes = announcement.prefixes.join(", ");
        println!("\nannounced on {}: {prefixes}", announcement.interface);
    }
    if !status.dns64.is_empty() {
        println!("\ndns64 at {}", status.dns64.join(", "));
    }
    if !status.proxy.is_empty() {
        println!("\nproxy at {}", status.proxy.join(", "));
    }
    let records = &status.records;
    if records.written + records.suppressed > 0 {
        let (written, suppressed) = (records.written, records.suppressed);
        println!("\nrecords: {written} written, {suppressed} suppressed");
    }
    println!("\n{}", status.health);
}

/// Prints which configuration is in force, and how it came to be.
fn print_configuration(status: &Answer) {
    let in_force = &status.in_force;
    println!(
        "{}  read {}  {}",
        status.configuration.display(),
        in_force.read,
        reloads(status)
    );
    if let Some(last) = &status.last_reload {
        println!("{}", of_reload(last));
    }
    if in_force.differs {
        println!("the file says something else by now: `isthmus reload --dry-run` tells what");
    }
    if let Some(time) = &in_force.undone_at {
        println!("undone at {time}, unless somebody runs `isthmus confirm`");
    } else if let Some(read) = &in_force.before {
        println!("`isthmus rollback` goes back to the configuration read {read}");
    }
}

fn reloads(status: &Answer) -> String {
    let times = |number: u64| match number {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    let effective = match status.reloads {
        0 => "never reloaded".to_owned(),
        n => format!("reloaded {}", times(n)),
    };
    match status.failed_reloads {
        0 => effective,
        n => format!("{effective}, failed {}", times(n)),
    }
}

/// Describes what came of a reload.
fn of_reload(last: &ReloadStatus) -> String {
    let error = last.error.as_deref().unwrap_or_default();
    let what = match last.outcome {
        Outcome::Succeeded => "the last reload succeeded".to_owned(),
        Outcome::RolledBack => "somebody went back to the configuration before".to_owned(),
        Outcome::Undone => {
            "nobody confirmed a configuration: the one before is in force again".into()
        }
        Outcome::Failed => format!("the last reload failed, and nothing changed: {error}"),
    };
    format!("{}: {what}", last.time)
}

fn engines(status: &Answer) -> Columns<3> {
    let mut table = Columns::new([
        ("engine", Align::Left),
        ("interface", Align::Left),
        ("", Align::Left),
    ]);
    for engine in &status.engines {
        table.row([&engine.engine, &engine.interface, &engine.detail].map(String::clone));
    }
    table
}

fn instances(status: &Answer) -> Columns<5> {
    let mut table = Columns::new([
        ("instance", Align::Left),
        ("mechanism", Align::Left),
        ("translated", Align::Right),
        ("dropped", Align::Right),
        ("tables", Align::Left),
    ]);
    for instance in &status.instances {
        let tables = instance.tables.iter();
        let tables = tables.map(of_table);
        table.row([
            instance.name.clone(),
            instance.mechanism.clone(),
            instance.translated.to_string(),
            instance.dropped.to_string(),
            tables.collect::<Vec<_>>().join(", "),
        ]);
    }
    table
}

/// Describes how full a table is.
fn of_table(table: &TableStatus) -> String {
    let fill = format!("{} {}/{}", table.table, table.used, table.limit);
    match table.refused {
        0 => fill,
        refused => format!("{fill} ({refused} refused)"),
    }
}

/// Describes the prefix that the gateway discovered.
fn of_prefix(status: &PrefixStatus) -> String {
    match (&status.prefix, &status.origin, status.expires) {
        (Some(prefix), Some(origin), Some(expires)) => {
            format!("{prefix} from {origin}, for {}", elapsed(expires))
        }
        _ => "waiting for a prefix".to_owned(),
    }
}

/// Describes the machine's own CLAT.
fn of_host(status: &HostStatus) -> String {
    let HostStatus {
        uplink,
        address,
        local,
    } = status;
    match local {
        Some(local) => format!("{address} of this machine is {local} on {uplink}"),
        None => format!("waiting for an IPv6 network on {uplink}"),
    }
}

/// Formats a number of seconds for people.
fn elapsed(seconds: u64) -> String {
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {seconds} s"),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_who_told_them() {
        assert_eq!(of_prefix(&PrefixStatus::default()), "waiting for a prefix");
        let status = PrefixStatus {
            prefix: Some("64:ff9b::/96".into()),
            origin: Some("router fe80::1".into()),
            expires: Some(1795),
        };
        let expected = "64:ff9b::/96 from router fe80::1, for 29 min 55 s";
        assert_eq!(of_prefix(&status), expected);
    }

    #[test]
    fn the_addresses_of_this_machine() {
        let waiting = HostStatus {
            uplink: "wlan0".into(),
            address: "192.0.0.1".into(),
            local: None,
        };
        assert_eq!(of_host(&waiting), "waiting for an IPv6 network on wlan0");
        let status = HostStatus {
            local: Some("2001:db8::464".into()),
            ..waiting
        };
        let expected = "192.0.0.1 of this machine is 2001:db8::464 on wlan0";
        assert_eq!(of_host(&status), expected);
    }

    #[test]
    fn two_units_are_enough() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (61, "1 min 1 s"),
            (3_700, "1 h 1 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(elapsed(seconds), text);
        }
    }
}
