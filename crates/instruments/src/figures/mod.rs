//! Figures: what a run gives, what statistics say of it, and the bounds that arithmetic gives. It knows no network.
//!
//! * [`results`]: the results of a run, a file for each trial
//! * [`statistics`], [`histogram`]: medians, intervals, percentiles
//! * `shift`: the shift of a set of values against another
//! * [`bound`]: the best that a network can do, by arithmetic alone

pub mod bound;
pub mod histogram;
pub mod results;
pub mod shift;
pub mod statistics;
