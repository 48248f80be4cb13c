//! `isthmus lab advise`

use std::io::{IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use isthmus_lab::figures::results::{Better, Directory};
use isthmus_lab::report::advise::{
    self, Advice, BrState, CeRouters, Choice, Core, Hosts, Inbound, Needs, Peers,
};

/// Recommend mechanisms for a network
///
/// Asks for what is not given. With --run, the recommendations have the figures of the laboratory.
#[derive(Args, Debug)]
pub(super) struct Advise {
    /// The protocols of hosts and their programs: v6-only, dual
    #[arg(long, value_parser = <Hosts as Choice>::parse)]
    hosts: Option<Hosts>,
    /// The protocol between the customers and the border: v6, v4
    #[arg(long, value_parser = <Core as Choice>::parse)]
    core: Option<Core>,
    /// The destinations that need help: v4, v6
    #[arg(long, value_parser = <Peers as Choice>::parse)]
    reach: Option<Peers>,
    /// The number of customers that share an IPv4 address
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65535))]
    sharing: Option<u32>,
    /// Connections from outside: none, some, every
    #[arg(long, value_parser = <Inbound as Choice>::parse)]
    inbound: Option<Inbound>,
    /// The routers at the customers: ours, none
    #[arg(long, value_parser = <CeRouters as Choice>::parse)]
    edges: Option<CeRouters>,
    /// The state that the provider's end may keep: state, stateless
    #[arg(long, value_parser = <BrState as Choice>::parse)]
    border: Option<BrState>,
    /// A run of the laboratory
    #[arg(long, value_name = "DIRECTORY")]
    run: Option<PathBuf>,
}

impl Advise {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let run = self.run.as_deref().map(Directory::open).transpose()?;
        let needs = Needs {
            hosts: answer(self.hosts, "--hosts")?,
            core: answer(self.core, "--core")?,
            peers: answer(self.reach, "--reach")?,
            customers_per_address: self.sharing()?,
            inbound: answer(self.inbound, "--inbound")?,
            ce: answer(self.edges, "--edges")?,
            br: answer(self.border, "--border")?,
        };
        let advice = advise::advise(&needs, run.as_ref());
        let (possible, not): (Vec<_>, Vec<_>) = advice.iter().partition(|it| it.is_possible());
        if possible.is_empty() {
            println!("Nothing does all of this.");
        }
        for (number, advice) in possible.iter().enumerate() {
            println!("{}. {}", number + 1, advice.mechanism);
            tell(advice);
        }
        println!("\nNot for this network:");
        for advice in not {
            println!("   {:<8}  {}", advice.mechanism, advice.against.join("; "));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn sharing(&self) -> Result<u32> {
        if let Some(sharing) = self.sharing {
            return Ok(sharing);
        }
        let line = ask("How many customers share an IPv4 address?", "--sharing")?;
        match line.parse() {
            Ok(sharing @ 1..=65535) => Ok(sharing),
            _ => bail!("\"{line}\" is no number from 1 to 65535"),
        }
    }
}

fn tell(advice: &Advice) {
    for reason in &advice.reasons {
        println!("   + {reason}");
    }
    for doubt in &advice.doubts {
        println!("   - {doubt}");
    }
    for measured in &advice.measured {
        let better = match measured.quantity.better() {
            Better::Lower => "lower is better",
            Better::Higher => "higher is better",
        };
        let (before, all) = measured.rank;
        println!(
            "   = {}: {:.4e} {} ({better}; {} of {all} mechanisms, {})",
            measured.what,
            measured.value,
            measured.quantity.unit(),
            before + 1,
            measured.subject
        );
    }
}

/// Returns the given value, or else the answer to its question.
fn answer<T: Choice>(given: Option<T>, flag: &str) -> Result<T> {
    if let Some(given) = given {
        return Ok(given);
    }
    let mut question = T::QUESTION.to_owned();
    for (word, meaning, _) in T::ANSWERS {
        question += &format!("\n   {word:<10} {meaning}");
    }
    T::parse(&ask(&question, flag)?).map_err(anyhow::Error::msg)
}

/// Asks a question at the terminal.
fn ask(question: &str, flag: &str) -> Result<String> {
    if !stdin().is_terminal() {
        bail!("{flag} is missing, and there is no terminal to ask for it");
    }
    print!("{question}\n> ");
    stdout().flush()?;
    let mut line = String::new();
    stdin().read_line(&mut line).context("no answer")?;
    Ok(line.trim().to_owned())
}
