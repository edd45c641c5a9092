//! Options that an operator can set.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use scylla::statement::{Consistency, SerialConsistency};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `host` or `host:port`. One that answers suffices; it names the other nodes.
    pub contact_points: Vec<String>,
    pub keyspace: String,
    /// The data centre of this server. Its nodes are preferred, and the `LOCAL_…` consistencies refer to it.
    /// The default is the data centre of the contact point that answers.
    pub datacenter: Option<String>,
    pub replication: Replication,
    pub consistency: ConsistencyOptions,
    pub credentials: Option<Credentials>,
    pub tls: Option<TlsOptions>,
    /// Whether opening the store creates and migrates the schema. Otherwise `godwit schema` does.
    pub migrate: bool,
    pub connect_timeout: Duration,
    /// A Cassandra node that does not answer a keepalive for this long counts as down, and its requests go to
    /// other nodes.
    pub silence_max: Duration,
    /// The time limit of a statement, including retries.
    pub request_timeout: Duration,
    /// A read that is not answered after this long is sent to another node too.
    pub speculative_after: Duration,
    /// The limit of concurrent requests to Cassandra. Further ones wait in this process, so that an overload
    /// slows requests down instead of failing them.
    pub requests_at_once_max: usize,
    /// The largest accepted difference between the clocks of this machine and of Cassandra. `sync` looks back for as long as
    /// two servers can differ.
    pub clock_difference_max: Duration,
    /// Recent conversations per user that the inbox keeps unordered, because they move often; see
    /// `inbox/mod.rs`.
    pub inbox_recent_max: usize,
    pub inbox_epochs: EpochTerms,
    /// The server that opens the store. `None` for a process that is not a server.
    pub server: Option<ServerName>,
}

/// Replicas of the keyspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replication {
    /// [`Replication::COPIES`] in each data centre, or one per node if it has fewer nodes.
    Default,
    /// This number in each data centre.
    Each(u8),
    /// These numbers in these data centres.
    PerDatacenter(BTreeMap<String, u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsistencyOptions {
    pub read: Consistency,
    pub write: Consistency,
    pub serial: SerialConsistency,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub username: String,
    pub password: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// Certificates, in PEM, of the authorities that sign for Cassandra's nodes. A node's own certificate must
    /// name its IP address.
    pub ca_file: PathBuf,
    /// This client's own certificate and key, in PEM, if Cassandra requires one.
    pub client: Option<(PathBuf, PathBuf)>,
}

/// How long a server relies on an inbox epoch that it has read, see `inbox/epochs.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochTerms {
    pub valid: Duration,
    /// Several times `valid`.
    pub age_min: Duration,
}

impl Default for EpochTerms {
    fn default() -> Self {
        Self { valid: Duration::from_secs(5), age_min: Duration::from_secs(20) }
    }
}

/// The description of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerName {
    /// The same after a restart, so that a server does not conflict with its own earlier row.
    pub server: String,
    /// The name of the machine, for messages to people.
    pub host: String,
    /// Whether the server runs without Redis, and so does not hear of other servers.
    pub alone: bool,
}

impl Options {
    pub const KEYSPACE: &str = "godwit";

    pub fn new(contact_points: Vec<String>, keyspace: impl Into<String>) -> Self {
        Self {
            contact_points,
            keyspace: keyspace.into(),
            datacenter: None,
            replication: Replication::Default,
            consistency: ConsistencyOptions::default(),
            credentials: None,
            tls: None,
            migrate: true,
            connect_timeout: Duration::from_secs(5),
            silence_max: Duration::from_secs(3),
            request_timeout: Duration::from_secs(10),
            speculative_after: Duration::from_millis(200),
            requests_at_once_max: 256,
            clock_difference_max: Duration::from_secs(6 * 60),
            inbox_recent_max: 64,
            inbox_epochs: EpochTerms::default(),
            server: None,
        }
    }
}

#[cfg(test)]
impl Options {
    /// Options for tests. The nodes share a machine, so a slow node does not count as down. One replica takes
    /// half the time; tests with whole servers cover three replicas.
    pub(crate) fn patient(contact_points: Vec<String>, keyspace: impl Into<String>) -> Self {
        let (silence_max, request_timeout) = (Duration::from_secs(30), Duration::from_secs(30));
        let replication = Replication::Each(1);
        Self { silence_max, request_timeout, replication, ..Self::new(contact_points, keyspace) }
    }
}

impl Replication {
    /// With three replicas, one may fail and the other two still form a quorum.
    pub const COPIES: u8 = 3;
}

impl Default for ConsistencyOptions {
    fn default() -> Self {
        Self {
            read: Consistency::LocalQuorum,
            write: Consistency::LocalQuorum,
            serial: SerialConsistency::LocalSerial,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("username", &self.username).finish_non_exhaustive()
    }
}
