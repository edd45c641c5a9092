//! The settings of an operator.
//!
//! - this file: the settings with their defaults, and values derived from several of them
//! - [`location`], [`cluster_url`]: addresses and locations, parsed once
//! - [`cassandra`]: the connection to a Cassandra cluster
//! - [`cluster`]: settings for several servers on one store
//! - [`load`]: loads a [`Config`] from a file, the environment and flags
//! - [`check`]: whether the server could start with it
//! - [`settings`]: the comment of each setting, from the doc comment of its field
//! - [`print`](mod@print): prints everything as a file, with these comments and without secrets
//!
//! Every setting has a default. Its unit is part of its name.

pub mod cassandra;
pub mod check;
pub mod cluster;
pub mod cluster_url;
pub mod load;
pub mod location;
pub mod print;
pub mod settings;

use std::path::{Path, PathBuf};

use godwit_domain::actions::MessagePolicy;
use godwit_domain::allowances::AddingPolicy;
use serde::{Deserialize, Serialize};

use crate::admission::AdmissionConfig;
use crate::auth::{ApplicationConfig, PasswordConfig, TokenConfig};
use crate::rate::RateConfig;

pub use cassandra::{CassandraConfig, Copies, Level, SerialLevel};
pub use cluster::ClusterConfig;
pub use cluster_url::ClusterUrl;
pub use load::{ConfigError, Sources};
pub use location::{ListenAddress, StoreLocation};

use location::DATA_FOLDER;
use settings::settings;

settings! {
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Config {
        /// The HTTP server: addresses, connections and timeouts.
        pub server: ServerConfig,
        /// Where the data is.
        pub store: StoreConfig,
        /// How several servers on one store find and tell each other.
        pub cluster: ClusterConfig,
        /// Accounts, passwords and tokens.
        pub auth: AuthConfig,
        /// What people may do with messages.
        pub messages: MessageConfig,
        /// What one user may do with groups and channels in a day; 0 means no limit. Used-up allowance returns
        /// gradually.
        pub groups: GroupConfig,
        /// Rate limits. `burst` requests may come at once, then `per_minute`; `per_minute = 0` switches a limit off,
        /// and without `burst` it equals `per_minute`. Many people can share one address, so limits per address are
        /// wide. An address is an IPv4 address or an IPv6 /64; a network is an IPv4 /24 or an IPv6 /48.
        pub rates: RateConfig,
        /// Queues in front of expensive work. Requests that cannot be served in time are refused with `retry_after`.
        pub admission: AdmissionConfig,
        /// WebSocket connections.
        pub socket: SocketConfig,
        /// Prometheus metrics.
        pub metrics: MetricsConfig,
        /// The log, which goes to stderr.
        pub log: LogConfig,
    }
}

impl Config {
    /// The folder for all files of this server, including the admin socket.
    pub fn data_folder(&self) -> &Path {
        match (&self.server.data, &self.store.url) {
            (Some(folder), _) | (None, Some(StoreLocation::Embedded(folder))) => folder,
            (None, _) => Path::new(DATA_FOLDER),
        }
    }

    pub fn store_location(&self) -> StoreLocation {
        self.store.url.clone().unwrap_or_else(|| StoreLocation::Embedded(self.data_folder().to_owned()))
    }
}

