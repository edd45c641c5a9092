//! The schema: numbered migrations, each applied once and in order, even if several nodes start at the same
//! time. They are files of CQL in `migrations/`; `godwit schema print` shows them.
//!
//! Migrations are online. A migration only adds what the previous build ignores, so nodes of both builds can
//! run side by side.

mod migrations;
#[cfg(test)]
mod on_cassandra;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use rand::random;
use scylla::client::session::Session;
use scylla::errors::ExecutionError;
use scylla::policies::load_balancing::{
    LoadBalancingPolicy, NodeIdentifier, SingleTargetLoadBalancingPolicy,
};
use scylla::statement::unprepared::Statement;
use scylla::statement::{Consistency, SerialConsistency};
use scylla::value::Row;
use thiserror::Error;
use tokio::time::sleep;
use uuid::Uuid;

use crate::cql::connect::{ConnectError, connect};
use crate::options::{Options, Replication};
use crate::pause::pause;
use migrations::{ALTER, AddedColumn, BOOKKEEPING, CREATE, MIGRATIONS, statements};

/// Longer than any migration. If a node crashes while it migrates, the others wait until the lock expires.
const LOCK_TTL_SECONDS: i32 = 120;
const LOCK_LOOK_INTERVAL: Duration = Duration::from_millis(500);
const VERSION_ATTEMPTS_MAX: u32 = 16;
const LOCK_WAIT_MAX: Duration = Duration::from_secs(300);
/// How long a Cassandra node may be silent while it creates or drops a table, its slowest operation on a busy
/// machine.
const CHANGE_SILENCE_MAX: Duration = Duration::from_secs(30);
/// Cassandra's limit for the name of a keyspace.
const KEYSPACE_CHARS_MAX: usize = 48;

/// The schema version of this build.
pub const NEWEST: usize = MIGRATIONS.len();

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    pub keyspace: String,
    /// `None` when the keyspace does not exist.
    pub replication: Option<BTreeMap<String, u8>>,
    /// Zero when there are no tables.
    pub version: usize,
}

#[derive(Debug, Error)]
pub enum SchemaError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(
        "{0:?} is not a valid keyspace name: use a letter, then letters, digits and _, at most {KEYSPACE_CHARS_MAX} characters"
    )]
    InvalidKeyspace(String),
    #[error(
        "the cluster has no keyspace {0}: create it with 'godwit schema create', or correct the name in --store"
    )]
    NoKeyspace(String),
    #[error(
        "keyspace {keyspace} has version {found}, but this build needs {NEWEST}: run 'godwit schema migrate'"
    )]
    TooOld { keyspace: String, found: usize },
    #[error(
        "keyspace {keyspace} has version {found}, from a newer Godwit; this build knows {NEWEST}: use the newer build"
    )]
    TooNew { keyspace: String, found: usize },
    #[error(
        "keyspace {keyspace} has {found} replicas in data centre {datacenter}, expected {wanted}: ALTER KEYSPACE and run a full repair, or correct store.cassandra.replication"
    )]
    WrongReplication { keyspace: String, datacenter: String, found: u8, wanted: u8 },
    #[error(
        "{wanted} replicas need {wanted} nodes, but data centre {datacenter} has {nodes}: add nodes, or set store.cassandra.replication to {nodes}"
    )]
    TooFewNodes { datacenter: String, nodes: usize, wanted: u8 },
    #[error("the cluster has no data centre {0}: correct store.cassandra.replication or .datacenter")]
    NoDatacenter(String),
    #[error("another server has been migrating keyspace {0} for too long: check its log, then retry")]
    Locked(String),
    #[error("the cluster could not {operation}: {reason}")]
    Refused { operation: &'static str, reason: String },
}

/// The schema as CQL, as `create` would execute it.
pub fn print(options: &Options) -> String {
    let mut text = String::new();
    let replication = match &options.replication {
        Replication::PerDatacenter(copies) => replication_map(copies),
        Replication::Each(copies) => {
            format!("{{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}")
        }
        Replication::Default => {
            format!("{{'class': 'NetworkTopologyStrategy', 'replication_factor': {}}}", Replication::COPIES)
        }
    };
    let _ = writeln!(
        text,
        "CREATE KEYSPACE IF NOT EXISTS {} WITH replication = {replication};",
        options.keyspace
    );
    let _ = writeln!(text, "USE {};\n\n{BOOKKEEPING}", options.keyspace);
    for (version, migration) in (1..).zip(MIGRATIONS) {
        let _ = writeln!(text, "-- Migration {version}: {}\n\n{}", migration.name, migration.cql);
    }
    text
}

