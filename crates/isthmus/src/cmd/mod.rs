//! The commands, one file each.

mod addr;
mod bare;
mod capture;
mod check;
mod columns;
mod completions;
mod configuration;
mod confirm;
mod counters;
mod diff;
mod doctor;
mod followed;
mod forget;
mod import;
pub(crate) mod lab;
mod reload;
mod rollback;
mod schema;
mod sessions;
mod status;
mod summary;
mod target;
mod top;
mod trace;
mod translate;
mod up;
mod who;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Joins the IPv4 and the IPv6 internet.
#[derive(Parser, Debug)]
#[command(version, about)]
pub(crate) struct Isthmus {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Check(check::Check),
    Diff(diff::Diff),
    Import(import::Import),
    Addr(addr::Addr),
    Who(who::Who),
    Translate(translate::Translate),
    Doctor(doctor::Doctor),
    Up(up::Up),
    Forget(forget::Forget),
    Bare(bare::Bare),
    Status(status::Status),
    Sessions(sessions::Sessions),
    Top(top::Top),
    Trace(trace::Trace),
    Capture(capture::Capture),
    Counters(counters::Counters),
    Reload(reload::Reload),
    Confirm(confirm::Confirm),
    Rollback(rollback::Rollback),
    Schema(schema::Schema),
    Lab(lab::Lab),
    Completions(completions::Completions),
}

impl Isthmus {
    /// Runs the command.
    pub(crate) fn run(&self) -> anyhow::Result<ExitCode> {
        match &self.command {
            Command::Check(check) => check.run(),
            Command::Diff(diff) => diff.run(),
            Command::Import(import) => import.run(),
            Command::Addr(addr) => addr.run(),
            Command::Who(who) => who.run(),
            Command::Translate(translate) => translate.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Up(up) => up.run(),
            Command::Forget(forget) => forget.run(),
            Command::Bare(bare) => bare.run(),
            Command::Status(status) => status.run(),
            Command::Sessions(sessions) => sessions.run(),
            Command::Top(top) => top.run(),
            Command::Trace(trace) => trace.run(),
            Command::Capture(capture) => capture.run(),
            Command::Counters(counters) => counters.run(),
            Command::Reload(reload) => reload.run(),
            Command::Confirm(confirm) => confirm.run(),
            Command::Rollback(rollback) => rollback.run(),
            Command::Schema(schema) => {
                schema.run();
                Ok(ExitCode::SUCCESS)
            }
            Command::Lab(lab) => lab.run(),
            Command::Completions(completions) => completions.run(),
        }
    }
}
