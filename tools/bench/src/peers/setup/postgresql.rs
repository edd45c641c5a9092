//! PostgreSQL for the peers that need it, with its default durability.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use rustix::process::geteuid;

use crate::server::peer::{Part, PeerProcess, Ready, free_port, run};

/// The superuser. It has no password: the database listens only on this machine, for the duration of a run.
pub(super) const USER: &str = "postgres";

/// Creates a fresh database in the folder of a peer and starts it. `programs` is the folder with its programs.
pub(super) fn start(peer: &mut PeerProcess, programs: &Path) -> anyhow::Result<SocketAddr> {
    let address = free_port()?;
    let data = peer.folder().join("postgresql");
    fs::create_dir(&data)?;
    let owner = owner()?;
    if let Some((uid, gid)) = owner {
        chown(&data, Some(uid), Some(gid))?;
        fs::set_permissions(peer.folder(), Permissions::from_mode(0o711))?;
    }
    let command = |program: &str| {
        let mut command = Command::new(programs.join(program));
        command.current_dir(&data);
        if let Some((uid, gid)) = owner {
            command.uid(uid).gid(gid);
        }
        command
    };
    let mut initdb = command("initdb");
    run(initdb
        .args(["--auth=trust", "--no-locale", "--encoding=UTF8", "--username", USER, "-D"])
        .arg(&data))?;
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let mut server = command("postgres");
    server.args(["-h", &host, "-p", &port, "-c", "unix_socket_directories=", "-D"]).arg(&data);
    let is_ready = [programs.join("pg_isready").display().to_string(), "-h".into(), host, "-p".into(), port];
    peer.start(Part { command: server, ready: Ready::Program(is_ready.to_vec()), is_asked: true })?;
    Ok(address)
}

/// A PostgreSQL client program for this database.
pub(super) fn psql(programs: &Path, address: SocketAddr, database: &str) -> Command {
    let mut command = Command::new(programs.join("psql"));
    command.args(["-h", &address.ip().to_string(), "-p", &address.port().to_string(), "-U", USER]);
    command.args(["-d", database, "-q", "-v", "ON_ERROR_STOP=1"]);
    command
}

/// The user that runs it: PostgreSQL refuses to run as root, so it then runs as the user that its package has created.
fn owner() -> anyhow::Result<Option<(u32, u32)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find_map(|line| line.strip_prefix("postgres:"));
    let mut fields =
        line.context("PostgreSQL must not run as root, and there is no user `postgres`")?.split(':').skip(1);
    let mut number = || fields.next().and_then(|field| field.parse().ok());
    number().zip(number()).context("the user `postgres` has no id").map(Some)
}
