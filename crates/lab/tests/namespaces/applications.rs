//! The applications of paper 002, by the programs that people use: through a mechanism, natively, and where they
//! have to fail.

use isthmus_lab::{
    LabError,
    applications::everyday::Verdict,
    experiment::{measure::applications, subjects},
};

/// Tries the applications whose names begin so through a subject. Returns nothing if this is not possible here.
fn verdicts(subject: &str, names: &str) -> Option<Vec<Verdict>> {
    let mut all = subjects().into_iter();
    let subject = all.find(|known| known.name == subject).unwrap();
    match applications::judge(&subject, |name| name.starts_with(names)) {
        Ok(judged) => {
            let verdicts = judged.into_iter().map(|judged| {
                println!("{subject}: {}: {:?}", judged.name, judged.verdict);
                judged.verdict
            });
            Some(verdicts.collect())
        }
        Err(reason @ (LabError::NotRoot | LabError::Missing { .. })) => {
            println!("skipped: {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Checks whether each application works: a reason why it cannot be asked here is printed.
fn are(subject: &str, names: &str, work: &[bool]) {
    let Some(verdicts) = verdicts(subject, names) else {
        return;
    };
    assert_eq!(verdicts.len(), work.len());
    for (verdict, works) in verdicts.iter().zip(work) {
        match verdict {
            Verdict::NotAsked(why) => println!("skipped: {why}"),
            Verdict::Fails(_) => assert!(!works, "{verdicts:?}"),
            Verdict::Works | Verdict::Degraded(_) => assert!(works, "{verdicts:?}"),
            Verdict::Untold(why) => panic!("{why}"),
        }
    }
}

/// Behind a shared address, only who has asked for a port serves.
#[test]
fn a_host_behind_map_e_serves_at_a_port_that_it_asked_for() {
    are("map-e-isthmus-xdp", "BitTorrent", &[true, false, true]);
}

#[test]
fn a_host_without_a_nat_serves() {
    are("native-ipv4", "BitTorrent", &[true; 3]);
}
