//! The laboratory's command line.
use isthmus_lab::{generator::Pace, measure::*, peers, subject::Subject};
use std::time::Duration;
fn main() -> anyhow::Result<()> {
    let loads: Vec<(Box<dyn Subject>, Load)> = vec![
        (Box::new(peers::Redirect), Load::routed6(1000)),
        (Box::new(peers::Forwarding), Load::routed6(1000)),
        (Box::new(peers::Forwarding), Load::routed4(1000)),
        (Box::new(peers::Masquerade), Load::routed4(1000)),
    ];
    for (s, l) in &loads {
        match Path::build(&**s, l) {
            Ok(mut p) => {
                let r = p.rate(
                    Duration::from_millis(300),
                    Duration::from_secs(1),
                    Pace::Full,
                )?;
                println!("{} {r:?}", s.name());
            }
            Err(e) => println!("{}: {e}", s.name()),
        }
    }
    for l in [Load::six_to_four(1000), Load::four_to_six(1000)] {
        match Path::build(&peers::Tayga, &l) {
            Ok(mut p) => {
                for k in [50e3, 100e3, 150e3, 200e3, 250e3, 300e3, 400e3] {
                    println!(
                        "{k} {:?}",
                        p.rate(
                            Duration::from_millis(100),
                            Duration::from_millis(500),
                            Pace::PerSecond(k)
                        )?
                    );
                }
                let r = p.best_delivery(100e3, Duration::from_millis(500))?;
                println!("tayga {r:?}");
                let r = p.rate(
                    Duration::from_millis(300),
                    Duration::from_secs(1),
                    Pace::Full,
                )?;
                println!("{r:?}");
            }
            Err(e) => println!("tayga: {e}"),
        }
    }
    Ok(())
}
