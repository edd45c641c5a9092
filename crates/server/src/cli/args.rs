//! Commands and flags.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use godwit_cluster::RedisAddress;

use crate::config::load::Override;
use crate::config::{Config, ConfigError, ListenAddress, Sources, StoreLocation};

const ABOUT: &str = "\
Godwit is a messenger server: HTTP and WebSocket in front, one folder of data behind, nothing beside it. Or a Cassandra
or ScyllaDB cluster behind, and any number of servers.

Start it with `godwit serve`, make a user with `godwit user add`, and open /docs in a browser.";

const EXAMPLES: &str = "\
Examples:
  godwit serve                                 on 127.0.0.1:8080, data in ./data
  godwit serve --listen 0.0.0.0:80 --data /var/lib/godwit
  godwit serve --set auth.registration=closed  only the operator makes accounts
  godwit user add ada --name 'Ada Lovelace'    asks for a password, or makes one
  godwit demo                                  people and conversations to look around in
  godwit config print > godwit.toml            every setting with its value
  godwit serve --store cassandra://db1,db2     on a cluster
  godwit serve --store cassandra://db1,db2 --redis redis://cache
                                               one of any number of servers on it
  godwit cluster status --store cassandra://db1,db2 --redis redis://cache
  godwit schema status --store cassandra://db1 which version its tables have
  godwit move --from embedded:./data --to cassandra://db1,db2
                                               from one machine to many, while it serves

Settings come from godwit.toml in the working directory (or --config FILE), from variables such as
GODWIT_SERVER__LISTEN, and from flags; later ones win.";

#[derive(Debug, Parser)]
#[command(
    name = "godwit",
    version,
    about = "A messenger server in one binary",
    long_about = ABOUT,
    after_long_help = EXAMPLES,
    after_help = "`godwit --help` says more, `godwit COMMAND --help` most.",
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(flatten)]
    pub(super) settings: Settings,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Flags that every command has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(super) struct Settings {
    /// Configuration file [default: godwit.toml, if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "GODWIT_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,

    /// Folder of the data [default: ./data]
    ///
    /// One server at a time has it open. Commands for users reach a running server through it.
    #[arg(long, global = true, value_name = "DIR", env = "GODWIT_DATA", hide_env_values = true)]
    data: Option<PathBuf>,

    /// Where the messages are: embedded:DIR, or cassandra://HOST,…/KEYSPACE [default: embedded, in the data folder]
    ///
    /// A host may have a port (db1:9043), a keyspace need not be named (godwit), and USER:PASSWORD@ may stand before the
    /// hosts; better set GODWIT_STORE__CASSANDRA__PASSWORD, which others cannot see.
    #[arg(long, global = true, value_name = "URL", env = "GODWIT_STORE", hide_env_values = true)]
    store: Option<StoreLocation>,

    /// Any other setting, such as rates.send_per_user.per_minute=600; can be given several times
    ///
    /// `godwit config print` shows all of them.
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,
}

