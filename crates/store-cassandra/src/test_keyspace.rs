//! The keyspace that tests share: making one takes longer than most of them, and a cluster with many is slow. Every test has
//! users of its own.

use godwit_testkit::cluster::Shared;
use tokio::sync::OnceCell;

use crate::options::Options;
use crate::schema;

/// Its name; it is made for the first who asks.
pub(crate) async fn keyspace(cluster: &Shared) -> &'static str {
    static KEYSPACE: OnceCell<String> = OnceCell::const_new();
    let make = async || {
        let name = format!("tests_{:08x}", rand::random::<u32>());
        schema::create(&Options::patient(cluster.contact_points(), &name)).await.unwrap();
        name
    };
    KEYSPACE.get_or_init(make).await
}
