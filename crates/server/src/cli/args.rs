//! Commands and flags.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use godwit_cluster::RedisAddress;

use crate::config::load::Override;
use crate::config::{Config, ConfigError, ListenAddress, Sources, StoreLocation};

const ABOUT: &str = "\
Godwit is a messenger server with an HTTP and WebSocket API. It keeps its data in one folder, or in a Cassandra or
ScyllaDB cluster that any number of servers share.

Start it with `godwit serve`, add a user with `godwit user add`, and open /docs in a browser.";

const EXAMPLES: &str = "\
Examples:
  godwit serve                                 on 127.0.0.1:8080, data in ./data
  godwit serve --listen 0.0.0.0:80 --data /var/lib/godwit
  godwit serve --set auth.registration=closed  only the operator can create accounts
  godwit user add ada --name 'Ada Lovelace'    asks for a password, or generates one
  godwit demo                                  adds sample people and conversations
  godwit config print > godwit.toml            every setting, explained, with its value
  godwit serve --store cassandra://db1,db2     data on a Cassandra cluster
  godwit serve --store cassandra://db1,db2 --redis redis://cache
                                               one of several servers on it
  godwit cluster status --store cassandra://db1,db2 --redis redis://cache
  godwit schema status --store cassandra://db1 shows the version of its tables
  godwit transfer --from embedded:./data --to cassandra://db1,db2
                                               transfers the data while the server runs

Settings come from godwit.toml in the working directory (or --config FILE), from environment variables such as
GODWIT_SERVER__LISTEN, and from flags. Flags override variables, and variables override the file.";

#[derive(Debug, Parser)]
#[command(
    name = "godwit",
    version,
    about = "A messenger server in one binary",
    long_about = ABOUT,
    after_long_help = EXAMPLES,
    after_help = "Run `godwit --help` for examples, and `godwit COMMAND --help` for details.",
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(flatten)]
    pub(super) settings: Settings,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(super) struct Settings {
    /// Configuration file [default: godwit.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE", env = "GODWIT_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,

    /// Data folder [default: ./data]
    ///
    /// Only one server at a time can use it. Commands reach a running server through it.
    #[arg(long, global = true, value_name = "DIR", env = "GODWIT_DATA", hide_env_values = true)]
    data: Option<PathBuf>,

    /// Where the data is: embedded:DIR, or cassandra://HOST,…/KEYSPACE [default: embedded, in the data folder]
    ///
    /// A host may have a port (db1:9043). The default keyspace is godwit. USER:PASSWORD@ may precede the hosts, but
    /// GODWIT_STORE__CASSANDRA__PASSWORD is safer, because other users of the machine cannot see it.
    #[arg(long, global = true, value_name = "URL", env = "GODWIT_STORE", hide_env_values = true)]
    store: Option<StoreLocation>,

    /// Any other setting, such as rates.send_per_user.per_minute=600; repeatable
    ///
    /// `godwit config print` lists all settings.
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = parse_setting)]
    set: Vec<(String, String)>,
}

