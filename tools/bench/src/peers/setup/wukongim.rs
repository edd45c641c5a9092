//! WuKongIM: one node, its embedded store, which makes messages durable before it acknowledges them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::started;
use crate::load::run::Stage;
use crate::messenger::wukongim::WuKongIm;
use crate::server::Server;
use crate::server::peer::{PeerProcess, Ready, free_ports, write};

/// Returns the address of its HTTP API too.
pub(super) fn start(binary: &Path, data: &Path) -> anyhow::Result<(Server, SocketAddr)> {
    let peer = PeerProcess::new(data)?;
    let [tcp, ws, api, cluster] = free_ports()?;
    let folder = peer.folder().to_owned();
    let config = folder.join("wk.yaml");
    write(&config, &configuration(&folder, tcp, ws, api, cluster))?;
    let mut command = Command::new(binary);
    command.arg("--config").arg(&config).current_dir(&folder);
    Ok((started(peer, command, Ready::Page(api, "/health"), ws)?, api))
}

pub(super) fn messenger(stage: &Stage, api: SocketAddr, run: String) -> WuKongIm {
    WuKongIm::new(stage.server.address(), api, run)
}

/// Encryption is off, as for the others, and so are unused parts.
fn configuration(
    folder: &Path,
    tcp: SocketAddr,
    ws: SocketAddr,
    api: SocketAddr,
    cluster: SocketAddr,
) -> String {
    let root = folder.join("data");
    let root = root.display();
    format!(
        r#"mode: "release"
rootDir: "{root}"
addr: "tcp://{tcp}"
wsAddr: "ws://{ws}"
httpAddr: "{api}"
tokenAuthOn: true
disableEncryption: true
external:
  ip: "127.0.0.1"
  tcpAddr: "{tcp}"
  wsAddr: "ws://{ws}"
intranet:
  tcpAddr: "{tcp}"
logger:
  dir: "{root}/logs"
  level: 3
manager:
  on: false
demo:
  on: false
conversation:
  on: true
plugin:
  socketPath: "{root}/plugins.sock"
cluster:
  nodeId: 1
  addr: "tcp://{cluster}"
  serverAddr: "{cluster}"
  apiUrl: "http://{api}"
"#
    )
}
