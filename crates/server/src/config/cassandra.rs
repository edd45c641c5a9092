//! The settings of the Cassandra store.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::StoreLocation;
use super::cluster_url::Login;
use super::settings::settings;
use crate::auth::Secret;

settings! {
    /// The connection to the Cassandra cluster. `store.url` has its address.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct CassandraConfig {
        /// The data centre of this server. Default: that of the node that answers first.
        pub datacenter: Option<String>,
        /// Number of replicas: one number for every data centre, or a table such as `{ dc1 = 3 }`. Default: three, or
        /// the number of nodes if there are fewer.
        pub replication: Option<Copies>,
        /// User name for Cassandra, if it requires one.
        pub username: Option<String>,
        /// Password for Cassandra. Better set GODWIT_STORE__CASSANDRA__PASSWORD.
        pub password: Option<Secret>,
        /// Whether the server creates the keyspace at start and migrates it to the newest version. Otherwise run
        /// `godwit schema`.
        pub migrate_at_start: bool,
        /// Time limit for connecting to a node.
        pub connect_timeout_ms: u64,
        /// A node that does not answer for this long counts as down, and its requests go to other nodes.
        pub silence_max_ms: u64,
        /// Time limit for one statement, retries included.
        pub request_timeout_ms: u64,
        /// A read that has no answer after this long is also sent to another node.
        pub speculative_after_ms: u64,
        /// Maximum number of requests in flight to the Cassandra cluster. Further ones wait here, so that a burst
        /// makes it slow instead of making it fail.
        pub requests_at_once_max: usize,
        /// The server refuses to start if its clock and the cluster's differ by more. After a reconnect, `sync` looks back
        /// for twice this time and a minute: with synchronized clocks, a lower value makes it list less.
        pub clock_difference_max_ms: u64,
        /// How many replicas must answer.
        pub consistency: ConsistencyConfig,
        /// TLS to Cassandra. All files are in PEM.
        pub tls: CassandraTls,
    }
}

