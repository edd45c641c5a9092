//! Members of conversations, and the members who do not have the conversation in their inbox.
//!
//! Member rows are written and deleted with the newest entry of the append as the timestamp, so of two
//! projections the later one wins, in whatever order they arrive. The cursors of members are kept apart, see
//! [`cursors`](super::cursors).

use std::collections::HashMap;

use futures_util::future::try_join_all;
use godwit_domain::model::{Concealed, Cursor, Member};
use godwit_domain::ports::StoreError;
use godwit_domain::projection::MemberWrite;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::DeserializeRow;
use scylla::errors::PrepareError;
use scylla::value::{CqlTimestamp, CqlValue};

use super::rows::{role_from_name, role_name};
use crate::cql::{Batch, Cql, Read, Write};
use crate::values::{bigint, int, row_limit, text, timestamp};

/// Members per batch.
const WRITTEN_TOGETHER_MAX: usize = 50;
/// Members in one query by id. ScyllaDB accepts at most 100.
const ASKED_AT_ONCE_MAX: usize = 100;

#[derive(Debug)]
pub(super) struct Statements {
    all: Read,
    after: Read,
    one: Read,
    put: Write,
    remove: Write,
    unlisted: Read,
    unlisted_of: Read,
    unlist: Write,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let member = "SELECT user_id, role, joined_at, added_by, visible_from, mentions FROM members WHERE conversation_id = ?";
        let unlisted = "SELECT user_id, through FROM unlisted WHERE conversation_id = ?";
        Ok(Self {
            all: cql.prepare_read(member).await?,
            after: cql.prepare_read(&format!("{member} AND user_id > ? LIMIT ?")).await?,
            one: cql.prepare_read(&format!("{member} AND user_id = ?")).await?,
            put: cql
                .prepare_write(
                    "INSERT INTO members \
                     (conversation_id, user_id, role, joined_at, added_by, visible_from, mentions) \
                     VALUES (?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
                )
                .await?,
            remove: cql
                .prepare_write(
                    "DELETE FROM members USING TIMESTAMP ? WHERE conversation_id = ? AND user_id = ?",
                )
                .await?,
            unlisted: cql.prepare_read(unlisted).await?,
            unlisted_of: cql.prepare_read(&format!("{unlisted} AND user_id IN ?")).await?,
            unlist: cql
                .prepare_write(
                    "UPDATE unlisted USING TIMESTAMP ? SET through = ? WHERE conversation_id = ? AND user_id = ?",
                )
                .await?,
        })
    }
}

#[derive(Debug, DeserializeRow)]
struct MemberRow {
    user_id: i64,
    role: String,
    joined_at: CqlTimestamp,
    /// 0 if the member joined on their own.
    added_by: Option<i64>,
    visible_from: i64,
    mentions: Option<Vec<i64>>,
}

/// Members whose inbox does not list the conversation until an entry after this seq is shown.
pub(super) type Unlisted = HashMap<UserId, Seq>;

