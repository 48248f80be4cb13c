//! An online game: datagrams in both directions, 60 times in a second.
//!
//! The games that paper 002 played have no program without a screen. Sockets send what they send; the server knows the
//! player by the address of its first datagram, as game servers do.

use std::net::SocketAddr;

use super::{
    Application, Call, Trouble, fails,
    flow::{self, Flow},
};

/// The game.
pub(super) const GAME: Application = Application {
    names: &["online game"],
    needs: &[],
    run: |call| Ok(vec![game(call).into()]),
};

/// Quake's port, and one of the player.
const SERVER: u16 = 27960;
const PLAYER: u16 = 27001;
/// Five seconds: five datagrams in a hundred are lost only if the path loses them.
const FLOW: Flow = Flow {
    rate: 60,
    size: 120,
    count: 300,
};

fn game(call: &Call<'_>) -> std::result::Result<flow::Stream, Trouble> {
    let [client, server] = call.own;
    let near = flow::open(call.client, (client, PLAYER).into())?;
    let far = flow::open(call.server, (server, SERVER).into())?;
    let to = SocketAddr::new(call.target, SERVER);
    let Some(player) = flow::greet([&near, &far], to) else {
        return fails("the server does not hear the player");
    };
    flow::exchange(FLOW, [(&near, to), (&far, player)])
}
