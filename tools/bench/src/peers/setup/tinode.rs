//! Tinode on PostgreSQL.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use serde_json::json;

use super::{postgresql, started};
use crate::server::Server;
use crate::server::peer::{PeerProcess, Ready, free_port, run, write};

/// `binary` is its server; the program that creates its database is beside it.
pub(super) fn start(binary: &Path, postgresql: &Path, data: &Path) -> anyhow::Result<Server> {
    let maker = binary.with_file_name("tinode-db");
    ensure!(maker.is_file(), "{}, which creates its database, does not exist", maker.display());
    let mut peer = PeerProcess::new(data)?;
    let database = postgresql::start(&mut peer, postgresql)?;
    let address = free_port()?;
    let config = peer.folder().join("tinode.conf");
    write(&config, &configuration(address, database).to_string())?;
    run(Command::new(maker).args(["-reset", "-config"]).arg(&config).current_dir(peer.folder()))?;
    let mut command = Command::new(binary);
    command.arg("-config").arg(&config).args(["-static_data", "-"]).current_dir(peer.folder());
    started(peer, command, Ready::Port(address), address)
}

/// Its example configuration, with larger groups, without compression, and without unused parts.
fn configuration(address: SocketAddr, database: SocketAddr) -> serde_json::Value {
    json!({
        "listen": address.to_string(),
        "api_path": "/",
        "ws_compression_disabled": true,
        "grpc_listen": "",
        "api_key_salt": "T713/rYYgW7g4m3vG6zGRh7+FM1t0T8j13koXScOAj4=",
        "max_message_size": 131_072,
        "max_subscriber_count": 2_000,
        "max_tag_count": 16,
        "expvar": "",
        "push": [],
        "auth_config": {
            "logical_names": [],
            "basic": { "add_to_tags": true, "min_login_length": 4, "min_password_length": 6 },
            "token": {
                "expire_in": 1_209_600,
                "serial_num": 1,
                "key": "wfaY2RgF2S1OQI/ZlK+LSrp1KB2jwAdGAIHQ7JZn+Kc=",
            },
        },
        "store_config": {
            "uid_key": "la6YsO+bNX/+XIkOqc5Svw==",
            "max_results": 1_024,
            "use_adapter": "postgres",
            "adapters": { "postgres": {
                "User": postgresql::USER,
                "Passwd": postgresql::USER,
                "Host": database.ip().to_string(),
                "Port": database.port().to_string(),
                "DBName": "tinode",
                "ssl_mode": "disable",
                "max_open_conns": 50,
                "max_idle_conns": 50,
                "conn_max_lifetime": 60,
                "sql_timeout": 10,
            } },
        },
    })
}
