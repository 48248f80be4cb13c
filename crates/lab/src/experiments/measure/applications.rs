//! Whether applications work.

use super::{
    super::{
        journal::Journal,
        links::Links,
        profile::Profile,
        subject::Subject,
        subjects,
        testbed::{Ports, Testbed},
    },
    busy,
};
use crate::{
    LabError, Result,
    figures::results::{NO_VERDICT, Point},
    traffic::applications::{
        self, Call,
        everyday::{self, Judged, Verdict},
    },
};

/// The subject beside which the everyday applications are judged.
const NATIVE: &str = "native-ipv4";

/// Returns 1 for each application that works, and 0 with the reason for the others.
pub(crate) fn all(testbed: &mut Testbed, _: Profile) -> Result<Vec<Point>> {
    let tried = applications::try_all(&call(testbed)?)?.into_iter();
    let point = |tried: applications::Tried| match tried.trouble {
        None => Point::new(tried.name, 0.0, 1.0),
        Some(why) => Point::new(tried.name, 0.0, 0.0).because(why),
    };
    Ok(tried.map(point).collect())
}

/// Returns the hosts of a testbed.
fn call(testbed: &Testbed) -> Result<Call<'_>> {
    Ok(Call {
        client: testbed.client()?,
        server: testbed.server()?,
        target: testbed.address(),
        own: testbed.own(),
    })
}

/// Returns the verdict about each everyday application, beside a network of native IPv4.
pub(crate) fn everyday(subject: &Subject, _: Profile, _: &Journal) -> Result<Vec<Point>> {
    judge(subject, |_| Ok(()), |_| true).map(|judged| judged.into_iter().map(point).collect())
}

/// Tries the everyday applications whose names are wanted through a subject, which gives ports on request if it is ours.
/// Before, its network is changed.
///
/// # Errors
/// The subject does not run on this machine.
pub fn judge(
    subject: &Subject,
    change: impl FnOnce(&Testbed) -> Result<()>,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Judged>> {
    let native = subjects()
        .into_iter()
        .find(|subject| subject.name == NATIVE);
    let native = native.ok_or_else(|| LabError::Unasked(format!("there is no {NATIVE}")))?;
    let mut through = Testbed::build_with(subject, Links::Unlimited, Ports::OnRequest)?;
    let native = Testbed::build(&native, Links::Unlimited)?;
    change(&through)?;
    let waited = || through.gateways().into_iter().map(busy::waited).sum();
    let judged = everyday::try_all(&call(&through)?, &call(&native)?, waited, wanted)?;
    through.check().map(|()| judged)
}

fn point(judged: Judged) -> Point {
    let (value, reason) = match judged.verdict {
        Verdict::Works => (1.0, None),
        Verdict::Degraded(why) => (0.5, Some(why)),
        Verdict::Fails(why) => (0.0, Some(why)),
        Verdict::Untold(why) => (NO_VERDICT, Some(format!("cannot be told: {why}"))),
        Verdict::NotAsked(why) => (NO_VERDICT, Some(format!("not asked here: {why}"))),
    };
    let point = Point::new(judged.name, 0.0, value);
    match reason {
        Some(why) => point.because(why),
        None => point,
    }
}
