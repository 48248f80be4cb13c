//! Every attack on every engine at every rate: `make test-long PARTS=attacks`, alone.

use isthmus_lab::{experiments::attack, subjects::isthmus::Engine};

use crate::attack::broken;

fn all_on(engine: Engine) {
    let attacks = attack::all().into_iter();
    let concerned = attacks.filter(|attack| attack.engines.contains(&engine));
    let broken: Vec<String> = concerned
        .flat_map(|attack| broken(&attack, engine))
        .collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn xdp_survives() {
    all_on(Engine::Xdp);
}

#[test]
fn tc_survives() {
    all_on(Engine::Tc);
}

#[test]
fn user_space_survives() {
    all_on(Engine::User);
}