#[derive(Debug, Clone, Copy)]
pub(super) struct Members<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Members<'_> {
    /// All members in the order of their ids, without their cursors. Only for conversations that are not large.
    pub(super) async fn all(self, id: ConversationId) -> Result<Vec<Member>, StoreError> {
        members(id, self.cql.rows("load members", &self.statements.all, (int(id.get()),)).await?)
    }

    /// The ids of all members, for conversations that are not large.
    pub(super) async fn users(self, id: ConversationId) -> Result<Vec<UserId>, StoreError> {
        Ok(self.all(id).await?.into_iter().map(|member| member.user_id).collect())
    }

    pub(super) async fn after(
        self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreError> {
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        // The lowest id is 0.
        let after = after.map_or(-1, |after| int(after.get()));
        let rows = self.cql.rows("list members", &self.statements.after, (int(id.get()), after, limit));
        members(id, rows.await?)
    }

    pub(super) async fn one(self, id: ConversationId, user: UserId) -> Result<Option<Member>, StoreError> {
        let values = (int(id.get()), int(user.get()));
        let row: Option<MemberRow> = self.cql.row("read a member", &self.statements.one, values).await?;
        Ok(members(id, row.into_iter().collect())?.into_iter().next())
    }

    pub(super) async fn write(
        self,
        id: ConversationId,
        writes: &[MemberWrite],
        through: Seq,
    ) -> Result<(), StoreError> {
        let written = writes.chunks(WRITTEN_TOGETHER_MAX).map(|writes| {
            let mut batch = Batch::new();
            for write in writes {
                match write {
                    MemberWrite::Put(member) => {
                        batch.write(&self.statements.put, row(id, member, through));
                    }
                    MemberWrite::Remove(user) => {
                        let values = [through.get(), id.get(), user.get()].map(bigint);
                        batch.write(&self.statements.remove, values);
                    }
                }
            }
            self.cql.write_batch("write members", batch)
        });
        try_join_all(written).await?;
        Ok(())
    }

    pub(super) async fn unlisted(self, id: ConversationId) -> Result<Unlisted, StoreError> {
        let rows = self.cql.rows("read unlisted members", &self.statements.unlisted, (int(id.get()),));
        Ok(unlisted(rows.await?))
    }

    pub(super) async fn unlisted_of(
        self,
        id: ConversationId,
        users: &[UserId],
    ) -> Result<Unlisted, StoreError> {
        let asked = users.chunks(ASKED_AT_ONCE_MAX).map(|users| {
            let users: Vec<i64> = users.iter().map(|user| int(user.get())).collect();
            self.cql.rows("read unlisted members", &self.statements.unlisted_of, (int(id.get()), users))
        });
        let rows: Vec<Vec<(i64, Option<i64>)>> = try_join_all(asked).await?;
        Ok(unlisted(rows.into_iter().flatten()))
    }

    /// Marks the conversation as unlisted through an entry; zero means that it is in the inbox. Of two writes
    /// the one made at the later entry, `at`, wins, and at the same entry the higher value.
    pub(super) async fn set_unlisted(
        self,
        id: ConversationId,
        user: UserId,
        through: Seq,
        at: Seq,
    ) -> Result<(), StoreError> {
        let values = (int(at.get()), int(through.get()), int(id.get()), int(user.get()));
        self.cql.write("mark a member as unlisted", &self.statements.unlist, values).await
    }
}

fn row(id: ConversationId, member: &Member, through: Seq) -> Vec<CqlValue> {
    let mentions = member.mentions.iter().map(|seq| bigint(seq.get())).collect();
    vec![
        bigint(id.get()),
        bigint(member.user_id.get()),
        text(role_name(member.role)),
        timestamp(member.joined_at),
        bigint(member.added_by.map_or(0, UserId::get)),
        bigint(member.visible_from.get()),
        CqlValue::List(mentions),
        bigint(through.get()),
    ]
}

fn members(id: ConversationId, rows: Vec<MemberRow>) -> Result<Vec<Member>, StoreError> {
    let member = |row: MemberRow| {
        let mentions = row.mentions.unwrap_or_default();
        Ok(Member {
            user_id: UserId::new(row.user_id.cast_unsigned()),
            role: role_from_name(id, &row.role)?,
            joined_at: Timestamp::from_millis(row.joined_at.0),
            added_by: row.added_by.filter(|id| *id != 0).map(|id| UserId::new(id.cast_unsigned())),
            visible_from: Seq::new(row.visible_from.cast_unsigned()),
            unlisted: false,
            cursor: Cursor::default(),
            concealed: Concealed::default(),
            moved_at: Timestamp::default(),
            mentions: mentions.into_iter().map(|seq| Seq::new(seq.cast_unsigned())).collect(),
        })
    };
    rows.into_iter().map(member).collect()
}

fn unlisted(rows: impl IntoIterator<Item = (i64, Option<i64>)>) -> Unlisted {
    let of_user = |(user, through): (i64, Option<i64>)| {
        (UserId::new(user.cast_unsigned()), Seq::new(through.unwrap_or(0).cast_unsigned()))
    };
    rows.into_iter().map(of_user).filter(|(_, through)| *through > Seq::ZERO).collect()
}
