//! What users have deleted only for themselves. It outlives their membership.
//!
//! Each value is written with itself as the timestamp, like the marks of [`cursors`](super::cursors), so it
//! only moves forward, regardless of who writes it and in which order.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use godwit_domain::model::{Concealed, Member};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq, UserId};
use scylla::errors::PrepareError;

use crate::cql::{Batch, Cql, Read, Write};
use crate::values::{bigint, int};

/// Users in one query. ScyllaDB accepts at most 100.
const ASKED_AT_ONCE_MAX: usize = 100;

#[derive(Debug)]
pub(super) struct Statements {
    all: Read,
    of: Read,
    clear: Write,
    hide: Write,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let of_user = "WHERE conversation_id = ? AND user_id = ?";
        let of_conversation =
            "SELECT user_id, cleared, cleared_ordinal, hidden_to FROM concealed WHERE conversation_id = ?";
        Ok(Self {
            all: cql.prepare_read(of_conversation).await?,
            of: cql.prepare_read(&format!("{of_conversation} AND user_id IN ?")).await?,
            clear: cql
                .prepare_write(&format!(
                    "UPDATE concealed USING TIMESTAMP ? SET cleared = ?, cleared_ordinal = ? {of_user}"
                ))
                .await?,
            hide: cql
                .prepare_write(&format!("UPDATE concealed USING TIMESTAMP ? SET hidden_to = ? {of_user}"))
                .await?,
        })
    }
}

type ConcealedRow = (i64, Option<i64>, Option<i64>, Option<i64>);

/// The concealed parts per user. A user who is missing has deleted nothing.
pub(super) type ByUser = HashMap<UserId, Concealed>;

#[derive(Debug, Clone, Copy)]
pub(super) struct Concealing<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Concealing<'_> {
    /// The concealed parts of all present and former members.
    pub(super) async fn all(self, id: ConversationId) -> Result<ByUser, StoreError> {
        let rows = self.cql.rows("load concealed entries", &self.statements.all, (int(id.get()),));
        Ok(by_user(rows.await?))
    }

    pub(super) async fn of(self, id: ConversationId, users: &[UserId]) -> Result<ByUser, StoreError> {
        let asked = users.chunks(ASKED_AT_ONCE_MAX).map(|users| {
            let users: Vec<i64> = users.iter().map(|user| int(user.get())).collect();
            self.cql.rows("read concealed entries", &self.statements.of, (int(id.get()), users))
        });
        let rows: Vec<Vec<ConcealedRow>> = try_join_all(asked).await?;
        Ok(by_user(rows.into_iter().flatten()))
    }

    /// Moves the values of a user forward.
    pub(super) async fn add(
        self,
        id: ConversationId,
        user: UserId,
        more: Concealed,
    ) -> Result<(), StoreError> {
        if more == Concealed::default() {
            return Ok(());
        }
        let key = || [bigint(id.get()), bigint(user.get())];
        let mut batch = Batch::new();
        if more.cleared > Seq::ZERO {
            let ([id, user], cleared) = (key(), more.cleared.get());
            let values = [bigint(cleared), bigint(cleared), bigint(more.cleared_ordinal), id, user];
            batch.write(&self.statements.clear, values);
        }
        if more.hidden_to > Seq::ZERO {
            let ([id, user], hidden_to) = (key(), more.hidden_to.get());
            batch.write(&self.statements.hide, [bigint(hidden_to), bigint(hidden_to), id, user]);
        }
        self.cql.write_batch("conceal entries", batch).await
    }
}

/// Fills `concealed` of members that were read without it.
pub(super) fn complete(members: &mut [Member], concealed: &ByUser) {
    for member in members {
        member.concealed = concealed.get(&member.user_id).copied().unwrap_or_default();
    }
}

fn by_user(rows: impl IntoIterator<Item = ConcealedRow>) -> ByUser {
    let number = |value: Option<i64>| value.unwrap_or(0).cast_unsigned();
    let of_user = |(user, cleared, ordinal, hidden_to): ConcealedRow| {
        let concealed = Concealed {
            cleared: Seq::new(number(cleared)),
            cleared_ordinal: number(ordinal),
            hidden_to: Seq::new(number(hidden_to)),
        };
        (UserId::new(user.cast_unsigned()), concealed)
    };
    rows.into_iter().map(of_user).collect()
}
