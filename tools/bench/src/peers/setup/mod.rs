//! Configuration and start of each messenger. If a setting is not the default, the file says why.

mod centrifugo;
mod ejabberd;
mod postgresql;
mod tinode;
mod wukongim;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::kind::{Kind, Programs};
use super::measure::{Outcome, Plan, all};
use crate::messenger::relay::Relay;
use crate::messenger::tinode::Tinode;
use crate::progress::Progress;
use crate::server::peer::{Part, PeerProcess, Ready, free_port};
use crate::server::{Server, Which};

/// Starts a messenger, runs all scenarios with it, and stops it.
pub(super) fn measure(
    kind: Kind,
    programs: &Programs,
    data: &Path,
    plan: &Plan,
    progress: Progress,
) -> anyhow::Result<Vec<Outcome>> {
    let mut runs = 0;
    let mut run = move || {
        runs += 1;
        format!("r{runs}")
    };
    Ok(match kind {
        Kind::Godwit => {
            let which =
                Which { server: programs.godwit.clone(), data: Some(data.to_owned()), ..Which::default() };
            all(kind, which.start()?, plan, progress, |stage, users| Ok(stage.godwit(users)))
        }
        Kind::Wukongim => {
            let (server, api) = wukongim::start(&programs.wukongim()?, data)?;
            all(kind, server, plan, progress, |stage, _| Ok(wukongim::messenger(stage, api, run())))
        }
        Kind::Centrifugo => {
            let server = centrifugo::start(&programs.centrifugo()?, data)?;
            all(kind, server, plan, progress, |stage, _| Ok(centrifugo::messenger(stage, run())))
        }
        Kind::Tinode => {
            let server = tinode::start(&programs.tinode()?, &programs.postgresql()?, data)?;
            all(kind, server, plan, progress, |stage, users| Ok(Tinode::new(stage.server.address(), users)))
        }
        Kind::Ejabberd => {
            let (server, accounts) = ejabberd::start(&programs.postgresql()?, data)?;
            all(kind, server, plan, progress, |stage, users| {
                ejabberd::messenger(stage, &accounts, users, run())
            })
        }
        Kind::Relay => {
            let mut rooms = 0;
            all(kind, start_relay(data)?, plan, progress, |stage, users| {
                let first_room = rooms;
                rooms += users;
                Ok(Relay::new(stage.server.address(), first_room))
            })
        }
    })
}

/// Another process of this program.
fn start_relay(data: &Path) -> anyhow::Result<Server> {
    let address = free_port()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["relay", "--listen", &address.to_string()]);
    started(PeerProcess::new(data)?, command, Ready::Port(address), address)
}

/// Starts the server of a peer, which listens on an address.
fn started(
    mut peer: PeerProcess,
    command: Command,
    ready: Ready,
    address: SocketAddr,
) -> anyhow::Result<Server> {
    peer.start(Part { command, ready, is_asked: false })?;
    peer.listens_at(address);
    Ok(Server::Peer(peer))
}
