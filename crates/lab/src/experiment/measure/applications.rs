//! Whether applications work.

use super::super::{profile::Profile, scene::Scene};
use crate::{
    Result,
    applications::{self, Call},
    results::Point,
};

/// 1 for each application that works, and for the others 0 and why.
pub(crate) fn all(scene: &mut Scene, _: Profile) -> Result<Vec<Point>> {
    let call = Call {
        client: scene.client()?,
        server: scene.server()?,
        target: scene.address(),
        own: scene.own(),
    };
    let tried = applications::try_all(&call)?.into_iter();
    let point = |tried: applications::Tried| match tried.trouble {
        None => Point::new(tried.name, 0.0, 1.0),
        Some(why) => Point::new(tried.name, 0.0, 0.0).because(why),
    };
    Ok(tried.map(point).collect())
}
