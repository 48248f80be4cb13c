//! One value of an axis after the other, each on its own: one that fails takes no other with it.

use super::super::testbed::Testbed;
use crate::{
    LabError, Result,
    experiments::validity::persistent,
    figures::results::{Gap, Point},
};

/// Measures at each place of an axis. A place that cannot be measured is a gap of the testbed's current trial.
///
/// # Errors
/// No place could be measured; the first one's error.
pub(super) fn each<T: Copy + Into<f64>>(
    testbed: &mut Testbed,
    places: &[T],
    measure: impl Fn(&Testbed, T) -> Result<Vec<Point>>,
) -> Result<Vec<Point>> {
    let (points, gaps) = apart(places, |place| {
        let journal = testbed.journal().at(place);
        journal.undisturbed(|| measure(testbed, place))
    })?;
    testbed.leave_out(gaps);
    Ok(points)
}

/// Returns the points of the places that could be measured, and the others.
pub(super) fn apart<T: Copy + Into<f64>, V>(
    places: &[T],
    mut measure: impl FnMut(T) -> Result<Vec<V>>,
) -> Result<(Vec<V>, Vec<Gap>)> {
    let mut measured = Vec::new();
    let mut gaps = Vec::new();
    let mut first = None;
    for place in places.iter().copied() {
        // If the first place is void, the trial is, and is tried again as a whole.
        let is_first = measured.is_empty() && gaps.is_empty();
        let result = if is_first {
            measure(place)
        } else {
            persistent(|| measure(place))
        };
        match result {
            Ok(more) => measured.extend(more),
            Err(error @ LabError::Tester(_)) if is_first => return Err(error),
            Err(error) => {
                gaps.push(Gap {
                    at: place.into(),
                    why: error.to_string(),
                });
                first.get_or_insert(error);
            }
        }
    }
    match first {
        Some(error) if measured.is_empty() => Err(error),
        _ => Ok((measured, gaps)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::validity::TRIES;

    fn broken(size: u32) -> LabError {
        LabError::Output {
            tool: "ping",
            output: format!("no answers at {size}"),
        }
    }

    #[test]
    fn a_size_that_fails_takes_no_other_with_it() {
        let (points, gaps) = apart(&[100_u32, 1400, 1500], |size| match size {
            1400 => Err(broken(size)),
            _ => Ok(vec![Point::new("both", size.into(), 1.0)]),
        })
        .unwrap();
        let places: Vec<f64> = points.iter().map(|point| point.at).collect();
        assert_eq!(places, [100.0, 1500.0]);
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0].at, 1400.0);
        assert!(gaps[0].why.contains("no answers at 1400"));
    }

    #[test]
    fn if_all_fail_the_first_says_why() {
        let error = apart::<_, Point>(&[100_u32, 200], |size| Err(broken(size))).unwrap_err();
        assert!(error.to_string().contains("100"), "{error}");
    }

    #[test]
    fn a_void_size_is_tried_again_and_a_failed_one_is_not() {
        let mut tried = 0;
        let (points, gaps) = apart(&[0_u32, 1, 2], |size| {
            tried += 1;
            match size {
                0 => Ok(vec![0]),
                1 if tried <= TRIES => Err(LabError::Tester("late".into())),
                1 => Ok(vec![size]),
                _ => Err(broken(size)),
            }
        })
        .unwrap();
        assert_eq!((points, gaps.len(), tried), (vec![0, 1], 1, TRIES + 2));
    }

    #[test]
    fn if_the_first_size_is_void_the_trial_is() {
        let mut tried = 0;
        let void = apart(&[1_u32, 2], |_| {
            tried += 1;
            Err::<Vec<Point>, _>(LabError::Tester("late".into()))
        });
        assert!(matches!(void, Err(LabError::Tester(_))));
        assert_eq!(tried, 1);
    }
}
