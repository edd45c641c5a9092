//! What an operator can choose.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub use scylla::statement::{Consistency, SerialConsistency};

use crate::inbox::EpochTerms;
use crate::servers::ServerName;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `host` or `host:port`; one that answers is enough, the others are found from it.
    pub contact_points: Vec<String>,
    pub keyspace: String,
    /// The data centre that this node is in: it is asked first, and `LOCAL_…` means it. Otherwise that of the contact
    /// point that answers.
    pub datacenter: Option<String>,
    pub replication: Replication,
    pub consistency: ConsistencyOptions,
    pub credentials: Option<Credentials>,
    pub tls: Option<TlsOptions>,
    /// Whether opening the store makes and migrates the schema. Otherwise `godwit schema` does it.
    pub migrate: bool,
    pub connect_timeout: Duration,
    /// A node that is silent for so long when it is asked is taken for gone, and what waits for it is asked of others.
    pub silence_max: Duration,
    /// How long one statement may take, its repetitions included.
    pub request_timeout: Duration,
    /// A read that has not been answered after this long is asked of another node too.
    pub speculative_after: Duration,
    /// Requests to the cluster that are under way at once. Further ones wait for their turn here, so that a rush makes it slow
    /// and not fail.
    pub requests_at_once_max: usize,
    /// Conversations that a user's inbox keeps out of order, because they move too often; see `inbox.rs`.
    pub inbox_recent_max: usize,
    pub inbox_epochs: EpochTerms,
    /// The server that opens it. None for what is no server.
    pub server: Option<ServerName>,
}

/// Copies of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replication {
    /// [`Replication::COPIES`] in each data centre, or as many as it has nodes if those are fewer.
    Default,
    /// So many in each data centre.
    Each(u8),
    /// So many in these.
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
    /// Certificates, in PEM, of those who may sign for the cluster's nodes. A node's own must name its IP address.
    pub ca_file: PathBuf,
    /// This client's own certificate and key, in PEM, where the cluster asks for one.
    pub client: Option<(PathBuf, PathBuf)>,
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
            inbox_recent_max: 64,
            inbox_epochs: EpochTerms::default(),
            server: None,
        }
    }
}

#[cfg(test)]
impl Options {
    /// For tests: the nodes share a machine, and one that is slow has not gone. There is one copy, which takes half the time;
    /// what three are for is tested with whole servers.
    pub(crate) fn patient(contact_points: Vec<String>, keyspace: impl Into<String>) -> Self {
        let (silence_max, request_timeout) = (Duration::from_secs(30), Duration::from_secs(30));
        let replication = Replication::Each(1);
        Self { silence_max, request_timeout, replication, ..Self::new(contact_points, keyspace) }
    }
}

impl Replication {
    /// One of them can be lost, and the two others still agree.
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
