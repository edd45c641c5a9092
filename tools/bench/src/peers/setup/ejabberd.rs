//! ejabberd from its Debian package, with accounts, archive and rooms in PostgreSQL: its own database does not make a
//! message durable before the acknowledgement.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::{postgresql, started};
use crate::load::run::Stage;
use crate::messenger::ejabberd::{Ejabberd, HOST, PASSWORD};
use crate::peers::kind::find;
use crate::server::Server;
use crate::server::peer::{PeerProcess, Ready, free_port, run, write};

const DATABASE: &str = "ejabberd";
const SCHEMA: &str = "/usr/share/ejabberd/sql/pg.sql";
const PROVIDED: &str = "apt-get install ejabberd erlang-p1-pgsql";

/// Creates accounts for new users.
pub(super) struct Accounts {
    postgresql: PathBuf,
    database: SocketAddr,
}

/// Not started with its own script, which needs the folders and the user of its package.
pub(super) fn start(postgresql: &Path, data: &Path) -> anyhow::Result<(Server, Accounts)> {
    let erlang = find(None, &["erl"], PROVIDED)?;
    let schema = find(Some(Path::new(SCHEMA)), &[], PROVIDED)?;
    let libraries = libraries().with_context(|| format!("cannot find ejabberd: {PROVIDED}"))?;
    let mut peer = PeerProcess::new(data)?;
    let database = postgresql::start(&mut peer, postgresql)?;
    let psql = |database_name| postgresql::psql(postgresql, database, database_name);
    run(psql("postgres").args(["-c", &format!("CREATE DATABASE {DATABASE}")]))?;
    run(psql(DATABASE).arg("-f").arg(schema))?;

    let address = free_port()?;
    let folder = peer.folder().to_owned();
    let config = folder.join("ejabberd.yml");
    write(&config, &configuration(address, database))?;
    let mut command = Command::new(erlang);
    command.args(["-noinput", "+K", "true", "+P", "250000", "+Q", "250000", "-mnesia", "dir"]);
    command.arg(format!("\"{}\"", folder.join("mnesia").display())).args(["-s", "ejabberd"]);
    command.env("ERL_LIBS", libraries).env("EJABBERD_CONFIG_PATH", &config);
    command.env("EJABBERD_LOG_PATH", folder.join("ejabberd.log")).env("HOME", &folder).current_dir(&folder);
    let server = started(peer, command, Ready::Port(address), address)?;
    Ok((server, Accounts { postgresql: postgresql.to_owned(), database }))
}

pub(super) fn messenger(
    stage: &Stage,
    accounts: &Accounts,
    users: u32,
    run_name: String,
) -> anyhow::Result<Ejabberd> {
    let insert = format!(
        "INSERT INTO users (username, password) SELECT '{run_name}u' || n, '{PASSWORD}' FROM generate_series(0, {users}) n"
    );
    run(postgresql::psql(&accounts.postgresql, accounts.database, DATABASE).args(["-c", &insert]))?;
    Ok(Ejabberd::new(stage.server.address(), users, run_name))
}

/// The folder that contains ejabberd's library folder.
fn libraries() -> Option<PathBuf> {
    let machines = Path::new("/usr/lib").read_dir().ok()?.filter_map(Result::ok).map(|entry| entry.path());
    machines.into_iter().find(|folder| {
        let names = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
        names.into_iter().any(|entry| {
            entry.file_name().to_string_lossy().starts_with("ejabberd-")
                && entry.path().join("ebin/ejabberd.app").is_file()
        })
    })
}

/// Archives all messages. Rooms do not announce joining users, which would dominate the run with a thousand members.
fn configuration(address: SocketAddr, database: SocketAddr) -> String {
    let (port, ip) = (address.port(), address.ip());
    let (database_port, database_ip, user) = (database.port(), database.ip(), postgresql::USER);
    format!(
        r#"hosts: ["{HOST}"]
loglevel: error
listen:
  - port: {port}
    ip: "{ip}"
    module: ejabberd_http
    request_handlers:
      /ws: ejabberd_http_ws
auth_method: sql
auth_password_format: plain
default_db: sql
sql_type: pgsql
sql_server: "{database_ip}"
sql_port: {database_port}
sql_database: "{DATABASE}"
sql_username: "{user}"
sql_password: "{user}"
sql_pool_size: 50
max_fsm_queue: 100000
modules:
  mod_stream_mgmt:
    max_ack_queue: 100000
  mod_mam:
    default: always
    assume_mam_usage: true
  mod_muc:
    max_users: 5000
    default_room_options:
      mam: true
      max_users: 5000
      presence_broadcast: []
"#
    )
}
