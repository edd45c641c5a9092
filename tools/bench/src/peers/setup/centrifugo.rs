//! Centrifugo: everything in memory, so it is not durable.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::started;
use crate::load::run::Stage;
use crate::messenger::centrifugo::Centrifugo;
use crate::server::Server;
use crate::server::peer::{PeerProcess, Ready, free_port, write};

const KEY: &str = "godwit-bench-secret-for-one-run";

pub(super) fn start(binary: &Path, data: &Path) -> anyhow::Result<Server> {
    let peer = PeerProcess::new(data)?;
    let address = free_port()?;
    let config = peer.folder().join("config.json");
    // Clients may do what messenger clients do: publish in a channel, subscribe, and read its history.
    let configuration = json!({
        "http_server": { "address": "127.0.0.1", "port": address.port().to_string() },
        "client": { "token": { "hmac_secret_key": KEY }, "allowed_origins": ["*"] },
        "channel": { "without_namespace": {
            "history_size": 2_000,
            "history_ttl": "1h",
            "allow_subscribe_for_client": true,
            "allow_publish_for_subscriber": true,
            "allow_history_for_subscriber": true,
        } },
        "health": { "enabled": true },
        "log": { "level": "warn" },
        "usage_stats": { "disabled": true },
    });
    write(&config, &configuration.to_string())?;
    let mut command = Command::new(binary);
    command.arg("--config").arg(&config);
    started(peer, command, Ready::Page(address, "/health"), address)
}

pub(super) fn messenger(stage: &Stage, run: String) -> Centrifugo {
    Centrifugo::new(stage.server.address(), KEY, run)
}