/// Flags of commands that concern a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(super) struct ServerFlags {
    /// Address and port; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS", env = "GODWIT_LISTEN", hide_env_values = true)]
    listen: Option<ListenAddress>,

    /// Redis that connects several servers on one store: redis://HOST:PORT; a single server needs none
    ///
    /// Or redis+sentinel://HOST:PORT,…/MASTER, or redis+cluster://HOST:PORT,…; USER:PASSWORD@ may precede the hosts.
    /// rediss, rediss+sentinel and rediss+cluster use TLS.
    #[arg(long, value_name = "URL", env = "GODWIT_REDIS", hide_env_values = true)]
    redis: Option<RedisAddress>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Start the server
    ///
    /// The server runs in the foreground and writes its log to stderr. The first SIGTERM or SIGINT (Ctrl-C) stops it
    /// gracefully: it finishes requests in flight and tells clients to reconnect. A second one stops it at once. Either
    /// way, no acknowledged message is lost.
    Serve(ServerFlags),

    /// Add, list and disable users, and set their passwords
    ///
    /// Works whether or not the server runs: the command reaches a running server through its data folder.
    #[command(subcommand)]
    User(UserCommand),

    /// Fill an empty store with sample people and conversations
    ///
    /// Adds people, groups and their messages of the last four weeks, and prints how to sign in. Stop the server first.
    Demo,

    /// Create, inspect or migrate the tables of a Cassandra store
    ///
    /// `godwit serve` creates and migrates them on its own unless store.cassandra.migrate_at_start is false. The embedded
    /// store has no schema.
    #[command(subcommand)]
    Schema(SchemaCommand),

    /// Transfer all data from one store to another while servers run
    ///
    /// Copies everything, compares both stores, and switches. A server on the embedded store then continues on the new
    /// store. Servers on Cassandra stop: start them with the new --store. To resume an interrupted transfer, run the same
    /// command again.
    Transfer(TransferFlags),

    /// Show the servers that share a store
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
    /// Add a user, even if registration is closed
    ///
    /// Asks for the password on a terminal, or reads it from stdin with --password-stdin. Otherwise, or if the answer is
    /// empty, generates a strong password and prints it.
    Add {
        /// 3 to 32 characters of a-z 0-9 _ and .
        handle: String,
        /// Name that others see [default: the handle]
        #[arg(long)]
        name: Option<String>,
        /// Read the password from the first line of stdin
        #[arg(long)]
        password_stdin: bool,
    },
    /// List all users
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Disable a user: end every session and close every socket
    Disable {
        handle: String,
        /// Enable the user again
        #[arg(long)]
        enable: bool,
    },
    /// Set a user's password and end all of the user's sessions
    ///
    /// Asks for the password on a terminal, or reads it from stdin with --password-stdin. Otherwise, or if the answer is
    /// empty, generates a strong password and prints it.
    Passwd {
        handle: String,
        /// Read the password from the first line of stdin
        #[arg(long)]
        password_stdin: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SchemaCommand {
    /// Create the keyspace if it does not exist, and migrate it to the newest version
    Create {
        /// Delete the keyspace with all its data first (for development)
        #[arg(long)]
        fresh: bool,
        /// Delete without asking
        #[arg(long, requires = "fresh")]
        yes: bool,
    },
    /// Show the version and replication of the keyspace, and what to do
    Status,
    /// Migrate an existing keyspace to the newest version
    ///
    /// Migrations are online: servers of the previous version keep running, and several machines may migrate at once.
    Migrate,
    /// Print the whole schema as CQL, without connecting to a Cassandra cluster
    Print,
}

#[derive(Debug, Args)]
pub(super) struct TransferFlags {
    /// Source store: embedded:DIR or cassandra://HOST,…/KEYSPACE
    #[arg(long, value_name = "URL")]
    pub(super) from: StoreLocation,

    /// Target store, which must be empty
    #[arg(long, value_name = "URL", required_unless_present = "abandon")]
    pub(super) to: Option<StoreLocation>,

    /// Give up an interrupted transfer; the data stays in the source store
    #[arg(long, conflicts_with = "to")]
    abandon: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ClusterCommand {
    /// Show each server with its addresses, uptime, clients and load
    Status {
        #[command(flatten)]
        flags: ServerFlags,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print every setting with a comment and its value, as a configuration file; secrets are hidden
    Print(ServerFlags),
    /// Check the settings; prints one line per problem, and exits with 1 if there is one
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
    fn the_command_line_is_consistent() {
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
    fn invalid_flags_are_refused() {
        for line in [
            "godwit serve --listen here",
            "godwit serve --store somewhere",
            "godwit serve --set speed",
            "godwit user list --listen 127.0.0.1:1",
            "godwit user add",
            "godwit schema create --yes",
            "godwit schema dance",
            "godwit serve --store cassandra://",
            "godwit transfer --from embedded:x",
            "godwit transfer --from embedded:x --to embedded:y --abandon",
            "godwit dance",
        ] {
            assert!(Cli::try_parse_from(line.split(' ')).is_err(), "{line} was accepted");
        }
    }
}
