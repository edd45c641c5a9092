//! The index of invite links.
//!
//! A token carries the entry that made it as the timestamp, and is deleted with a later one. So a late or
//! repeated projection does not bring back a revoked invite.

use godwit_domain::model::{Change, Entry, InviteToken};
use godwit_domain::ports::StoreError;
use godwit_domain::projection::InviteWrite;
use godwit_protocol::{ConversationId, Seq};
use scylla::errors::PrepareError;

use crate::cql::{Cql, Read, Write};
use crate::values::int;

#[derive(Debug)]
pub(super) struct Statements {
    find: Read,
    put: Write,
    remove: Write,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            find: cql.prepare_read("SELECT conversation_id FROM invites WHERE invite = ?").await?,
            put: cql
                .prepare_write(
                    "INSERT INTO invites (invite, conversation_id) VALUES (?, ?) USING TIMESTAMP ?",
                )
                .await?,
            remove: cql.prepare_write("DELETE FROM invites USING TIMESTAMP ? WHERE invite = ?").await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Invites<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Invites<'_> {
    pub(super) async fn write(
        self,
        id: ConversationId,
        entries: &[Entry],
        write: &InviteWrite,
    ) -> Result<(), StoreError> {
        let token = write.token.as_str();
        if write.usable {
            let values = (token, int(id.get()), int(made_at(entries, &write.token).get()));
            self.cql.write("write an invite", &self.statements.put, values).await
        } else {
            let last = entries.last().map_or(Seq::ZERO, |entry| entry.seq);
            self.cql.write("revoke an invite", &self.statements.remove, (int(last.get()), token)).await
        }
    }

    pub(crate) async fn find(self, token: &InviteToken) -> Result<Option<ConversationId>, StoreError> {
        let row: Option<(i64,)> =
            self.cql.row("find an invite", &self.statements.find, (token.as_str(),)).await?;
        Ok(row.map(|(id,)| ConversationId::new(id.cast_unsigned())))
    }
}

/// The seq of the entry that made an invite.
fn made_at(entries: &[Entry], token: &InviteToken) -> Seq {
    let makes = |entry: &&Entry| match &entry.change {
        Change::InviteCreated { invite } => invite.token == *token,
        _ => false,
    };
    entries.iter().find(makes).or_else(|| entries.first()).map_or(Seq::ZERO, |entry| entry.seq)
}
