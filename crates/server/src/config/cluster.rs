//! Settings for several servers on one store.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use godwit_cluster::{RedisAddress, RedisTls};
use serde::{Deserialize, Serialize};

use super::settings::settings;
use super::{ListenAddress, StoreLocation};
use crate::auth::Secret;

/// A shorter secret could be guessed.
const SECRET_CHARS_MIN: usize = 16;

settings! {
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ClusterConfig {
        /// `redis://HOST:PORT`, `redis+sentinel://HOST:PORT,…/MASTER` or `redis+cluster://HOST:PORT,…`, each with
        /// `rediss` for TLS. A single server needs none.
        pub redis_url: Option<RedisAddress>,
        /// TLS to Redis, if `redis_url` begins with `rediss`. All files are in PEM.
        pub redis_tls: RedisTlsConfig,
        /// The address that other servers connect to; port 0 picks a free one. Clients never use it.
        pub listen: ListenAddress,
        /// The address by which other servers find this one, if it is not the `listen` address.
        pub advertise: Option<IpAddr>,
        /// A secret of at least 16 characters, the same on every server. Servers with another secret cannot connect.
        /// Required if other machines can connect. Better set GODWIT_CLUSTER__SECRET.
        pub secret: Option<Secret>,
    }
}

settings! {
    /// TLS to Redis, if its address begins with `rediss`. All files are in PEM.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct RedisTlsConfig {
        /// The authority that signs Redis's certificate, if this machine does not already trust it.
        pub ca_file: Option<PathBuf>,
        /// This server's certificate, if Redis requires one.
        pub cert_file: Option<PathBuf>,
        /// The key of `cert_file`.
        pub key_file: Option<PathBuf>,
    }
}

impl RedisTlsConfig {
    /// `None` if nothing is set.
    fn read(&self) -> Result<Option<RedisTls>, String> {
        if *self == Self::default() {
            return Ok(None);
        }
        let client = self.cert_file.as_deref().zip(self.key_file.as_deref());
        if client.is_none() && (self.cert_file.is_some() || self.key_file.is_some()) {
            return Err("set both cert_file and key_file, or neither".into());
        }
        RedisTls::read(self.ca_file.as_deref(), client).map(Some).map_err(|error| error.to_string())
    }
}

impl Default for ClusterConfig {
    fn default() -> Self {
        let listen = ListenAddress::new(SocketAddr::from(([127, 0, 0, 1], 0)));
        Self { redis_url: None, redis_tls: RedisTlsConfig::default(), listen, advertise: None, secret: None }
    }
}

impl ClusterConfig {
    /// The address and TLS settings of Redis. Fails if [`problems`](Self::problems) reports them.
    pub fn redis(&self) -> Result<Option<RedisAddress>, String> {
        let Some(address) = self.redis_url.clone() else { return Ok(None) };
        Ok(Some(match self.redis_tls.read()? {
            Some(tls) => address.with_tls(tls),
            None => address,
        }))
    }

    pub fn secret(&self) -> &str {
        self.secret.as_ref().map_or("", Secret::reveal)
    }

    /// The problems, one line each.
    pub(super) fn problems(&self, store: &StoreLocation) -> Vec<String> {
        let mut problems = Vec::new();
        if self.redis_url.is_some() && matches!(store, StoreLocation::Embedded(_)) {
            problems.push(
                "cluster.redis_url: the embedded store has only one server, which needs no Redis; \
                 several servers share a Cassandra cluster with --store cassandra://…"
                    .into(),
            );
        }
        match self.redis_tls.read() {
            Err(error) => problems.push(format!("cluster.redis_tls: {error}")),
            Ok(Some(_)) if !self.redis_url.as_ref().is_some_and(RedisAddress::is_encrypted) => problems
                .push("cluster.redis_tls is set, but cluster.redis_url does not begin with rediss".into()),
            Ok(_) => {}
        }
        let address = SocketAddr::from(self.listen).ip();
        match &self.secret {
            None if !address.is_loopback() => problems.push(format!(
                "cluster.listen is {}, which other machines can reach: set the same cluster.secret on every server",
                self.listen
            )),
            Some(secret) if secret.reveal().chars().count() < SECRET_CHARS_MIN => problems
                .push(format!("cluster.secret must have at least {SECRET_CHARS_MIN} characters")),
            _ => {}
        }
        if address.is_unspecified() && self.advertise.is_none() {
            problems.push(
                "cluster.advertise: set the address of this server, because cluster.listen is every address"
                    .into(),
            );
        }
        if self.advertise.is_some_and(|address| address.is_unspecified()) {
            problems.push("cluster.advertise must be an address of this machine".into());
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(listen: &str, advertise: Option<&str>, secret: Option<&str>) -> Vec<String> {
        let config = ClusterConfig {
            redis_url: Some("redis://cache".parse().unwrap()),
            listen: listen.parse().unwrap(),
            advertise: advertise.map(|address| address.parse().unwrap()),
            secret: secret.map(Secret::new),
            ..ClusterConfig::default()
        };
        config.problems(&"cassandra://db".parse().unwrap())
    }

    #[test]
    fn a_port_that_others_can_reach_needs_a_secret() {
        const SECRET: Option<&str> = Some("correct horse battery staple");
        assert_eq!(problems("127.0.0.1:0", None, None), Vec::<String>::new());
        assert_eq!(problems("[::1]:7000", None, None), Vec::<String>::new());
        assert_eq!(problems("10.0.0.5:7000", None, SECRET), Vec::<String>::new());
        assert_eq!(problems("0.0.0.0:7000", Some("10.0.0.5"), SECRET), Vec::<String>::new());
        for (listen, advertise, secret, wrong) in [
            ("10.0.0.5:7000", None, None, "cluster.listen"),
            ("0.0.0.0:7000", None, SECRET, "cluster.advertise"),
            ("0.0.0.0:7000", Some("0.0.0.0"), SECRET, "cluster.advertise"),
            ("10.0.0.5:7000", None, Some("short"), "cluster.secret"),
        ] {
            let problems = problems(listen, advertise, secret);
            assert!(problems.len() == 1 && problems[0].starts_with(wrong), "{listen}: {problems:?}");
        }
    }

    #[test]
    fn certificates_are_for_redis_with_tls() {
        let problems = |url: &str, ca_file: &str| {
            let redis_tls = RedisTlsConfig { ca_file: Some(ca_file.into()), ..RedisTlsConfig::default() };
            let redis_url = Some(url.parse().unwrap());
            let config = ClusterConfig { redis_url, redis_tls, ..ClusterConfig::default() };
            config.problems(&"cassandra://db".parse().unwrap())
        };
        let there = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/keys/other-ca.pem");
        assert_eq!(problems("rediss+sentinel://a/m", there), Vec::<String>::new());
        assert!(problems("redis+sentinel://a/m", there)[0].contains("does not begin with rediss"));
        assert!(problems("rediss://a", "/nowhere/ca.pem")[0].contains("/nowhere/ca.pem"));
    }

    #[test]
    fn a_server_with_a_store_of_its_own_needs_no_redis() {
        let config =
            ClusterConfig { redis_url: Some("redis://cache".parse().unwrap()), ..ClusterConfig::default() };
        let problems = config.problems(&"embedded:./data".parse().unwrap());
        assert!(problems.len() == 1 && problems[0].starts_with("cluster.redis_url"), "{problems:?}");
    }
}
