//! Attacks in a short form: what an attacker must not get, and whether a victim gets answers at all. How soon it gets
//! them is measured by `isthmus lab attack`.

use std::time::Duration;

use isthmus_lab::{
    LabError,
    experiments::attack::{self, Attack, Row},
    subjects::isthmus::Engine,
};

/// The time for which a victim is watched.
const WINDOW: Duration = Duration::from_millis(500);
/// The share of a victim's questions that a busy machine may lose.
const BUSY: f64 = 0.2;

/// Returns the attack of a name.
fn named(name: &str) -> Attack {
    let mut all = attack::all().into_iter();
    all.find(|attack| attack.name == name).unwrap()
}

/// Runs an attack on an engine, and returns what it broke.
pub(super) fn broken(attack: &Attack, engine: Engine) -> Vec<String> {
    let mut broken = Vec::new();
    let outcome = attack::run(attack, engine, WINDOW, |row| {
        println!("{row}");
        if !survives(&row) {
            broken.push(row.to_string());
        }
    });
    match outcome {
        Ok(()) => broken,
        Err(reason @ (LabError::NotRoot | LabError::Missing { .. })) => {
            println!("skipped: {reason}");
            Vec::new()
        }
        Err(error) => vec![format!("{}, {}: {error}", attack.name, engine.name())],
    }
}

/// Whether nothing was gained, and a victim got most of its answers; or no fewer than beside harmless packets.
fn survives(row: &Row) -> bool {
    let gained = row.gain.as_ref().is_some_and(|gain| gain.got > gain.most);
    let served = row.under.iter().all(|sample| {
        let beside = row
            .beside
            .iter()
            .find(|other| other.service == sample.service);
        sample.loss() <= beside.map_or(0.0, attack::Sample::loss) + BUSY
    });
    !gained && served
}

fn survived(name: &str, engine: Engine) {
    let broken = broken(&named(name).at_lowest_rate(), engine);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn no_stranger_is_translated_in_xdp() {
    survived("open-relay", Engine::Xdp);
}

#[test]
fn no_stranger_is_translated_in_user_space() {
    survived("open-relay", Engine::User);
}

#[test]
fn no_stranger_gets_names() {
    survived("open-resolver", Engine::User);
}

#[test]
fn ports_are_not_foretold_in_xdp() {
    survived("port-prediction", Engine::Xdp);
}

#[test]
fn ports_are_not_foretold_in_user_space() {
    survived("port-prediction", Engine::User);
}

#[test]
fn frames_to_others_are_left_alone_in_xdp() {
    survived("foreign-frames", Engine::Xdp);
}

#[test]
fn frames_to_others_are_left_alone_in_tc() {
    survived("foreign-frames", Engine::Tc);
}

#[test]
fn a_full_address_harms_nobody_else() {
    survived("full-address", Engine::User);
}

#[test]
fn a_customer_s_own_binding_is_no_way_to_use_up_its_sessions() {
    survived("inbound-quota", Engine::User);
}

#[test]
fn strangers_do_not_fill_the_table_in_xdp() {
    survived("inbound-flood", Engine::Xdp);
}

#[test]
fn strangers_do_not_fill_the_table_in_user_space() {
    survived("inbound-flood", Engine::User);
}

#[test]
fn unread_metrics_block_nobody() {
    survived("metrics-unread", Engine::User);
}

#[test]
fn unanswerable_names_block_nobody() {
    survived("dns-flood", Engine::User);
}

#[test]
fn strangers_who_are_answered_take_no_sessions_in_xdp() {
    survived("inbound-answered", Engine::Xdp);
}

#[test]
fn free_ports_of_the_router_s_address_are_nobody_s_burden_in_xdp() {
    survived("shared-address", Engine::Xdp);
}

#[test]
fn neighbours_who_ask_block_nobody() {
    survived("neighbour-flood", Engine::User);
}
