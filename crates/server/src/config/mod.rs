//! What an operator can set.
//!
//! - this file: the settings, each with its default, and what follows from several of them
//! - [`location`], [`cluster_url`]: addresses and places, parsed once
//! - [`cassandra`]: the way to a cluster
//! - [`cluster`]: how several servers hear of each other
//! - [`load`]: from a file, the environment and flags to one [`Config`]
//! - [`check`]: whether the server could start with it
//! - [`print`](mod@print): the whole of it as a file, without its secrets
//!
//! Every setting has a default, so that none has to be given. Its unit is in its name.

pub mod cassandra;
pub mod check;
pub mod cluster;
pub mod cluster_url;
pub mod load;
pub mod location;
pub mod print;

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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub server: ServerConfig,
    pub store: StoreConfig,
    pub cluster: ClusterConfig,
    pub auth: AuthConfig,
    pub messages: MessageConfig,
    pub groups: GroupConfig,
    pub rates: RateConfig,
    pub admission: AdmissionConfig,
    pub socket: SocketConfig,
    pub metrics: MetricsConfig,
    pub log: LogConfig,
}

impl Config {
    /// The folder in which this server keeps what it has on disk, the admin socket included.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// Address and port; port 0 picks a free one.
    pub listen: ListenAddress,
    /// The data folder; that of the embedded store when absent, `./data` when that is absent too. A server on Cassandra has
    /// its admin socket there.
    pub data: Option<PathBuf>,
    /// Open connections, sockets included. When there are as many, the anonymous one that has been idle longest makes room
    /// for the next, or else one with authenticated requests; when all are signed-in sockets, further ones are refused.
    pub max_connections: usize,
    /// The same for one address (an IPv4 address, or an IPv6 network of 64 bits). Behind a proxy, with
    /// `trust_forwarded_for`, limits for addresses and networks count sockets only, by the address that the proxy names.
    pub connections_per_address_max: usize,
    /// The same for one network (IPv4 /24, IPv6 /48).
    pub connections_per_network_max: usize,
    /// Connections on which no valid token was seen, sockets that are not signed in included. The one that has been idle
    /// longest goes when another one comes.
    pub anonymous_max: usize,
    pub anonymous_per_address_max: usize,
    pub anonymous_per_network_max: usize,
    /// Bytes of request bodies without a valid token that are on their way. When there are more, the body that has been
    /// arriving longest is given up.
    pub anonymous_body_bytes_max: usize,
    pub anonymous_body_bytes_per_network_max: usize,
    /// The same as `idle_timeout_ms` on connections without a valid token. Not for those of a proxy.
    pub anonymous_idle_timeout_ms: u64,
    /// From the connection to the end of the first request's head.
    pub header_timeout_ms: u64,
    /// From one request of a connection to the end of the next one's head.
    pub idle_timeout_ms: u64,
    /// How long a peer may take nothing of what is written to it.
    pub write_timeout_ms: u64,
    /// How long requests that are under way may take when the server stops.
    pub stop_timeout_ms: u64,
    /// Takes the client's address from the last entry of `X-Forwarded-For`, so that exactly one proxy is trusted. Behind a
    /// proxy it must be set, and the proxy must set the header: otherwise all clients share the limits of the proxy's address.
    /// Without a proxy it must not be: otherwise clients choose their address and with it their rate limits.
    pub trust_forwarded_for: bool,
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
            stop_timeout_ms: 10_000,
            trust_forwarded_for: false,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreConfig {
    /// `embedded:DIR` or `cassandra://[USER:PASSWORD@]HOST[:PORT],…/KEYSPACE`; the embedded store in the data folder when
    /// absent.
    pub url: Option<StoreLocation>,
    pub embedded: EmbeddedConfig,
    pub cassandra: CassandraConfig,
}

/// Memory and disk of the embedded store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddedConfig {
    /// What was read from disk and is kept in memory.
    pub cache_mib: u64,
    /// What was written is gathered in memory up to this size, in each of three tables.
    pub memtable_mib: u64,
    /// What is read again after a crash; it bounds the time of that start.
    pub journal_mib: u64,
}

impl Default for EmbeddedConfig {
    fn default() -> Self {
        Self { cache_mib: 64, memtable_mib: 64, journal_mib: 256 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuthConfig {
    pub registration: Registration,
    /// Whether people sign in with passwords. If not, they need tokens of the application.
    pub passwords_enabled: bool,
    /// Handles that people cannot take, with or without dots and underscores in them. `godwit user add` gives them.
    pub reserved_handles: Vec<String>,
    pub passwords: PasswordConfig,
    pub tokens: TokenConfig,
    /// Tokens of the application that embeds this server.
    pub application: ApplicationConfig,
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

/// Names by which people would take somebody for the operator, for the server, or for everybody.
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

/// Whether people can make accounts by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    Open,
    /// Only the operator makes accounts, with `godwit user add`.
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MessageConfig {
    /// How long after it was sent a message can be edited; 0 for ever.
    pub edit_window_secs: u32,
    /// Whether owners and admins may edit what others wrote in groups and channels.
    pub admins_may_edit: bool,
    /// Members up to whom each one's inbox is written with every message. Conversations that have more are completed when
    /// they are read, and stay so. At most 4,000: up to there a conversation that is opened shows how far each has read.
    pub fan_out_members_max: u32,
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

/// What one user may do in a day; 0 for any number. What is used comes back little by little.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GroupConfig {
    /// People whom one user adds to groups and channels.
    pub added_per_day_max: u32,
    /// Those among them who have never written to that user.
    pub strangers_added_per_day_max: u32,
    /// Groups and channels that one user makes.
    pub made_per_day_max: u32,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SocketConfig {
    /// A socket that has been silent for this long is asked whether it is there.
    pub heartbeat_ms: u32,
    /// From the opening of a socket to its sign-in.
    pub sign_in_within_ms: u32,
    /// Frames that may wait for one socket. Who does not read them in time is disconnected and resumes.
    pub queue_frames_max: usize,
    /// Bytes that may wait for one socket.
    pub queue_bytes_max: usize,
    /// Sockets of one user on this server. A further one takes the place of the oldest, those that are silent first.
    pub per_user_max: usize,
    /// The same for one device: the tabs of a browser are one.
    pub per_device_max: usize,
}

impl Default for SocketConfig {
    fn default() -> Self {
        Self {
            heartbeat_ms: 30_000,
            sign_in_within_ms: 10_000,
            queue_frames_max: 1_024,
            queue_bytes_max: 1024 * 1024,
            per_user_max: 64,
            per_device_max: 32,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsConfig {
    /// Where Prometheus reads the metrics, at `/metrics`; nowhere when absent. Whoever can reach it can read them, so it is an
    /// address of this machine or of an inner network, such as 127.0.0.1:9464. Port 0 picks a free one.
    pub listen: Option<ListenAddress>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug` or `trace`; or more for a part, as in `info,godwit_server=debug`.
    pub level: String,
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
