//! Whether applications work.

use super::super::{profile::Profile, testbed::Testbed};
use crate::{
    Result,
    applications::{self, Call},
    results::Point,
};

/// Returns 1 for each application that works, and 0 with the reason for the others.
pub(crate) fn all(testbed: &mut Testbed, _: Profile) -> Result<Vec<Point>> {
    let call = Call {
        client: testbed.client()?,
        server: testbed.server()?,
        target: testbed.address(),
        own: testbed.own(),
    };
    let tried = applications::try_all(&call)?.into_iter();
    let point = |tried: applications::Tried| match tried.trouble {
        None => Point::new(tried.name, 0.0, 1.0),
        Some(why) => Point::new(tried.name, 0.0, 0.0).because(why),
    };
    Ok(tried.map(point).collect())
}
