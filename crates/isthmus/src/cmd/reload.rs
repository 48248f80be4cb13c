//! `isthmus reload`: reloads the configuration of a running gateway, or tells what that would do.

use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use isthmus_gateway::control::{How, ReloadRequest, Reply, Request};

use super::target::Target;

/// Reload the running gateway's configuration
///
/// If the configuration has a mistake, nothing changes. With --confirm it is in force at once, but undone after that
/// time unless `isthmus confirm` comes: a change that cuts you off takes itself back.
#[derive(Args, Debug)]
pub(crate) struct Reload {
    #[command(flatten)]
    target: Target,
    /// Change nothing; tell what would change, and which sessions would end
    #[arg(long, conflicts_with = "confirm")]
    dry_run: bool,
    /// Undo it after this time, such as 60s or 5m, unless `isthmus confirm` comes
    #[arg(long, value_name = "TIME")]
    confirm: Option<Trial>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Reload {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let how = match (self.dry_run, self.confirm) {
            (true, _) => How::DryRun,
            (false, Some(Trial(seconds))) => How::Confirm(seconds),
            (false, None) => How::Now,
        };
        match self
            .target
            .answer(&Request::Reload(ReloadRequest { how }))?
        {
            Reply::Differences(differences) => {
                if self.json {
                    println!("{}", serde_json::to_string_pretty(&differences)?);
                } else {
                    println!("{differences}");
                }
            }
            Reply::Reloaded(changes) if self.json => {
                println!("{}", serde_json::to_string(&changes)?)
            }
            Reply::Reloaded(changes) => {
                print_changes(&changes);
                if self.confirm.is_some() {
                    self.print_deadline()?;
                }
            }
            _ => bail!("unexpected answer from the gateway"),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print_deadline(&self) -> Result<()> {
        let Reply::Status(status) = self.target.answer(&Request::Status)? else {
            bail!("unexpected answer from the gateway");
        };
        match &status.in_force.undone_at {
            Some(time) => println!("undone at {time}, unless you run: isthmus confirm"),
            None => println!("the file says the same as before: there is nothing to confirm"),
        }
        Ok(())
    }
}

/// Prints what changed, one line each.
pub(super) fn print_changes(changes: &[String]) {
    if changes.is_empty() {
        println!("nothing changed");
    } else {
        println!("{}", changes.join("\n"));
    }
}

/// Seconds until a configuration must have been confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trial(u32);

impl FromStr for Trial {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let unit = match unit {
            "s" => Some(1),
            "m" | "min" => Some(60),
            "h" => Some(3600),
            _ => None,
        };
        let number: Option<u32> = number.parse().ok();
        let seconds = number
            .zip(unit)
            .and_then(|(number, unit)| number.checked_mul(unit));
        seconds
            .filter(|seconds| (1..=How::LONGEST_TRIAL).contains(seconds))
            .map(Self)
            .ok_or_else(|| "expected a time from 1s to 24h, such as 60s, 5m or 1h".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_an_end() {
        for (text, seconds) in [
            ("1s", 1),
            ("60s", 60),
            ("5m", 300),
            ("5min", 300),
            ("24h", 86_400),
        ] {
            assert_eq!(text.parse(), Ok(Trial(seconds)), "{text}");
        }
        for text in [
            "",
            "s",
            "60",
            "0s",
            "-1s",
            "1.5m",
            "25h",
            "86401s",
            "9999999999s",
            "1d",
            "1 s",
        ] {
            assert!(text.parse::<Trial>().is_err(), "{text}");
        }
    }
}
