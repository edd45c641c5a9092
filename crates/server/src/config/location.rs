//! Addresses and locations, parsed once.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::cluster_url::ClusterUrl;

/// The default data folder.
pub(super) const DATA_FOLDER: &str = "./data";

/// An address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ListenAddress(SocketAddr);

impl ListenAddress {
    pub const fn new(address: SocketAddr) -> Self {
        Self(address)
    }
}

impl Default for ListenAddress {
    fn default() -> Self {
        Self(SocketAddr::from(([127, 0, 0, 1], 8080)))
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self).map_err(|_| {
            format!(
                "`{text}` is not an address and a port, such as 127.0.0.1:8080, 0.0.0.0:80 (all of IPv4) or [::]:80"
            )
        })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<ListenAddress> for SocketAddr {
    fn from(address: ListenAddress) -> Self {
        address.0
    }
}

/// The kind and location of a store. Its text does not show the password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum StoreLocation {
    /// A folder on this machine.
    Embedded(PathBuf),
    Cassandra(ClusterUrl),
}

impl StoreLocation {
    /// Makes the path absolute, for a process in another working directory.
    #[must_use]
    pub fn absolute(self) -> Self {
        match self {
            Self::Embedded(folder) => Self::Embedded(std::path::absolute(&folder).unwrap_or(folder)),
            cluster @ Self::Cassandra(_) => cluster,
        }
    }

    /// True if both are the same data. A Cassandra cluster has many nodes, so only the keyspace is compared.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cassandra(one), Self::Cassandra(other)) => one.keyspace == other.keyspace,
            (one, other) => one == other,
        }
    }

    /// The original text with the password.
    pub fn reveal(&self) -> String {
        match self {
            Self::Embedded(_) => self.to_string(),
            Self::Cassandra(url) => url.reveal(),
        }
    }
}

impl FromStr for StoreLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("embedded", folder)) if !folder.is_empty() => Ok(Self::Embedded(folder.into())),
            Some(("cassandra", _)) => text.parse().map(Self::Cassandra),
            _ => Err(format!("`{text}` is not a store: write embedded:DIR or cassandra://HOST,…/KEYSPACE")),
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(folder) => write!(f, "embedded:{}", folder.display()),
            Self::Cassandra(url) => url.fmt(f),
        }
    }
}

macro_rules! as_string {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}

as_string!(ListenAddress);
as_string!(StoreLocation);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_written_and_read_back() {
        for text in ["embedded:/var/lib/godwit", "embedded:./data", "cassandra://a,b/godwit"] {
            assert_eq!(text.parse::<StoreLocation>().unwrap().to_string(), text);
        }
        for wrong in ["", "embedded", "embedded:", "./data", "postgres://x", "cassandra:x"] {
            assert!(wrong.parse::<StoreLocation>().is_err(), "{wrong} was taken for a store");
        }
    }

    #[test]
    fn different_names_of_the_same_store_are_equal() {
        let is_same = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| text.parse::<StoreLocation>().unwrap().absolute());
            one.is_same(&other)
        };
        assert!(is_same(
            "embedded:./data",
            &format!("embedded:{}/data", std::env::current_dir().unwrap().display())
        ));
        assert!(is_same("cassandra://a,b/chat", "cassandra://chat:secret@b:9042/chat"));
        assert!(!is_same("embedded:./data", "embedded:./other"));
        assert!(!is_same("cassandra://a/chat", "cassandra://a/other"));
        assert!(!is_same("cassandra://a/chat", "embedded:./data"));
    }

    #[test]
    fn a_listen_address_is_an_address_and_a_port() {
        assert_eq!("[::1]:80".parse::<ListenAddress>().unwrap().to_string(), "[::1]:80");
        for wrong in ["8080", ":8080", "localhost", "127.0.0.1", "127.0.0.1:99999"] {
            assert!(wrong.parse::<ListenAddress>().is_err(), "{wrong} was taken for an address");
        }
    }
}
