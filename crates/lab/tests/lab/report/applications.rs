//! The tables of applications, for verdicts of all kinds.

use isthmus_lab::{
    figures::results::{NO_VERDICT, Point, Quantity},
    report,
};

use super::{made_up::MadeUp, markup};

const EVERYDAY: &str = "paper-002/everyday";
const ASKED: &str = "BitTorrent, serving at a port that it asked for";

/// A run in which one implementation of MAP-E has no verdict about the game.
fn run() -> MadeUp {
    let mut made_up = MadeUp::new();
    made_up.experiment(EVERYDAY, Quantity::Works, None);
    for (subject, mechanism, game) in [
        ("map-e-isthmus-xdp", "MAP-E", 0.5),
        ("map-e-isthmus-user", "MAP-E", NO_VERDICT),
        ("map-t-isthmus-user", "MAP-T", NO_VERDICT),
    ] {
        made_up.subject(subject);
        made_up.run.subjects.last_mut().unwrap().mechanism = mechanism.into();
        let points = vec![
            Point::new("BitTorrent, serving", 0.0, 0.0).because("nobody is reached"),
            Point::new(ASKED, 0.0, 1.0),
            Point::new("online game", 0.0, game).because("not asked here: no game"),
        ];
        made_up.measured(EVERYDAY, subject, points);
    }
    made_up
}

/// Returns the text of a page, without its marks.
fn text(page: &str) -> String {
    let parts = page.split('<').filter_map(|part| part.split_once('>'));
    parts.map(|(_, text)| text).collect::<Vec<_>>().join("|")
}

#[test]
fn the_paper_s_verdicts_stand_beside_ours() {
    let page = report::page(&run().summary());
    markup::check(&page);
    let text = text(&page);
    let row = text.split_once("BitTorrent|").unwrap().1;
    assert!(row.contains("paper: fetches, does not serve"), "{row}");
    assert!(text.contains(&format!("{ASKED}: ||✓ works")), "{text}");
    assert!(text.contains("BitTorrent, serving: ||✗ fails"), "{text}");
}

#[test]
fn what_has_no_verdict_is_neither_good_nor_bad() {
    let made_up = run();
    let page = text(&report::page(&made_up.summary()));
    // Of MAP-E one has a verdict, of MAP-T none.
    assert!(page.contains("online game: ||~ badly"), "{page}");
    assert!(page.contains("online game: ||– not told"), "{page}");
    assert!(page.contains("not asked here: no game"));
    // A subject works with one of two: the third is not counted.
    assert!(page.contains("1 of 2") && page.contains("1 of 3"), "{page}");
}