settings! {
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ServerConfig {
        /// The address and port that clients connect to. Port 0 picks a free one.
        pub listen: ListenAddress,
        /// The data folder. Default: the folder of the embedded store, or `./data`. A server on Cassandra keeps its
        /// admin socket there.
        pub data: Option<PathBuf>,
        /// Maximum number of open connections, sockets included. When it is reached, the server closes the anonymous
        /// connection that has been idle longest, or else one with authenticated requests. If all are signed-in
        /// sockets, it refuses new connections.
        pub max_connections: usize,
        /// Maximum number of connections per address (an IPv4 address or an IPv6 /64 network). With
        /// `trust_forwarded_for`, limits for addresses and networks count only sockets, by the address that the proxy
        /// names.
        pub connections_per_address_max: usize,
        /// Maximum number of connections per network (IPv4 /24, IPv6 /48).
        pub connections_per_network_max: usize,
        /// Maximum number of connections without a valid token, including sockets that are not signed in. A new one
        /// evicts the one that has been idle longest.
        pub anonymous_max: usize,
        /// Maximum number of connections without a valid token per address.
        pub anonymous_per_address_max: usize,
        /// Maximum number of connections without a valid token per network.
        pub anonymous_per_network_max: usize,
        /// Maximum number of bytes of unfinished request bodies without a valid token. When there are more, the server
        /// drops the body that has been arriving longest.
        pub anonymous_body_bytes_max: usize,
        /// The same, per network.
        pub anonymous_body_bytes_per_network_max: usize,
        /// Like `idle_timeout_ms`, for connections without a valid token. Does not apply to connections of a proxy.
        pub anonymous_idle_timeout_ms: u64,
        /// Time limit from the connection to the end of the first request's headers.
        pub header_timeout_ms: u64,
        /// Time limit from one request of a connection to the end of the next one's headers.
        pub idle_timeout_ms: u64,
        /// How long the server waits until a client has read 32 KiB of an answer, or all of it.
        pub write_timeout_ms: u64,
        /// Maximum number of bytes of answers that wait until the clients of all connections have read them. Above it,
        /// connections of the user for whom most waits are closed. `socket.answers_bytes_max` is the same for sockets.
        pub answers_bytes_max: usize,
        /// How long requests in flight may take when the server stops.
        pub stop_timeout_ms: u64,
        /// Take the client's address from the last entry of `X-Forwarded-For`, so that exactly one proxy is trusted.
        /// Set it behind a proxy that sets the header: otherwise all clients share the limits of the proxy's address.
        /// Without a proxy it must be false: otherwise clients choose their address and with it their rate limits. Not set:
        /// false, with a warning if `listen` is reachable from other machines.
        pub trust_forwarded_for: Option<bool>,
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: ListenAddress::default(),
            data: None,
            max_connections: 100_000,
            connections_per_address_max: 10_000,
            connections_per_network_max: 25_000,
            anonymous_max: 8_192,
            anonymous_per_address_max: 1_024,
            anonymous_per_network_max: 4_096,
            anonymous_body_bytes_max: 64 * 1024 * 1024,
            anonymous_body_bytes_per_network_max: 8 * 1024 * 1024,
            anonymous_idle_timeout_ms: 5_000,
            header_timeout_ms: 10_000,
            idle_timeout_ms: 75_000,
            write_timeout_ms: 30_000,
            answers_bytes_max: 512 * 1024 * 1024,
            stop_timeout_ms: 10_000,
            trust_forwarded_for: None,
        }
    }
}

impl ServerConfig {
    pub fn trusts_forwarded_for(&self) -> bool {
        self.trust_forwarded_for.unwrap_or(false)
    }
}

settings! {
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct StoreConfig {
        /// `embedded:DIR` or `cassandra://[USER:PASSWORD@]HOST[:PORT],…/KEYSPACE`. Default: the embedded store in the
        /// data folder.
        pub url: Option<StoreLocation>,
        /// Memory and disk of the embedded store.
        pub embedded: EmbeddedConfig,
        /// The connection to Cassandra or ScyllaDB. `store.url` says where it is.
        pub cassandra: CassandraConfig,
    }
}

settings! {
    /// Memory and disk of the embedded store.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct EmbeddedConfig {
        /// Memory for data that was read from disk, in MiB.
        pub cache_mib: u64,
        /// Memory for new data before it is flushed to disk, in MiB, for each of three tables.
        pub memtable_mib: u64,
        /// Size of the journal, in MiB. The server replays it after a crash, so it bounds the time of that start.
        pub journal_mib: u64,
        /// Free space of the disk, in MiB, below which the server stores nothing new and refuses with `unavailable`; reads
        /// continue, and so does what takes something away, such as deletions. At half of it, it refuses every write. A
        /// journal that finds no room ends the server. 0 switches it off.
        pub free_disk_mib_min: u64,
    }
}

impl Default for EmbeddedConfig {
    fn default() -> Self {
        Self { cache_mib: 64, memtable_mib: 64, journal_mib: 256, free_disk_mib_min: 512 }
    }
}

settings! {
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct AuthConfig {
        /// `open`: people can create accounts. `closed`: only the operator can, with `godwit user add`.
        pub registration: Registration,
        /// Whether people sign in with passwords. Otherwise they need tokens of the application.
        pub passwords_enabled: bool,
        /// Handles that people cannot register, nor handles that look like them (`adm1n`, `ad.min`). `godwit user add` can
        /// assign them.
        pub reserved_handles: Vec<String>,
        /// How passwords are hashed. The defaults are the OWASP recommendation for argon2id. Passwords that were hashed
        /// with other settings remain valid.
        pub passwords: PasswordConfig,
        /// Lifetimes of this server's tokens.
        pub tokens: TokenConfig,
        /// Tokens of the application that embeds this server. Without a key none are accepted. Set exactly one kind of
        /// key.
        pub application: ApplicationConfig,
    }
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            registration: Registration::Open,
            passwords_enabled: true,
            reserved_handles: RESERVED_HANDLES.iter().copied().map(str::to_owned).collect(),
            passwords: PasswordConfig::default(),
            tokens: TokenConfig::default(),
            application: ApplicationConfig::default(),
        }
    }
}