pub async fn status(options: &Options) -> Result<Status, SchemaError> {
    Schema::connect(options).await?.status().await
}

/// Creates the keyspace unless it exists, and migrates it to the newest version.
pub async fn create(options: &Options) -> Result<Status, SchemaError> {
    let schema = Schema::connect_patiently(options).await?;
    schema.create().await?;
    schema.status().await
}

/// Migrates an existing keyspace to the newest version.
pub async fn migrate(options: &Options) -> Result<Status, SchemaError> {
    let schema = Schema::connect_patiently(options).await?;
    if schema.replication().await?.is_none() {
        return Err(SchemaError::NoKeyspace(options.keyspace.clone()));
    }
    schema.migrate().await?;
    schema.status().await
}

/// Drops the keyspace with all its data, table by table. If a Cassandra node drops a whole keyspace while a
/// late write reaches one of its tables, the drop fails midway: the commit log refers to a dropped table. Every
/// later schema change on that node fails too, until it is restarted.
pub async fn drop(options: &Options) -> Result<(), SchemaError> {
    let schema = Schema::connect_patiently(options).await?;
    let keyspace = &options.keyspace;
    for table in schema.tables().await? {
        schema.change("drop a table", &format!("DROP TABLE IF EXISTS {keyspace}.{table}")).await?;
    }
    schema.change("drop the keyspace", &format!("DROP KEYSPACE IF EXISTS {keyspace}")).await
}

/// Runs when the store is opened: checks the schema, creates or migrates it if it may, and otherwise returns
/// what is wrong.
pub(crate) async fn prepare(options: &Options) -> Result<Session, SchemaError> {
    let mut schema = Schema::connect(options).await?;
    let found = schema.replication().await?;
    let version = if found.is_some() { schema.version().await? } else { 0 };
    if version > NEWEST {
        return Err(SchemaError::TooNew { keyspace: options.keyspace.clone(), found: version });
    }
    if found.is_none() && !options.migrate {
        return Err(SchemaError::NoKeyspace(options.keyspace.clone()));
    }
    if version < NEWEST && !options.migrate {
        return Err(SchemaError::TooOld { keyspace: options.keyspace.clone(), found: version });
    }
    if version < NEWEST {
        create(options).await?;
        // Connects again, so that the driver knows the new tables.
        schema = Schema::connect(options).await?;
    }
    schema.check_replication().await?;
    schema.warn_of_local_agreement().await?;
    let used = schema.session.use_keyspace(&options.keyspace, false).await;
    used.map_err(|error| SchemaError::Refused { operation: "use the keyspace", reason: error.to_string() })?;
    Ok(schema.session)
}

struct Schema<'a> {
    session: Session,
    options: &'a Options,
}

impl<'a> Schema<'a> {
    async fn connect(options: &'a Options) -> Result<Self, SchemaError> {
        let name = &options.keyspace;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !begins || name.len() > KEYSPACE_CHARS_MAX || !name.chars().all(plain) {
            return Err(SchemaError::InvalidKeyspace(name.clone()));
        }
        Ok(Self { session: connect(options).await?, options })
    }

    /// Connects with more patience than the options have, for schema changes.
    async fn connect_patiently(options: &'a Options) -> Result<Self, SchemaError> {
        let silence_max = options.silence_max.max(CHANGE_SILENCE_MAX);
        let Schema { session, .. } = Schema::connect(&Options { silence_max, ..options.clone() }).await?;
        Ok(Self { session, options })
    }

    async fn status(&self) -> Result<Status, SchemaError> {
        let replication = self.replication().await?;
        let version = if replication.is_some() { self.version().await? } else { 0 };
        Ok(Status { keyspace: self.options.keyspace.clone(), replication, version })
    }

    async fn create(&self) -> Result<(), SchemaError> {
        if self.replication().await?.is_none() {
            let copies = self.wanted_copies()?;
            let keyspace = &self.options.keyspace;
            for (datacenter, copies) in copies.iter().filter(|(_, copies)| **copies < Replication::COPIES) {
                tracing::warn!(
                    keyspace,
                    datacenter,
                    copies,
                    "few replicas: losing one node loses data, and one node that is down stops writes"
                );
            }
            let replication = replication_map(&copies);
            let cql = format!("CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {replication}");
            self.change("create the keyspace", &cql).await?;
        }
        self.migrate().await
    }

