//! The laboratory builds networks in namespaces, sends packets through a gateway under test, and compares the result
//! with that of the kernel and of other implementations in the same network.
//!
//! Its folders are layers. Each knows only those above it in this list, which `scripts/imports` checks. The first three are
//! those of [`isthmus_instruments`]:
//!
//! * [`figures`]: results, statistics and bounds
//! * [`network`]: namespaces, links, topologies, processes
//! * [`traffic`]: generator, receiver, tester, sockets, applications
//! * [`subjects`]: the gateways under test, ours and those of others
//! * [`experiments`]: the experiments of the papers and RFCs, the benchmarks, the checks and the attacks
//! * [`mod@report`]: what a run says: summary, claims, comparison, advice, and the page that shows them
//!
//! [`figures`] and [`mod@report`] only calculate, and need no rights. All others need root. Everything that they make is
//! removed when its value is dropped.
#![forbid(unsafe_code)]

pub mod experiments;
pub mod report;
pub mod subjects;

pub use isthmus_instruments::{LabError, Result, figures, network, traffic};
