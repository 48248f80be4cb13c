//! Rows of tunnels in turn with those of the kernel. If this machine's kernel has none, they are measured in the
//! virtual machine of the tests.

use std::{path::Path, process::Command};

use serde_json::Value;

use super::{
    Figure, Measurement, Thoroughness,
    crossings::{CROSSINGS, Crossing},
    packets,
    profile::Busy,
    turns::Effort,
};
use crate::{
    LabError, Result,
    network::process,
    subjects::{
        isthmus,
        peers::KernelTunnel::{self, Ip6tnl, Sit},
    },
};

/// A direction through a tunnel that the kernel has as well.
#[derive(Debug)]
pub(super) struct Rival {
    /// The row's name.
    pub(super) row: &'static str,
    kernel: KernelTunnel,
    ours: &'static Crossing,
}

/// All rivals.
pub(super) static RIVALS: [Rival; 4] = [
    rival("6in4-encap-sit", Sit, &CROSSINGS[0]),
    rival("6in4-decap-sit", Sit, &CROSSINGS[1]),
    rival("4in6-encap-ip6tnl", Ip6tnl, &CROSSINGS[2]),
    rival("4in6-decap-ip6tnl", Ip6tnl, &CROSSINGS[3]),
];

const fn rival(row: &'static str, kernel: KernelTunnel, ours: &'static Crossing) -> Rival {
    Rival { row, kernel, ours }
}

impl Rival {
    /// Measures ours in turn with the kernel's, here or in the guest.
    pub(super) fn measure(&self, effort: &Effort) -> Result<Measurement> {
        if self.kernel.require().is_err() {
            return in_guest(self.row, effort);
        }
        let theirs = self.ours.path_through(&self.kernel)?;
        packets::compare(self.ours.path()?, theirs, effort)
    }

    /// Returns ours alone, here, as work for a profile.
    pub(super) fn busy(&self, effort: &Effort) -> Result<Busy> {
        Ok(packets::at_full_rate(self.ours.path()?, effort))
    }
}

/// The command that runs another one in a virtual machine with Debian's kernel.
const RUN: &str = "tests/guest/run";
/// The time that it has, in seconds. Emulation is slow, above all while programs are loaded.
const PATIENCE: &str = "900";

/// Measures a row in the guest, and parses the report of `isthmus lab bench` there.
fn in_guest(row: &str, effort: &Effort) -> Result<Measurement> {
    if !Path::new(RUN).exists() {
        return Err(LabError::Missing {
            program: RUN.into(),
            package: "none: it is in the folder of the sources".into(),
        });
    }
    let quick = if *effort == Thoroughness::Quick.effort() {
        "--quick "
    } else {
        ""
    };
    let script = format!(
        "isthmus lab bench {quick}--rows {row} --output /tmp/row.json >/tmp/table 2>&1; \
         cat /tmp/row.json || cat /tmp/table"
    );
    let mut command = Command::new(RUN);
    command.args(["--timeout", PATIENCE, "--memory", "2G"]);
    for program in [isthmus::program()?, isthmus::laboratory()?] {
        command.arg("--program").arg(program);
    }
    let output = process::run(command.args(["--", "sh", "-c", &script]))?;
    let report: Value = serde_json::from_str(&output).unwrap_or_default();
    let found = &report["rows"][0];
    let figure = |value: &Value, name: &Value| {
        let name = format!("{}, in the guest", name.as_str()?);
        Some(Figure::new(&name, value.as_f64()?, packets::PACKETS))
    };
    let subject = figure(&found["value"], &found["subject"]);
    let baseline = figure(&found["baseline"]["value"], &found["baseline"]["name"]);
    match (subject, baseline) {
        (Some(subject), Some(baseline)) => Ok(Measurement {
            subject,
            baseline,
            beside: Vec::new(),
        }),
        _ => Err(LabError::Output {
            tool: RUN,
            output: found["reason"].as_str().map_or(output.clone(), Into::into),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_of_the_same_crossings_as_their_names_tell() {
        let crossing = |row: &str| {
            row.rsplit_once('-')
                .map(|(crossing, _)| crossing.to_owned())
        };
        for rival in &RIVALS {
            assert_eq!(crossing(rival.row), crossing(rival.ours.row));
        }
    }
}