    async fn migrate(&self) -> Result<(), SchemaError> {
        let version = self.version().await?;
        if version > NEWEST {
            return Err(SchemaError::TooNew { keyspace: self.options.keyspace.clone(), found: version });
        }
        if version == NEWEST {
            return Ok(());
        }
        self.apply_all(BOOKKEEPING).await?;
        let owner = Uuid::from_u128(random());
        self.lock(owner).await?;
        let done = self.apply_missing().await;
        // Other nodes need not wait for the lock to expire, which it does if this fails.
        let unlock = format!(
            "DELETE FROM {}.schema_lock WHERE name = 'migration' IF owner = {owner}",
            self.options.keyspace
        );
        if let Err(error) = self.conditional(&unlock).await {
            tracing::warn!(%error, "could not release the schema lock; it expires on its own");
        }
        done
    }

    async fn apply_missing(&self) -> Result<(), SchemaError> {
        // Another node may have migrated while this one waited for the lock.
        let version = self.version().await?;
        for (number, migration) in (1..).zip(MIGRATIONS).skip(version) {
            tracing::info!(number, name = migration.name, "migrating the schema");
            self.apply_all(migration.cql).await?;
            let done = format!(
                "INSERT INTO {}.schema_migrations (version, name, applied_at) VALUES ({number}, '{}', toTimestamp(now()))",
                self.options.keyspace, migration.name
            );
            self.run("record a migration", &done, Consistency::Quorum, None).await?;
        }
        Ok(())
    }

    /// Runs the statements one after the other on the same Cassandra node, which therefore knows the effects of
    /// the previous ones, and then waits for schema agreement once. A node that crashed during a migration has
    /// applied some of its statements, so a repetition skips those.
    async fn apply_all(&self, cql: &str) -> Result<(), SchemaError> {
        let node = self.first_node();
        for statement in statements(cql) {
            let operation = match AddedColumn::of(statement) {
                Some(added) if self.has_column(&added, node.clone()).await? => continue,
                Some(_) => "add a column",
                None => "create a table",
            };
            self.run(operation, &self.qualified(statement), Consistency::One, node.clone()).await?;
        }
        self.agree().await
    }

    async fn has_column(
        &self,
        added: &AddedColumn<'_>,
        node: Option<Arc<dyn LoadBalancingPolicy>>,
    ) -> Result<bool, SchemaError> {
        let cql = format!(
            "SELECT column_name FROM system_schema.columns \
             WHERE keyspace_name = '{}' AND table_name = '{}' AND column_name = '{}'",
            self.options.keyspace.to_ascii_lowercase(),
            added.table,
            added.column
        );
        let found = self.run("read the schema", &cql, Consistency::One, node).await?;
        let refused = |reason| SchemaError::Refused { operation: "read the schema", reason };
        let rows = found.into_rows_result().map_err(|error| refused(error.to_string()))?;
        Ok(rows.rows_num() > 0)
    }

    /// Waits for the lock, or until another node has applied all migrations; then nothing is left to do.
    async fn lock(&self, owner: Uuid) -> Result<(), SchemaError> {
        let keyspace = &self.options.keyspace;
        let take = format!(
            "INSERT INTO {keyspace}.schema_lock (name, owner) VALUES ('migration', {owner}) IF NOT EXISTS \
             USING TTL {LOCK_TTL_SECONDS}"
        );
        let holder = format!("SELECT owner FROM {keyspace}.schema_lock WHERE name = 'migration'");
        let waiting = async {
            loop {
                // When many nodes start at once, an answer may get lost, so the lock is read back.
                match self.conditional(&take).await {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    Err(error) => tracing::debug!(%error, "asking again who holds the schema lock"),
                }
                let held = self.rows::<(Option<Uuid>,)>("take the schema lock", &holder, Consistency::Serial);
                if held.await.is_ok_and(|rows| rows.first() == Some(&(Some(owner),))) {
                    return Ok(());
                }
                if self.version().await? == NEWEST {
                    return Ok(());
                }
                sleep(LOCK_LOOK_INTERVAL.mul_f64(random::<f64>() + 0.5)).await;
            }
        };
        let waited = tokio::time::timeout(LOCK_WAIT_MAX, waiting).await;
        waited.unwrap_or_else(|_| Err(SchemaError::Locked(keyspace.clone())))
    }

