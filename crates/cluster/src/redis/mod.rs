//! Connections to Redis, wherever its master is at present.
//!
//! All keys and channels of an installation have the same hash tag, so in a Redis Cluster they are on one
//! master. Every kind of address is therefore resolved to one server, and resolved again when the connection is lost.

mod address;
mod tls;

use std::time::Duration;

use redis::aio::{MultiplexedConnection, PubSub};
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError,
    RedisResult, cmd,
};
use tokio::time::timeout;

use self::address::Kind;

pub use self::address::RedisAddress;
pub use self::tls::{RedisTls, TlsError};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// If Redis takes longer, it counts as unavailable: pending commands fail, and clients catch up with `sync`.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The connections of a node.
pub(crate) struct Connections {
    pub(crate) commands: MultiplexedConnection,
    pub(crate) messages: PubSub,
}

impl RedisAddress {
    /// `key` is any key of the installation.
    pub(crate) async fn connect(&self, key: &str) -> RedisResult<Connections> {
        let client = self.find(key).await?;
        let (commands, messages) = tokio::try_join!(commands(&client), messages(&client))?;
        Ok(Connections { commands, messages })
    }

    /// Connects without a subscription for messages.
    pub(crate) async fn connect_for_commands(&self, key: &str) -> RedisResult<MultiplexedConnection> {
        commands(&self.find(key).await?).await
    }

    async fn find(&self, key: &str) -> RedisResult<Client> {
        match &self.kind {
            Kind::One(info) => self.client(info.clone()),
            Kind::Sentinel { sentinels, master } => {
                first_of(sentinels, |sentinel| self.ask_sentinel(sentinel, master)).await
            }
            Kind::Cluster { seeds } => first_of(seeds, |seed| self.ask_cluster(seed, key)).await,
        }
    }

    /// Sentinels get no password: the one in the address is for the servers.
    async fn ask_sentinel(&self, sentinel: &(String, u16), master: &str) -> RedisResult<Client> {
        let mut connection = commands(&self.client(self.tcp(sentinel).into_connection_info()?)?).await?;
        let mut question = cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg(master);
        let found: Option<(String, u16)> = question.query_async(&mut connection).await?;
        let address = found.ok_or_else(|| {
            RedisError::from((
                redis::ErrorKind::Client,
                "the Sentinels do not know the master",
                master.to_owned(),
            ))
        })?;
        self.client(self.at(&address)?)
    }

    async fn ask_cluster(&self, seed: &(String, u16), key: &str) -> RedisResult<Client> {
        let mut connection = commands(&self.client(self.at(seed)?)?).await?;
        let slot: u16 = cmd("CLUSTER").arg("KEYSLOT").arg(key).query_async(&mut connection).await?;
        // A range begins with its first and last slot and the address of the master. The rest is not needed.
        let ranges: Vec<Vec<redis::Value>> = cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await?;
        for range in ranges {
            let [first, last, master, ..] = range.as_slice() else { continue };
            let (first, last): (u16, u16) =
                (redis::from_redis_value(first.clone())?, redis::from_redis_value(last.clone())?);
            if (first..=last).contains(&slot) {
                let master: Vec<redis::Value> = redis::from_redis_value(master.clone())?;
                let [host, port, ..] = master.as_slice() else { continue };
                let host: Option<String> = redis::from_redis_value(host.clone())?;
                let port = redis::from_redis_value(port.clone())?;
                // A node that does not know its own address means the one at which it was asked.
                let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| seed.0.clone());
                return self.client(self.at(&(host, port))?);
            }
        }
        Err(RedisError::from((redis::ErrorKind::Client, "no master of the Redis Cluster has the slot")))
    }

    fn at(&self, address: &(String, u16)) -> RedisResult<ConnectionInfo> {
        Ok(self.tcp(address).into_connection_info()?.set_redis_settings(self.login.clone()))
    }

    fn tcp(&self, (host, port): &(String, u16)) -> ConnectionAddr {
        let (host, port) = (host.clone(), *port);
        if self.is_encrypted {
            ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
        } else {
            ConnectionAddr::Tcp(host, port)
        }
    }

    fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
        if self.is_encrypted {
            tls::provide_cryptography();
        }
        match &self.tls {
            Some(tls) if self.is_encrypted => Client::build_with_tls(info, tls.clone()),
            _ => Client::open(info),
        }
    }
}

/// The first successful answer, or the last error.
async fn first_of<'a, T, F>(
    hosts: &'a [(String, u16)],
    ask: impl Fn(&'a (String, u16)) -> F,
) -> RedisResult<T>
where
    F: Future<Output = RedisResult<T>>,
{
    let mut failed = RedisError::from((redis::ErrorKind::Client, "no address was given"));
    for host in hosts {
        match ask(host).await {
            Ok(answer) => return Ok(answer),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

async fn commands(client: &Client) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT_TIMEOUT))
        .set_response_timeout(Some(RESPONSE_TIMEOUT));
    client.get_multiplexed_async_connection_with_config(&config).await
}

async fn messages(client: &Client) -> RedisResult<PubSub> {
    let late = |_| RedisError::from((redis::ErrorKind::Io, "no connection in time"));
    timeout(CONNECT_TIMEOUT, client.get_async_pubsub()).await.map_err(late)?
}
