//! The stores that can be measured. No other file names them.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context;
use godwit_bench::clock::SystemClock;
use godwit_domain::ports::Store;
use godwit_store_cassandra::CassandraStore;
use godwit_store_embedded::EmbeddedStore;

/// The kind and location of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    Embedded(PathBuf),
    Cassandra { contact_points: Vec<String>, keyspace: String },
}

/// An open store. Closing depends on its kind.
#[derive(Debug)]
pub(super) enum Opened {
    Embedded(Arc<EmbeddedStore>),
    Cassandra(Arc<CassandraStore>),
}

/// The store's own counters since it was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    pub(super) fsyncs: Option<u64>,
    pub(super) table_bytes: Option<u64>,
    /// Requests to the Cassandra cluster.
    pub(super) requests: Option<u64>,
}

impl Location {
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::Cassandra { .. } => "cassandra",
        }
    }

    pub(super) async fn open(&self) -> anyhow::Result<Opened> {
        Ok(match self {
            Self::Embedded(folder) => {
                let options = godwit_store_embedded::Options::default();
                Opened::Embedded(Arc::new(EmbeddedStore::open(folder, Arc::new(SystemClock), options)?))
            }
            Self::Cassandra { contact_points, keyspace } => {
                let options = godwit_store_cassandra::Options::new(contact_points.clone(), keyspace);
                let opening = Box::pin(CassandraStore::open(options, Arc::new(SystemClock)));
                Opened::Cassandra(Arc::new(opening.await?))
            }
        })
    }
}

impl Opened {
    pub(super) fn port(&self) -> Arc<dyn Store> {
        match self {
            Self::Embedded(store) => store.clone(),
            Self::Cassandra(store) => store.clone(),
        }
    }

    pub(super) async fn close(self) -> anyhow::Result<()> {
        match self {
            Self::Embedded(store) => store.close().await,
            Self::Cassandra(store) => store.close().await,
        }
        .context("the store could not be closed")
    }

    /// Drops the store without closing it, as a kill does. Returns it if that makes no difference.
    pub(super) fn kill(self) -> Result<(), Self> {
        match self {
            Self::Embedded(store) => {
                drop(store);
                Ok(())
            }
            Self::Cassandra(_) => Err(self),
        }
    }

    pub(super) fn work(&self) -> Work {
        match self {
            Self::Embedded(store) => {
                let stats = store.stats();
                Work { fsyncs: Some(stats.fsyncs), table_bytes: Some(stats.table_bytes), requests: None }
            }
            Self::Cassandra(store) => Work { requests: Some(store.requests()), ..Work::default() },
        }
    }
}

impl FromStr for Location {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a store: use embedded:DIR or cassandra://HOST,…/KEYSPACE");
        match text.split_once(':') {
            Some(("embedded", folder)) if !folder.is_empty() => Ok(Self::Embedded(folder.into())),
            Some(("cassandra", rest)) => {
                let cluster = rest.strip_prefix("//").and_then(|rest| rest.split_once('/'));
                let (hosts, keyspace) = cluster.ok_or_else(wrong)?;
                let contact_points: Vec<String> = hosts.split(',').map(str::to_owned).collect();
                if keyspace.is_empty() || contact_points.iter().any(String::is_empty) {
                    return Err(wrong());
                }
                Ok(Self::Cassandra { contact_points, keyspace: keyspace.to_owned() })
            }
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(folder) => write!(f, "embedded:{}", folder.display()),
            Self::Cassandra { contact_points, keyspace } => {
                write!(f, "cassandra://{}/{keyspace}", contact_points.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_survive_a_round_trip() {
        for text in ["embedded:/var/lib/godwit", "embedded:./data", "cassandra://a,b:9043/godwit"] {
            assert_eq!(text.parse::<Location>().unwrap().to_string(), text);
        }
        for wrong in
            ["", "embedded:", "./data", "cassandra://a", "cassandra:///godwit", "cassandra://a,/godwit"]
        {
            assert!(wrong.parse::<Location>().is_err(), "{wrong} was taken for a store");
        }
    }
}