    /// The newest version applied.
    async fn version(&self) -> Result<usize, SchemaError> {
        let keyspace = &self.options.keyspace;
        if !self.tables().await?.iter().any(|name| name == "schema_migrations") {
            return Ok(0);
        }
        let cql = format!("SELECT version FROM {keyspace}.schema_migrations");
        let mut attempt = 0;
        let versions = loop {
            attempt += 1;
            match self.rows::<(i32,)>("read the version", &cql, Consistency::Quorum).await {
                Ok(versions) => break versions,
                Err(error) if attempt == VERSION_ATTEMPTS_MAX => return Err(error),
                // Another Cassandra node may not know the table yet.
                Err(_) => pause(attempt).await,
            }
        };
        Ok(versions
            .into_iter()
            .map(|(version,)| version)
            .max()
            .and_then(|v| usize::try_from(v).ok())
            .unwrap_or(0))
    }

    /// All tables of the keyspace, including those of other builds.
    async fn tables(&self) -> Result<Vec<String>, SchemaError> {
        let cql = format!(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{}'",
            self.options.keyspace.to_ascii_lowercase()
        );
        let found = self.rows::<(String,)>("read the schema", &cql, Consistency::One).await?;
        Ok(found.into_iter().map(|(name,)| name).collect())
    }

    /// Replicas per data centre. `None` when the keyspace does not exist.
    async fn replication(&self) -> Result<Option<BTreeMap<String, u8>>, SchemaError> {
        let cql = format!(
            "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = '{}'",
            self.options.keyspace.to_ascii_lowercase()
        );
        let found =
            self.rows::<(BTreeMap<String, String>,)>("read the schema", &cql, Consistency::One).await?;
        Ok(found.into_iter().next().map(|(map,)| {
            map.into_iter().filter_map(|(name, copies)| Some((name, copies.parse().ok()?))).collect()
        }))
    }

    async fn check_replication(&self) -> Result<(), SchemaError> {
        let Some(found) = self.replication().await? else {
            return Err(SchemaError::NoKeyspace(self.options.keyspace.clone()));
        };
        for (datacenter, wanted) in self.wanted_copies()? {
            // A keyspace with `SimpleStrategy` has no data centres.
            let found =
                found.get(&datacenter).or_else(|| found.get("replication_factor")).copied().unwrap_or(0);
            let enough = self.options.replication == Replication::Default && found > wanted;
            if found != wanted && !enough {
                let keyspace = self.options.keyspace.clone();
                return Err(SchemaError::WrongReplication { keyspace, datacenter, found, wanted });
            }
        }
        Ok(())
    }

    /// Warns if compare-and-set covers only one of several data centres: servers of another one would not see
    /// it.
    async fn warn_of_local_agreement(&self) -> Result<(), SchemaError> {
        let datacenters = self.replication().await?.map_or(0, |copies| copies.len());
        if datacenters > 1 && self.options.consistency.serial == SerialConsistency::LocalSerial {
            tracing::warn!(
                datacenters,
                "compare-and-set is LOCAL_SERIAL: all servers must use the same data centre, or set \
                 store.cassandra.consistency.serial to SERIAL"
            );
        }
        Ok(())
    }

    fn wanted_copies(&self) -> Result<BTreeMap<String, u8>, SchemaError> {
        let mut nodes = BTreeMap::<String, usize>::new();
        for node in self.session.get_cluster_state().get_nodes_info() {
            *nodes.entry(node.datacenter.clone().unwrap_or_default()).or_default() += 1;
        }
        if let Some(datacenter) = self.options.datacenter.as_ref().filter(|name| !nodes.contains_key(*name)) {
            return Err(SchemaError::NoDatacenter(datacenter.clone()));
        }
        let wanted: BTreeMap<String, u8> = match &self.options.replication {
            Replication::PerDatacenter(copies) => copies.clone(),
            Replication::Each(copies) => nodes.keys().map(|name| (name.clone(), *copies)).collect(),
            Replication::Default => {
                let copies = |count: usize| u8::try_from(count).unwrap_or(u8::MAX).min(Replication::COPIES);
                nodes.iter().map(|(name, count)| (name.clone(), copies(*count))).collect()
            }
        };
        for (datacenter, wanted) in &wanted {
            let Some(nodes) = nodes.get(datacenter).copied() else {
                return Err(SchemaError::NoDatacenter(datacenter.clone()));
            };
            if nodes < usize::from(*wanted) {
                return Err(SchemaError::TooFewNodes {
                    datacenter: datacenter.clone(),
                    nodes,
                    wanted: *wanted,
                });
            }
        }
        Ok(wanted)
    }

