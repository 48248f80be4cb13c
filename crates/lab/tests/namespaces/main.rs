//! The laboratory in network namespaces: gateways and the tester between real hosts. Needs root and the programs of
//! `scripts/setup test`; without them a test says why it is skipped.
//!
//! The gateway is the `isthmus` beside the test (`cargo build` first) or the one in `$ISTHMUS`.

mod applications;
mod attack;
mod attacks;
mod end_to_end;
mod timed;