/// Names that people could mistake for the operator, the server, or everybody.
const RESERVED_HANDLES: &[&str] = &[
    "abuse",
    "admin",
    "administrator",
    "anonymous",
    "billing",
    "channel",
    "contact",
    "deleted",
    "everybody",
    "everyone",
    "godwit",
    "group",
    "help",
    "helpdesk",
    "here",
    "hostmaster",
    "info",
    "moderator",
    "noreply",
    "null",
    "official",
    "operator",
    "postmaster",
    "root",
    "security",
    "server",
    "service",
    "staff",
    "support",
    "sysadmin",
    "system",
    "undefined",
    "unknown",
    "webmaster",
];

/// Whether people can create accounts on their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    Open,
    /// Only the operator makes accounts, with `godwit user add`.
    Closed,
}

settings! {
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct MessageConfig {
        /// How long after sending a message can be edited, in seconds; 0 means for ever.
        pub edit_window_secs: u32,
        /// Whether owners and admins may edit other people's messages in groups and channels.
        pub admins_may_edit: bool,
        /// Up to this many members, every message updates each member's inbox. Larger conversations are computed when
        /// they are read, and stay so even if they shrink. At most 4,000: up to there an opened conversation shows how
        /// far each member has read.
        pub fan_out_members_max: u32,
    }
}

impl Default for MessageConfig {
    fn default() -> Self {
        Self { edit_window_secs: 48 * 60 * 60, admins_may_edit: false, fan_out_members_max: 500 }
    }
}

impl MessageConfig {
    pub fn policy(&self) -> MessagePolicy {
        let window_ms = i64::from(self.edit_window_secs) * 1_000;
        MessagePolicy {
            edit_window_ms: (window_ms > 0).then_some(window_ms),
            admins_may_edit: self.admins_may_edit,
            fan_out_members_max: self.fan_out_members_max,
        }
    }
}

settings! {
    /// What one user may do in a day; 0 means no limit.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct GroupConfig {
        /// People that one user may add to groups and channels per day.
        pub added_per_day_max: u32,
        /// How many of them may be people who have never written to that user. New direct conversations count too.
        pub strangers_added_per_day_max: u32,
        /// Groups and channels that one user may create per day.
        pub made_per_day_max: u32,
    }
}

impl Default for GroupConfig {
    fn default() -> Self {
        let AddingPolicy { members_per_day_max, strangers_per_day_max, groups_per_day_max } =
            AddingPolicy::default();
        Self {
            added_per_day_max: members_per_day_max,
            strangers_added_per_day_max: strangers_per_day_max,
            made_per_day_max: groups_per_day_max,
        }
    }
}

impl GroupConfig {
    pub const fn policy(&self) -> AddingPolicy {
        AddingPolicy {
            members_per_day_max: self.added_per_day_max,
            strangers_per_day_max: self.strangers_added_per_day_max,
            groups_per_day_max: self.made_per_day_max,
        }
    }
}

settings! {
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct SocketConfig {
        /// The server pings a socket that has been silent for this long.
        pub heartbeat_ms: u32,
        /// Time limit from the opening of a socket to its sign-in.
        pub sign_in_within_ms: u32,
        /// Maximum number of frames that wait for one socket. A client that reads too slowly is disconnected and
        /// resumes.
        pub queue_frames_max: usize,
        /// Maximum number of bytes that wait for one socket.
        pub queue_bytes_max: usize,
        /// Maximum number of bytes of answers that wait for all sockets together. Above it, sockets of the user for whom most
        /// waits are disconnected, and resume. Events do not count: sockets share them.
        pub answers_bytes_max: usize,
        /// Maximum number of sockets of one user on this server. A new one replaces the oldest, silent ones first.
        pub per_user_max: usize,
        /// Maximum number of sockets of one device. All tabs of a browser are one device.
        pub per_device_max: usize,
    }
}

impl Default for SocketConfig {
    fn default() -> Self {
        Self {
            heartbeat_ms: 30_000,
            sign_in_within_ms: 10_000,
            queue_frames_max: 1_024,
            queue_bytes_max: 1024 * 1024,
            answers_bytes_max: 512 * 1024 * 1024,
            per_user_max: 64,
            per_device_max: 32,
        }
    }
}

settings! {
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct MetricsConfig {
        /// Where Prometheus reads the metrics, at `/metrics`. Not set: nowhere. Everyone who can connect can read them,
        /// so use an address of this machine or of an internal network, such as 127.0.0.1:9464. Port 0 picks a free
        /// one.
        pub listen: Option<ListenAddress>,
    }
}

settings! {
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct LogConfig {
        /// `text` or `json`.
        pub format: LogFormat,
        /// `error`, `warn`, `info`, `debug` or `trace`; or more for one part, such as `info,godwit_server=debug`.
        pub level: String,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, level: "info".into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_for_messages_are_those_of_the_domain() {
        assert_eq!(MessageConfig::default().policy(), MessagePolicy::default());
        let for_ever = MessageConfig { edit_window_secs: 0, ..MessageConfig::default() };
        assert_eq!(for_ever.policy().edit_window_ms, None);
    }
}