    /// Makes a schema change, always on the same Cassandra node. That node serializes changes, while two nodes
    /// could each create a table of the same name.
    async fn change(&self, operation: &'static str, cql: &str) -> Result<(), SchemaError> {
        self.run(operation, cql, Consistency::One, self.first_node()).await?;
        self.agree().await
    }

    async fn agree(&self) -> Result<(), SchemaError> {
        let agreed = self.session.await_schema_agreement().await;
        let refused = |reason| SchemaError::Refused { operation: "agree on the schema", reason };
        agreed.map(|_| ()).map_err(|error| refused(error.to_string()))
    }

    fn first_node(&self) -> Option<Arc<dyn LoadBalancingPolicy>> {
        let state = self.session.get_cluster_state();
        let first = state
            .get_nodes_info()
            .iter()
            .filter(|node| node.is_connected())
            .min_by_key(|node| node.host_id)?;
        Some(SingleTargetLoadBalancingPolicy::new(NodeIdentifier::Node(first.clone()), None))
    }

    async fn conditional(&self, cql: &str) -> Result<bool, SchemaError> {
        let result = self.run("take the schema lock", cql, Consistency::Quorum, None).await?;
        let refused = |reason: String| SchemaError::Refused { operation: "take the schema lock", reason };
        let rows = result.into_rows_result().map_err(|error| refused(error.to_string()))?;
        let row = rows.first_row::<Row>().map_err(|error| refused(error.to_string()))?;
        Ok(row.columns.first().cloned().flatten().and_then(|value| value.as_boolean()).unwrap_or(false))
    }

    async fn rows<R>(
        &self,
        operation: &'static str,
        cql: &str,
        consistency: Consistency,
    ) -> Result<Vec<R>, SchemaError>
    where
        R: for<'frame, 'metadata> scylla::deserialize::row::DeserializeRow<'frame, 'metadata>,
    {
        let refused = |reason: String| SchemaError::Refused { operation, reason };
        let result = self.run(operation, cql, consistency, None).await?;
        let rows = result.into_rows_result().map_err(|error| refused(error.to_string()))?;
        let rows = rows.rows::<R>().map_err(|error| refused(error.to_string()))?;
        rows.collect::<Result<_, _>>().map_err(|error| refused(error.to_string()))
    }

    async fn run(
        &self,
        operation: &'static str,
        cql: &str,
        consistency: Consistency,
        on: Option<Arc<dyn LoadBalancingPolicy>>,
    ) -> Result<scylla::response::query_result::QueryResult, SchemaError> {
        let mut statement = Statement::new(cql);
        statement.set_consistency(consistency);
        statement.set_serial_consistency(Some(SerialConsistency::Serial));
        statement.set_load_balancing_policy(on);
        let result = self.session.query_unpaged(statement, ()).await;
        result.map_err(|error: ExecutionError| SchemaError::Refused { operation, reason: error.to_string() })
    }

    fn qualified(&self, statement: &str) -> String {
        let before_name = if statement.starts_with(ALTER) { ALTER } else { CREATE };
        statement.replacen(before_name, &format!("{before_name}{}.", self.options.keyspace), 1)
    }
}

fn replication_map(copies: &BTreeMap<String, u8>) -> String {
    let copies: String = copies.iter().map(|(name, copies)| format!(", '{name}': {copies}")).collect();
    format!("{{'class': 'NetworkTopologyStrategy'{copies}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_schema_has_the_keyspace_and_all_tables() {
        let text = print(&Options::new(vec!["localhost".into()], "chat"));
        assert!(text.starts_with("CREATE KEYSPACE IF NOT EXISTS chat WITH replication"));
        assert_eq!(text.matches("CREATE TABLE").count(), 36);
    }
}