/// Flags of commands that are about a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(super) struct ServerFlags {
    /// Address and port; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", env = "GODWIT_LISTEN", hide_env_values = true)]
    listen: Option<ListenAddress>,

    /// How several servers on one store hear of each other: redis://HOST:PORT; one server needs none
    ///
    /// Or redis+sentinel://HOST:PORT,…/MASTER, or redis+cluster://HOST:PORT,… with USER:PASSWORD@ before the hosts.
    #[arg(long, value_name = "URL", env = "GODWIT_REDIS", hide_env_values = true)]
    redis: Option<RedisAddress>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Start the server
    ///
    /// It runs in the foreground and writes its log to stderr. The first SIGTERM or SIGINT (Ctrl-C) stops it
    /// gracefully: requests under way end, clients are told to come back. A second one stops it at once; nothing that
    /// was acknowledged is lost either way.
    Serve(ServerFlags),

    /// Add, list, disable users, set their passwords
    ///
    /// Works whether or not the server runs: a running one is asked through its data folder.
    #[command(subcommand)]
    User(UserCommand),

    /// Fill an empty place with a small world to look around in
    ///
    /// People, groups and what they said over the last four weeks. It prints how to sign in. The server must not run yet.
    Demo,

    /// Make, look at or migrate the tables of a Cassandra store
    ///
    /// `godwit serve` does it by itself unless store.cassandra.migrate_at_start is false. The embedded store needs none.
    #[command(subcommand)]
    Schema(SchemaCommand),

    /// Move all data from one store to another, while servers go on
    ///
    /// Copies everything, compares both sides, and switches: a server on the embedded store goes on at the new place by itself;
    /// servers on a cluster stop, and are started with the new --store. What was interrupted goes on when the same command is
    /// given again.
    Move(MoveFlags),

    /// Look at the servers that share a store
    #[command(subcommand)]
    Cluster(ClusterCommand),

    /// Show or check the settings
    #[command(subcommand)]
    Config(ConfigCommand),

    /// Print a completion script for a shell
    ///
    /// For example: godwit completions bash > ~/.local/share/bash-completion/completions/godwit
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Make a user, also where registration is closed
    ///
    /// The password is read from stdin, or asked for on a terminal; otherwise, or if the answer is empty, a good one
    /// is made and printed.
    Add {
        /// 3 to 32 characters of a-z 0-9 _ and .
        handle: String,
        /// What others see [default: the handle]
        #[arg(long)]
        name: Option<String>,
        /// Read the password from the first line of stdin
        #[arg(long)]
        password_stdin: bool,
    },
    /// List all users
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Keep a user out: ends every session, closes every socket
    Disable {
        handle: String,
        /// Let the user in again
        #[arg(long)]
        enable: bool,
    },
    /// Set a password and end every session of the user
    ///
    /// The password is read from stdin, or asked for on a terminal; otherwise, or if the answer is empty, a good one
    /// is made and printed.
    Passwd {
        handle: String,
        /// Read the password from the first line of stdin
        #[arg(long)]
        password_stdin: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SchemaCommand {
    /// Make the keyspace if there is none, and bring it to the newest version
    Create {
        /// Delete the keyspace first, with everything in it: for development
        #[arg(long)]
        fresh: bool,
        /// Do not ask before deleting
        #[arg(long, requires = "fresh")]
        yes: bool,
    },
    /// Say which version the keyspace has, how many copies, and what to do
    Status,
    /// Bring a keyspace that exists to the newest version
    ///
    /// Migrations are online: servers of the version before go on meanwhile, and several of them may run it at once.
    Migrate,
    /// Print the whole schema as CQL; asks no cluster
    Print,
}

#[derive(Debug, Args)]
pub(super) struct MoveFlags {
    /// Where the data is: embedded:DIR or cassandra://HOST,…/KEYSPACE
    #[arg(long, value_name = "URL")]
    pub(super) from: StoreLocation,

    /// Where it is to be; nothing may be there yet
    #[arg(long, value_name = "URL", required_unless_present = "abandon")]
    pub(super) to: Option<StoreLocation>,

    /// Do not go on with a move that was interrupted: the data stays where it is
    #[arg(long, conflicts_with = "to")]
    abandon: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ClusterCommand {
    /// Show the servers: where they are, since when, how many clients they have, what they do
    Status {
        #[command(flatten)]
        flags: ServerFlags,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print every setting with its value, as a configuration file; secrets are not shown
    Print(ServerFlags),
    /// Say what is wrong with the settings, one line each; exits with 1 if something is
    Check(ServerFlags),
}

impl Settings {
    pub(super) fn load(&self, flags: Option<&ServerFlags>) -> Result<Config, ConfigError> {
        let mut sources = Sources { file: self.config.clone(), ..Sources::of_process() };
        let mut add = |flag: &str, key: &str, value: Option<String>| {
            let to_override = |value| Override { origin: flag.to_owned(), key: key.to_owned(), value };
            sources.overrides.extend(value.map(to_override));
        };
        add("--data", "server.data", self.data.as_ref().map(|path| path.to_string_lossy().into_owned()));
        add("--store", "store.url", self.store.as_ref().map(StoreLocation::reveal));
        if let Some(flags) = flags {
            add("--listen", "server.listen", flags.listen.map(|address| address.to_string()));
            add(
                "--redis",
                "cluster.redis_url",
                flags.redis.as_ref().map(|address| address.reveal().to_owned()),
            );
        }
        for (key, value) in &self.set {
            add(&format!("--set {key}"), key, Some(value.clone()));
        }
        sources.load()
    }
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn settings_may_stand_before_and_after_the_command() {
        for line in ["godwit --data x serve --listen [::]:0", "godwit serve --listen [::]:0 --data x"] {
            let Cli { settings, command } = Cli::parse_from(line.split(' '));
            let Command::Serve(flags) = command else { panic!("{line} is not serve") };
            let config = settings.load(Some(&flags)).unwrap();
            assert_eq!(config.server.listen.to_string(), "[::]:0");
            assert_eq!(config.store_location().to_string(), "embedded:x");
        }
    }

    #[test]
    fn flags_that_make_no_sense_are_refused() {
        for line in [
            "godwit serve --listen here",
            "godwit serve --store somewhere",
            "godwit serve --set speed",
            "godwit user list --listen 127.0.0.1:1",
            "godwit user add",
            "godwit schema create --yes",
            "godwit schema dance",
            "godwit serve --store cassandra://",
            "godwit move --from embedded:x",
            "godwit move --from embedded:x --to embedded:y --abandon",
            "godwit dance",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line} was accepted");
        }
    }
}
