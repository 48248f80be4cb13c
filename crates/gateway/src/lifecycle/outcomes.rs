//! The outcomes of changes of the configuration: for the status, the metrics and the verdict.

use jiff::Timestamp;

use crate::control::{Outcome, ReloadStatus};
use crate::health::{self, Finding, Verdict};

/// The changes since the start.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// Configurations that took effect.
    pub(super) effective: u64,
    /// Those that did not.
    pub(super) failed: u64,
    /// The last of both.
    pub(super) last: Option<ReloadStatus>,
    /// The error of the last one in one line, if it failed.
    brief: Option<String>,
    /// When a configuration took effect last: at first the start.
    pub(super) success: Timestamp,
}

impl Outcomes {
    pub(super) fn new() -> Self {
        Self {
            effective: 0,
            failed: 0,
            last: None,
            brief: None,
            success: Timestamp::now(),
        }
    }

    /// A configuration took effect.
    pub(super) fn succeeded(&mut self, outcome: Outcome) {
        self.effective += 1;
        self.success = Timestamp::now();
        self.brief = None;
        self.last = Some(ReloadStatus {
            time: health::time(self.success),
            outcome,
            error: None,
        });
    }

    /// A configuration did not take effect. `brief` is the error in one line.
    pub(super) fn failed(&mut self, error: String, brief: String) {
        self.failed += 1;
        self.brief = Some(brief);
        self.last = Some(ReloadStatus {
            time: health::time(Timestamp::now()),
            outcome: Outcome::Failed,
            error: Some(error),
        });
    }

    /// The mistake, if the last one failed.
    pub(super) fn finding(&self) -> Option<Finding> {
        let brief = self.brief.as_ref()?;
        Some(Finding {
            verdict: Verdict::Degraded,
            what: format!("the last reload failed: {brief}"),
        })
    }
}