impl Default for CassandraConfig {
    fn default() -> Self {
        Self {
            datacenter: None,
            replication: None,
            username: None,
            password: None,
            migrate_at_start: true,
            connect_timeout_ms: 5_000,
            silence_max_ms: 3_000,
            request_timeout_ms: 10_000,
            speculative_after_ms: 200,
            requests_at_once_max: 256,
            clock_difference_max_ms: 360_000,
            consistency: ConsistencyConfig::default(),
            tls: CassandraTls::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of replicas, or a table with one number per data centre")]
pub enum Copies {
    /// In each data centre.
    Each(u8),
    In(BTreeMap<String, u8>),
}

settings! {
    /// The number of replicas that must answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ConsistencyConfig {
        /// Reads: `LOCAL_QUORUM`, `QUORUM` or `ALL`.
        pub read: Level,
        /// Writes: `LOCAL_QUORUM`, `QUORUM`, `EACH_QUORUM` or `ALL`.
        pub write: Level,
        /// Compare-and-set: `LOCAL_SERIAL` if all servers are in one data centre, otherwise `SERIAL`.
        pub serial: SerialLevel,
    }
}

impl Default for ConsistencyConfig {
    fn default() -> Self {
        Self { read: Level::LocalQuorum, write: Level::LocalQuorum, serial: SerialLevel::LocalSerial }
    }
}

/// The levels of Cassandra. [`ConsistencyConfig::problems`] says which of them keep the guarantees of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Level {
    Any,
    One,
    Two,
    Three,
    LocalOne,
    Quorum,
    LocalQuorum,
    EachQuorum,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SerialLevel {
    Serial,
    LocalSerial,
}

settings! {
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct CassandraTls {
        /// Certificates of the authorities that sign the nodes' certificates. Setting it encrypts connections.
        pub ca_file: Option<PathBuf>,
        /// This server's own certificate, if Cassandra requires one.
        pub cert_file: Option<PathBuf>,
        /// The key of `cert_file`.
        pub key_file: Option<PathBuf>,
    }
}

impl CassandraConfig {
    /// The credentials: those of the URL take precedence over those of the section.
    pub fn login(&self, url: &super::ClusterUrl) -> Option<Login> {
        let of_section = || {
            let password = self.password.clone().unwrap_or_else(|| Secret::new(""));
            self.username.clone().map(|username| Login { username, password })
        };
        url.login.clone().or_else(of_section)
    }

    /// The problems, one line each.
    pub(super) fn problems(&self, location: &StoreLocation) -> Vec<String> {
        let mut problems = Vec::new();
        if self.password.is_some() != self.username.is_some() {
            problems.push("store.cassandra: set both username and password, or neither".into());
        }
        let url_has_login = matches!(location, StoreLocation::Cassandra(url) if url.login.is_some());
        if url_has_login && self.username.is_some() {
            problems
                .push("store.cassandra.username: store.url also has a user name; remove one of them".into());
        }
        problems.extend(self.replication.as_ref().and_then(Copies::problem));
        problems.extend(self.consistency.problems(self.replication.as_ref()));
        problems.extend(self.tls.problems());
        problems
    }
}

impl Copies {
    const MAX: u8 = 32;

    fn problem(&self) -> Option<String> {
        let mut copies = match self {
            Self::Each(copies) => vec![*copies],
            Self::In(copies) => copies.values().copied().collect(),
        };
        copies.retain(|copies| !(1..=Self::MAX).contains(copies));
        let is_empty = matches!(self, Self::In(copies) if copies.is_empty());
        match copies.first() {
            Some(wrong) => {
                Some(format!("store.cassandra.replication is {wrong}, and must be from 1 to {}", Self::MAX))
            }
            None => is_empty.then(|| "store.cassandra.replication names no data centre".into()),
        }
    }

    /// With one copy all levels are equivalent.
    fn is_single(&self) -> bool {
        match self {
            Self::Each(copies) => *copies == 1,
            Self::In(copies) => copies.len() == 1 && copies.values().all(|copies| *copies == 1),
        }
    }
}

impl ConsistencyConfig {
    fn problems(self, copies: Option<&Copies>) -> Vec<String> {
        let is_single = copies.is_some_and(Copies::is_single);
        let mut problems: Vec<String> = [("read", self.read), ("write", self.write)]
            .into_iter()
            .filter_map(|(which, level)| {
                let why = level.why_not(which == "read", is_single)?;
                Some(format!("store.cassandra.consistency.{which}: {level} {why}"))
            })
            .collect();
        let is_mixed = matches!(
            (self.read, self.write),
            (Level::Quorum, Level::LocalQuorum) | (Level::LocalQuorum, Level::Quorum)
        );
        if is_mixed {
            problems.push(
                "store.cassandra.consistency: with QUORUM on one side and LOCAL_QUORUM on the other, a read can miss a \
                 write if there are several data centres; use the same for both"
                    .into(),
            );
        }
        problems
    }
}

impl Level {
    fn why_not(self, for_reading: bool, is_single: bool) -> Option<&'static str> {
        match self {
            Self::Quorum | Self::LocalQuorum | Self::All => None,
            Self::EachQuorum if !for_reading => None,
            Self::EachQuorum => Some("is for writes only; use LOCAL_QUORUM"),
            Self::One | Self::LocalOne if is_single => None,
            Self::Any => Some("acknowledges writes that no node has stored; use LOCAL_QUORUM"),
            Self::One | Self::LocalOne | Self::Two | Self::Three if for_reading => {
                Some("can miss acknowledged writes; use LOCAL_QUORUM")
            }
            Self::One | Self::LocalOne | Self::Two | Self::Three => {
                Some("can lose acknowledged writes with a node; use LOCAL_QUORUM")
            }
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl CassandraTls {
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.cert_file.is_some() != self.key_file.is_some() {
            problems.push("store.cassandra.tls: set both cert_file and key_file, or neither".into());
        }
        if self.ca_file.is_none() && (self.cert_file.is_some() || self.key_file.is_some()) {
            problems
                .push("store.cassandra.tls: without ca_file connections are not encrypted; set it".into());
        }
        let files =
            [("ca_file", &self.ca_file), ("cert_file", &self.cert_file), ("key_file", &self.key_file)];
        for (name, file) in files {
            if let Some(file) = file
                && let Err(error) = std::fs::File::open(file)
            {
                problems.push(format!("store.cassandra.tls.{name}: cannot read {}: {error}", file.display()));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(toml: &str) -> Vec<String> {
        let config: CassandraConfig = toml::from_str(toml).unwrap();
        config.problems(&"cassandra://a/b".parse().unwrap())
    }

    fn is_refused(toml: &str, part: &str) {
        let problems = problems(toml);
        assert!(problems.len() == 1 && problems[0].contains(part), "{toml}: {problems:?}");
    }

    #[test]
    fn consistency_levels_that_keep_the_guarantees_are_accepted() {
        for (read, write) in [
            ("LOCAL_QUORUM", "LOCAL_QUORUM"),
            ("QUORUM", "QUORUM"),
            ("LOCAL_QUORUM", "EACH_QUORUM"),
            ("ALL", "ALL"),
        ] {
            assert_eq!(problems(&format!("consistency = {{ read = '{read}', write = '{write}' }}")), [""; 0]);
        }
        let single = "replication = 1\nconsistency = { read = 'ONE', write = 'ONE' }";
        assert_eq!(problems(single), [""; 0]);
        assert_eq!(problems("replication = { dc1 = 3, dc2 = 2 }\nconsistency.serial = 'SERIAL'"), [""; 0]);
    }

    #[test]
    fn weaker_consistency_levels_are_refused_with_the_reason() {
        is_refused("consistency.read = 'ONE'", "consistency.read: ONE can miss");
        is_refused("consistency.write = 'ONE'", "consistency.write: ONE can lose");
        is_refused("consistency.write = 'TWO'", "can lose");
        is_refused("consistency.write = 'ANY'", "no node has stored");
        is_refused("consistency.read = 'EACH_QUORUM'", "writes only");
        is_refused("consistency.read = 'QUORUM'", "use the same for both");
        is_refused("replication = 3\nconsistency.read = 'LOCAL_ONE'", "can miss");
        is_refused("replication = { dc1 = 1, dc2 = 1 }\nconsistency.read = 'ONE'", "can miss");
        let unknown = toml::from_str::<CassandraConfig>("consistency.read = 'SOME'").unwrap_err();
        assert!(unknown.message().contains("LOCAL_QUORUM"), "{unknown}");
    }

    #[test]
    fn replication_is_a_number_or_a_table() {
        is_refused("replication = 0", "from 1 to 32");
        is_refused("replication = { dc1 = 3, dc2 = 33 }", "33");
        is_refused("replication = {}", "no data centre");
        let wrong = toml::from_str::<CassandraConfig>("replication = 'three'").unwrap_err();
        assert!(wrong.message().contains("a number of replicas, or a table"), "{wrong}");
    }

    #[test]
    fn incomplete_pairs_of_settings_are_refused() {
        is_refused("username = 'chat'", "both username and password");
        is_refused("password = 'hunter2'", "both username and password");
        is_refused("[tls]\nca_file = '/nowhere/ca.pem'", "cannot read /nowhere/ca.pem");
        assert_eq!(problems("[tls]\ncert_file = '/nowhere/c.pem'").len(), 3);
    }

    #[test]
    fn credentials_come_from_the_url_or_the_section() {
        let config: CassandraConfig = toml::from_str("username = 'chat'\npassword = 'hunter2'").unwrap();
        let login = config.login(&"cassandra://a/b".parse().unwrap()).unwrap();
        assert_eq!((login.username.as_str(), login.password.reveal()), ("chat", "hunter2"));
        let both = "cassandra://other:secret@a/b".parse().unwrap();
        assert_eq!(config.login(&both).unwrap().username, "other");
        assert!(config.problems(&StoreLocation::Cassandra(both))[0].contains("remove one of them"));
        assert_eq!(CassandraConfig::default().login(&"cassandra://a/b".parse().unwrap()), None);
    }
}
