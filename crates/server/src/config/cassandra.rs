//! The settings of the Cassandra store.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::StoreLocation;
use super::cluster_url::Login;
use crate::auth::Secret;

/// The way to the cluster. Where it is says `store.url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CassandraConfig {
    /// The data centre that this server is in; that of the node that answers first when absent.
    pub datacenter: Option<String>,
    /// Copies of everything: a number for each data centre, or a table with one for each, such as `{ dc1 = 3 }`. Three when
    /// absent, or as many as there are nodes if those are fewer.
    pub replication: Option<Copies>,
    /// Who signs in to the cluster, where it wants to know.
    pub username: Option<String>,
    pub password: Option<Secret>,
    /// Whether a start makes the keyspace and brings it to the newest version. If not, `godwit schema` does.
    pub migrate_at_start: bool,
    pub connect_timeout_ms: u64,
    /// A node that is silent for so long when it is asked is taken for gone, and what waits for it is asked of others.
    pub silence_max_ms: u64,
    /// How long one statement may take, its repetitions included.
    pub request_timeout_ms: u64,
    /// A read that has not been answered after this long is asked of another node too.
    pub speculative_after_ms: u64,
    /// Requests to the cluster that are under way at once. Further ones wait for their turn here, so that a rush makes it slow
    /// and not fail.
    pub requests_at_once_max: usize,
    pub consistency: ConsistencyConfig,
    pub tls: CassandraTls,
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
            consistency: ConsistencyConfig::default(),
            tls: CassandraTls::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number of copies, or a table with one for each data centre")]
pub enum Copies {
    /// In each data centre.
    Each(u8),
    In(BTreeMap<String, u8>),
}

/// How many copies take part before an answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsistencyConfig {
    /// `LOCAL_QUORUM`, `QUORUM` or `ALL`.
    pub read: Level,
    /// `LOCAL_QUORUM`, `QUORUM`, `EACH_QUORUM` or `ALL`.
    pub write: Level,
    /// Of compare-and-set: `LOCAL_SERIAL` when all servers are in one data centre, `SERIAL` otherwise.
    pub serial: SerialLevel,
}

impl Default for ConsistencyConfig {
    fn default() -> Self {
        Self { read: Level::LocalQuorum, write: Level::LocalQuorum, serial: SerialLevel::LocalSerial }
    }
}

/// Those that Cassandra has. [`ConsistencyConfig::problems`] says which of them keep the promises of this server.
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

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CassandraTls {
    /// A file with the certificates, in PEM, of those who may sign for the nodes. With it connections are encrypted.
    pub ca_file: Option<PathBuf>,
    /// This server's own certificate, in PEM, where the cluster wants one.
    pub cert_file: Option<PathBuf>,
    /// Its key, in PEM.
    pub key_file: Option<PathBuf>,
}

impl CassandraConfig {
    /// Who signs in: as the URL says, and otherwise as the section does.
    pub fn login(&self, url: &super::ClusterUrl) -> Option<Login> {
        let of_section = || {
            let password = self.password.clone().unwrap_or_else(|| Secret::new(""));
            self.username.clone().map(|username| Login { username, password })
        };
        url.login.clone().or_else(of_section)
    }

    /// What is wrong, one line each.
    pub(super) fn problems(&self, location: &StoreLocation) -> Vec<String> {
        let mut problems = Vec::new();
        if self.password.is_some() != self.username.is_some() {
            problems.push("store.cassandra: set both username and password, or none of them".into());
        }
        let url_has_login = matches!(location, StoreLocation::Cassandra(url) if url.login.is_some());
        if url_has_login && self.username.is_some() {
            problems.push("store.cassandra.username: store.url has one too; leave one of them out".into());
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

    /// With one copy every level is the same.
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
                "store.cassandra.consistency: with QUORUM on one side and LOCAL_QUORUM on the other a read can miss a \
                 write when there are several data centres; use the same for both"
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
            Self::Any => Some("acknowledges what no node has stored; use LOCAL_QUORUM"),
            Self::One | Self::LocalOne | Self::Two | Self::Three if for_reading => {
                Some("can miss what was acknowledged; use LOCAL_QUORUM")
            }
            Self::One | Self::LocalOne | Self::Two | Self::Three => {
                Some("can lose what was acknowledged when a node is lost; use LOCAL_QUORUM")
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
            problems.push("store.cassandra.tls: set both cert_file and key_file, or none of them".into());
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
                problems
                    .push(format!("store.cassandra.tls.{name}: {}: cannot be read: {error}", file.display()));
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
    fn levels_that_keep_the_promises_are_accepted() {
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
    fn levels_that_do_not_are_refused_with_the_reason() {
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
    fn copies_are_a_number_or_a_table() {
        is_refused("replication = 0", "from 1 to 32");
        is_refused("replication = { dc1 = 3, dc2 = 33 }", "33");
        is_refused("replication = {}", "no data centre");
        let wrong = toml::from_str::<CassandraConfig>("replication = 'three'").unwrap_err();
        assert!(wrong.message().contains("a number of copies, or a table"), "{wrong}");
    }

    #[test]
    fn halves_are_refused() {
        is_refused("username = 'chat'", "both username and password");
        is_refused("password = 'hunter2'", "both username and password");
        is_refused("[tls]\nca_file = '/nowhere/ca.pem'", "/nowhere/ca.pem: cannot be read");
        assert_eq!(problems("[tls]\ncert_file = '/nowhere/c.pem'").len(), 3);
    }

    #[test]
    fn who_signs_in_is_said_by_the_url_or_the_section() {
        let config: CassandraConfig = toml::from_str("username = 'chat'\npassword = 'hunter2'").unwrap();
        let login = config.login(&"cassandra://a/b".parse().unwrap()).unwrap();
        assert_eq!((login.username.as_str(), login.password.reveal()), ("chat", "hunter2"));
        let both = "cassandra://other:secret@a/b".parse().unwrap();
        assert_eq!(config.login(&both).unwrap().username, "other");
        assert!(config.problems(&StoreLocation::Cassandra(both))[0].contains("leave one of them out"));
        assert_eq!(CassandraConfig::default().login(&"cassandra://a/b".parse().unwrap()), None);
    }
}
