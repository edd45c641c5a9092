//! The address of Redis: one server, a group with Sentinels, or a Redis Cluster.

use std::fmt;
use std::str::FromStr;

use redis::{ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, TlsCertificates};
use serde::{Deserialize, Serialize};

use super::tls::RedisTls;

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The address of Redis. Its display and serialized form has no password.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RedisAddress {
    pub(super) kind: Kind,
    /// The credentials and database for the server that is found.
    pub(super) login: RedisConnectionInfo,
    /// Whether all connections use TLS, including those to Sentinels.
    pub(super) is_encrypted: bool,
    /// The trusted and own certificates, if they are not those of the machine.
    pub(super) tls: Option<TlsCertificates>,
    shown: String,
    given: String,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    One(ConnectionInfo),
    Sentinel { sentinels: Vec<(String, u16)>, master: String },
    Cluster { seeds: Vec<(String, u16)> },
}

impl RedisAddress {
    /// The address as given, including the password.
    pub fn reveal(&self) -> &str {
        &self.given
    }

    /// Whether all connections use TLS.
    pub const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    #[must_use]
    pub fn with_tls(self, tls: RedisTls) -> Self {
        Self { tls: Some(tls.0), ..self }
    }
}

impl FromStr for RedisAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| {
            format!(
                "`{}` is not an address of Redis: {reason}; write redis://HOST:PORT, \
                 redis+sentinel://HOST:PORT,…/MASTER or redis+cluster://HOST:PORT,…, with rediss for TLS",
                without_password(text)
            )
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        let (kind, login) = match scheme {
            "redis" | "rediss" => {
                let info = text.into_connection_info().map_err(|error| wrong(&error.to_string()))?;
                let login = info.redis_settings().clone();
                (Kind::One(info), login)
            }
            "redis+sentinel" | "rediss+sentinel" => {
                let (login, hosts, path) = parts(rest).map_err(wrong)?;
                let master =
                    path.filter(|path| !path.is_empty()).ok_or_else(|| wrong("it names no master"))?;
                let sentinels = hosts_of(hosts, SENTINEL_PORT).map_err(wrong)?;
                (Kind::Sentinel { sentinels, master: master.to_owned() }, login)
            }
            "redis+cluster" | "rediss+cluster" => {
                let (login, hosts, path) = parts(rest).map_err(wrong)?;
                if path.is_some_and(|path| !path.is_empty()) {
                    return Err(wrong("a Redis Cluster has no numbered databases"));
                }
                (Kind::Cluster { seeds: hosts_of(hosts, PORT).map_err(wrong)? }, login)
            }
            _ => return Err(wrong("the scheme is unknown")),
        };
        let is_encrypted = scheme.starts_with("rediss");
        Ok(Self {
            kind,
            login,
            is_encrypted,
            tls: None,
            shown: without_password(text),
            given: text.to_owned(),
        })
    }
}

/// The credentials, the hosts, and the path after them.
type Parts<'a> = (RedisConnectionInfo, &'a str, Option<&'a str>);

fn parts(rest: &str) -> Result<Parts<'_>, &'static str> {
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, Some(path)),
        None => (rest, None),
    };
    let (user_info, hosts) = match authority.rsplit_once('@') {
        Some((user_info, hosts)) => (Some(user_info), hosts),
        None => (None, authority),
    };
    let mut login = RedisConnectionInfo::default();
    if let Some(user_info) = user_info {
        let (username, password) = user_info.split_once(':').ok_or("write USER:PASSWORD before the @")?;
        if !username.is_empty() {
            login = login.set_username(username);
        }
        login = login.set_password(password);
    }
    Ok((login, hosts, path))
}

fn hosts_of(hosts: &str, default_port: u16) -> Result<Vec<(String, u16)>, &'static str> {
    let host = |text: &str| {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| "a port is not a number")?),
            None => (text, default_port),
        };
        if host.is_empty() { Err("a host is missing") } else { Ok((host.to_owned(), port)) }
    };
    hosts.split(',').map(host).collect()
}

fn without_password(text: &str) -> String {
    let hidden = || {
        let (scheme, rest) = text.split_once("://")?;
        let (login, place) = rest.rsplit_once('@')?;
        let user = login.split_once(':').map_or("", |(user, _)| user);
        Some(format!("{scheme}://{user}:…@{place}"))
    };
    hidden().unwrap_or_else(|| text.to_owned())
}

impl TryFrom<String> for RedisAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<RedisAddress> for String {
    fn from(address: RedisAddress) -> Self {
        address.to_string()
    }
}

impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisAddress({self})")
    }
}

impl PartialEq for RedisAddress {
    fn eq(&self, other: &Self) -> bool {
        self.given == other.given
    }
}

impl Eq for RedisAddress {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_passwords() {
        for (text, shown) in [
            ("redis://localhost:6379", "redis://localhost:6379"),
            ("rediss://chat:se%40cret@cache:6380/2", "rediss://chat:…@cache:6380/2"),
            ("redis+sentinel://:secret@a:1,b/mymaster", "redis+sentinel://:…@a:1,b/mymaster"),
            ("redis+cluster://a:7000,b:7001", "redis+cluster://a:7000,b:7001"),
            ("rediss+sentinel://:secret@a/mymaster", "rediss+sentinel://:…@a/mymaster"),
            ("rediss+cluster://a:7000,b:7001", "rediss+cluster://a:7000,b:7001"),
        ] {
            let address: RedisAddress = text.parse().unwrap();
            assert_eq!((address.to_string().as_str(), address.reveal()), (shown, text));
            assert!(!format!("{address:?}").contains("secret"), "{address:?}");
            assert_eq!(address.is_encrypted(), text.starts_with("rediss"), "{text}");
        }
    }

    #[test]
    fn hosts_have_ports() {
        let Kind::Sentinel { sentinels, master } =
            "redis+sentinel://a:1,b/m".parse::<RedisAddress>().unwrap().kind
        else {
            panic!("it is watched by Sentinels")
        };
        assert_eq!((sentinels, master.as_str()), (vec![("a".into(), 1), ("b".into(), 26379)], "m"));
    }

    #[test]
    fn errors_do_not_contain_the_password() {
        for wrong in [
            "localhost",
            "http://a",
            "redis://",
            "redis+sentinel://a",
            "redis+sentinel://secret@a/m",
            "redis+cluster://a:x",
            "redis+cluster://a/1",
            "redis+cluster://:secret@a:x",
        ] {
            let error = wrong.parse::<RedisAddress>().unwrap_err();
            assert!(error.contains("redis://HOST:PORT") && !error.contains("secret"), "{wrong}: {error}");
        }
    }
}
