//! The keyspace that tests share, because creating one takes longer than most tests, and Cassandra is slow with
//! many. Every test has its own users.

use godwit_testbed::Shared;
use tokio::sync::OnceCell;

use crate::options::Options;
use crate::schema;

/// Its name. The first caller creates it.
pub(crate) async fn keyspace(cassandra: &Shared) -> &'static str {
    static KEYSPACE: OnceCell<String> = OnceCell::const_new();
    let make = async || {
        let name = format!("tests_{:08x}", rand::random::<u32>());
        schema::create(&Options::patient(cassandra.contact_points(), &name)).await.unwrap();
        name
    };
    KEYSPACE.get_or_init(make).await
}
