//! The settings of each part, derived from the config.

use std::io;
use std::time::Duration;

use godwit_delivery::HubConfig;
use godwit_store_cassandra::ServerName;
use godwit_store_cassandra::options::{
    Consistency, ConsistencyOptions, Credentials, Replication, SerialConsistency, TlsOptions,
};

use super::{CoreError, StoreOptions};
use crate::config::{
    CassandraConfig, ClusterUrl, Config, Copies, EmbeddedConfig, Level, SerialLevel, SocketConfig,
    StoreLocation,
};
use crate::data_folder::make_private;

/// The file in the data folder with the name of this server among those on the store.
const SERVER_NAME_FILE: &str = "server";

const MIB: u64 = 1024 * 1024;

/// The options for creating the tables of the store; `None` if it has no schema.
pub fn schema_options(config: &Config) -> Option<StoreOptions> {
    match config.store_location() {
        StoreLocation::Embedded(_) => None,
        StoreLocation::Cassandra(url) => Some(cassandra_options(&url, &config.store.cassandra)),
    }
}

/// The name of this server among those on the store. A restart keeps it.
pub(super) fn server_name(config: &Config) -> Result<ServerName, CoreError> {
    let folder = config.data_folder();
    make_private(folder)?;
    let unusable = |source| CoreError::Folder { folder: folder.to_owned(), source };
    let path = folder.join(SERVER_NAME_FILE);
    let server = match std::fs::read_to_string(&path) {
        Ok(name) => name.trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = format!("{:016x}", rand::random::<u64>());
            std::fs::write(&path, format!("{name}\n")).map_err(unusable)?;
            name
        }
        Err(error) => return Err(unusable(error)),
    };
    Ok(ServerName { server, host: host_name(), alone: config.cluster.redis_url.is_none() })
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub(super) fn cluster_options(
    config: &Config,
    signing_key: [u8; 32],
) -> Result<Option<godwit_cluster::Options>, CoreError> {
    let cluster = &config.cluster;
    let Some(redis) = cluster.redis().map_err(CoreError::RedisTls)? else { return Ok(None) };
    Ok(Some(godwit_cluster::Options {
        redis,
        listen: cluster.listen.into(),
        advertise: cluster.advertise,
        secret: cluster.secret().to_owned(),
        signing_key,
        host: host_name(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }))
}

pub(super) const fn hub_config(config: &SocketConfig) -> HubConfig {
    HubConfig {
        heartbeat_ms: config.heartbeat_ms,
        sign_in_within_ms: config.sign_in_within_ms,
        queue_frames_max: config.queue_frames_max,
        queue_bytes_max: config.queue_bytes_max,
        answers_bytes_max: config.answers_bytes_max,
        per_user_max: config.per_user_max,
        per_device_max: config.per_device_max,
    }
}

pub(super) fn embedded_options(config: &EmbeddedConfig) -> godwit_store_embedded::Options {
    godwit_store_embedded::Options {
        cache_bytes: config.cache_mib * MIB,
        memtable_bytes_max: config.memtable_mib * MIB,
        journal_bytes_max: config.journal_mib * MIB,
        free_disk_bytes_min: config.free_disk_mib_min * MIB,
        ..godwit_store_embedded::Options::default()
    }
}

pub(super) fn cassandra_options(url: &ClusterUrl, config: &CassandraConfig) -> StoreOptions {
    let login = config.login(url);
    let client = config.tls.cert_file.clone().zip(config.tls.key_file.clone());
    let tls = config.tls.ca_file.clone().map(|ca_file| TlsOptions { ca_file, client });
    let options = StoreOptions::new(url.contact_points.clone(), url.keyspace.as_str());
    StoreOptions {
        datacenter: config.datacenter.clone(),
        replication: match &config.replication {
            None => Replication::Default,
            Some(Copies::Each(copies)) => Replication::Each(*copies),
            Some(Copies::In(copies)) => Replication::PerDatacenter(copies.clone()),
        },
        consistency: ConsistencyOptions {
            read: consistency(config.consistency.read),
            write: consistency(config.consistency.write),
            serial: match config.consistency.serial {
                SerialLevel::Serial => SerialConsistency::Serial,
                SerialLevel::LocalSerial => SerialConsistency::LocalSerial,
            },
        },
        credentials: login.map(|login| Credentials {
            username: login.username,
            password: login.password.reveal().to_owned(),
        }),
        tls,
        migrate: config.migrate_at_start,
        connect_timeout: Duration::from_millis(config.connect_timeout_ms),
        silence_max: Duration::from_millis(config.silence_max_ms),
        request_timeout: Duration::from_millis(config.request_timeout_ms),
        speculative_after: Duration::from_millis(config.speculative_after_ms),
        requests_at_once_max: config.requests_at_once_max,
        clock_difference_max: Duration::from_millis(config.clock_difference_max_ms),
        ..options
    }
}

const fn consistency(level: Level) -> Consistency {
    match level {
        Level::Any => Consistency::Any,
        Level::One => Consistency::One,
        Level::Two => Consistency::Two,
        Level::Three => Consistency::Three,
        Level::LocalOne => Consistency::LocalOne,
        Level::Quorum => Consistency::Quorum,
        Level::LocalQuorum => Consistency::LocalQuorum,
        Level::EachQuorum => Consistency::EachQuorum,
        Level::All => Consistency::All,
    }
}
