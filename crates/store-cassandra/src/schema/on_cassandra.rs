//! Tests on Cassandra, each in a keyspace of its own.

use futures_util::future::join_all;
use godwit_testbed::{Cassandra, Shared};

use super::*;

/// Nodes that start at the same time.
const NODES: usize = 4;

/// The name of a keyspace that does not exist yet.
fn fresh() -> (Shared, Options) {
    let cassandra = Cassandra::shared().unwrap_or_else(|error| panic!("{error}"));
    let keyspace = format!("schema_{:08x}", random::<u32>());
    let options = Options::patient(cassandra.contact_points(), keyspace);
    (cassandra, Options { replication: Replication::Default, ..options })
}

async fn write(options: &Options, cql: &str) {
    let schema = Schema::connect(options).await.unwrap();
    let cql = cql.replace("KEYSPACE", &options.keyspace);
    schema.run("change the bookkeeping", &cql, Consistency::Quorum, None).await.unwrap();
}

#[tokio::test]
async fn nodes_that_start_at_once_apply_every_migration_once() {
    let (_cassandra, options) = fresh();
    assert_eq!(status(&options).await.unwrap().replication, None);
    let opened = join_all((0..NODES).map(|_| prepare(&options))).await;
    assert!(
        opened.iter().all(Result::is_ok),
        "{:?}",
        opened.iter().filter_map(|o| o.as_ref().err()).collect::<Vec<_>>()
    );
    let made = status(&options).await.unwrap();
    assert_eq!(
        (made.version, made.replication.map(|copies| copies.into_values().collect())),
        (NEWEST, Some(vec![3]))
    );
    // The tables are complete: a statement about each can be prepared.
    let session = opened.into_iter().next().unwrap().unwrap();
    for statement in MIGRATIONS.iter().flat_map(|migration| statements(migration.cql)) {
        let (column, name) = match AddedColumn::of(statement) {
            Some(AddedColumn { table, column }) => (column, table),
            None => ("*", statement.trim_start_matches(CREATE).split([' ', '(']).next().unwrap()),
        };
        session.prepare(format!("SELECT {column} FROM {name}")).await.unwrap();
    }
}

#[tokio::test]
async fn a_node_that_makes_tables_may_be_silent_for_longer_than_others() {
    let (_cassandra, options) = fresh();
    let hasty = Options { silence_max: Duration::from_micros(1), ..options };
    assert_eq!(create(&hasty).await.unwrap().version, NEWEST);
}

#[tokio::test]
async fn versions_that_this_build_does_not_know_are_left_alone() {
    let (_cassandra, options) = fresh();
    let cautious = Options { migrate: false, ..options.clone() };
    assert!(matches!(prepare(&cautious).await, Err(SchemaError::NoKeyspace(_))));
    assert!(matches!(migrate(&options).await, Err(SchemaError::NoKeyspace(_))));
    create(&options).await.unwrap();
    prepare(&cautious).await.unwrap();

    // The keyspace as an older build left it, and then as a newer one did.
    write(&options, &format!("DELETE FROM KEYSPACE.schema_migrations WHERE version = {NEWEST}")).await;
    let error = prepare(&cautious).await.unwrap_err();
    assert!(matches!(error, SchemaError::TooOld { found, .. } if found == NEWEST - 1), "{error}");
    migrate(&options).await.unwrap();
    prepare(&cautious).await.unwrap();

    let newer = NEWEST + 1;
    write(&options, &format!("INSERT INTO KEYSPACE.schema_migrations (version) VALUES ({newer})")).await;
    for refused in [
        prepare(&options).await.map(drop_session),
        create(&options).await.map(|_| ()),
        migrate(&options).await.map(|_| ()),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, SchemaError::TooNew { found, .. } if found == newer), "{error}");
    }
    assert_eq!(status(&options).await.unwrap().version, newer);
}

fn drop_session(_: Session) {}
