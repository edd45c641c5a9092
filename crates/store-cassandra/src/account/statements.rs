//! The statements about accounts.

use scylla::errors::PrepareError;

use crate::cql::{Conditional, Cql, Read, SerialRead, Write};

#[derive(Debug)]
pub(super) struct Statements {
    /// Rows by their keys.
    pub(super) rows: Read,
    /// Rows of one kind from an id on.
    pub(super) rows_from: Read,
    /// The body of one row.
    pub(super) body: Read,
    pub(super) bodies_of: Read,
    pub(super) ids_after: Read,
    /// Rows of one kind below an id, the highest first.
    pub(super) bodies_below: Read,
    pub(super) log_last: Read,
    /// The body of one row, after every write begun before the read.
    pub(super) settled_body: SerialRead,
    pub(super) begin: Conditional,
    pub(super) advance: Conditional,
    pub(super) put: Write,
    pub(super) remove: Write,
    pub(super) device_owner: Read,
    pub(super) put_device_owner: Write,
    pub(super) remove_device_owner: Write,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let row = "SELECT kind, id, body, revision, log_last, log_floor, log_count, blocks, naming, stars FROM accounts";
        let set = "UPDATE accounts SET revision = ?, log_last = ?, log_floor = ?, log_count = ?, \
                   blocks = ?, naming = ?, stars = ? WHERE user_id = ?";
        let body = "SELECT body FROM accounts WHERE user_id = ? AND kind = ? AND id = ?";
        Ok(Self {
            rows: cql.prepare_read(&format!("{row} WHERE user_id = ? AND (kind, id) IN ?")).await?,
            rows_from: cql
                .prepare_read(&format!("{row} WHERE user_id = ? AND kind = ? AND id >= ? LIMIT ?"))
                .await?,
            body: cql.prepare_read(body).await?,
            settled_body: cql.prepare_serial_read(body).await?,
            bodies_of: cql
                .prepare_read("SELECT id, body FROM accounts WHERE user_id = ? AND kind = ? AND id IN ?")
                .await?,
            ids_after: cql
                .prepare_read("SELECT id FROM accounts WHERE user_id = ? AND kind = ? AND id > ? LIMIT ?")
                .await?,
            bodies_below: cql
                .prepare_read(
                    "SELECT id, body FROM accounts WHERE user_id = ? AND kind = ? AND id < ? \
                     ORDER BY kind DESC, id DESC LIMIT ?",
                )
                .await?,
            log_last: cql.prepare_read("SELECT log_last FROM accounts WHERE user_id = ? LIMIT 1").await?,
            begin: cql.prepare_conditional(&format!("{set} IF revision = null")).await?,
            advance: cql.prepare_conditional(&format!("{set} IF revision = ?")).await?,
            put: cql
                .prepare_write("INSERT INTO accounts (user_id, kind, id, body) VALUES (?, ?, ?, ?)")
                .await?,
            remove: cql
                .prepare_write("DELETE FROM accounts WHERE user_id = ? AND kind = ? AND id = ?")
                .await?,
            device_owner: cql.prepare_read("SELECT user_id FROM device_owners WHERE device_id = ?").await?,
            put_device_owner: cql
                .prepare_write("INSERT INTO device_owners (device_id, user_id) VALUES (?, ?)")
                .await?,
            remove_device_owner: cql.prepare_write("DELETE FROM device_owners WHERE device_id = ?").await?,
        })
    }
}
