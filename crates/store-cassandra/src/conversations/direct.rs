//! Making direct conversations: one for each pair, also when both make it at once on two nodes, and one that is whole, also
//! when the node that makes it dies in between.
//!
//! The row of the pair is agreed on first and has all that is needed for the rest. The rest can be repeated without harm,
//! and whoever finds the pair before the watermark says that it is done does so.

use futures_util::future::try_join_all;
use godwit_domain::model::{AccountEntry, Change, Conversation, Entry, Head, Kind, UserPair};
use godwit_domain::ports::{NewDirect, OpenedDirect, StoreError};
use godwit_protocol::conversations::{ConversationKind, Role};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;
use scylla::value::CqlTimestamp;

use super::append::{Appended, NewEntries};
use super::buckets::BucketStart;
use super::project::Projection;
use super::records::role_name;
use super::{Conversations, cursors};
use crate::cql::{Conditional, Cql, Outcome, Read, SerialRead, Write};
use crate::values::{int, time};

const FIRST: Seq = Seq::new(1);

#[derive(Debug)]
pub(super) struct Statements {
    find: Read,
    find_serial: SerialRead,
    claim: Conditional,
    conversation: Write,
    member: Write,
    watermark: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let find = "SELECT conversation_id, created_by, created_at, entry_id FROM directs WHERE low = ? AND high = ?";
        Ok(Self {
            find: cql.prepare_read(find).await?,
            find_serial: cql.prepare_serial_read(find).await?,
            claim: cql
                .prepare_conditional(
                    "INSERT INTO directs (low, high, conversation_id, created_by, created_at, entry_id) \
                     VALUES (?, ?, ?, ?, ?, ?) IF NOT EXISTS",
                )
                .await?,
            conversation: cql
                .prepare_write(
                    "UPDATE conversations SET kind = 'direct', created_by = ?, created_at = ? WHERE conversation_id = ?",
                )
                .await?,
            member: cql
                .prepare_write(
                    "INSERT INTO conversations (conversation_id, user_id, role, joined_at) VALUES (?, ?, ?, ?)",
                )
                .await?,
            watermark: cql
                .prepare_read("SELECT projected FROM log_buckets WHERE conversation_id = ? LIMIT 1")
                .await?,
        })
    }
}

type PairRow = (i64, i64, CqlTimestamp, i64);

impl Conversations {
    pub(super) async fn open_direct(
        &self,
        pair: UserPair,
        new: NewDirect,
    ) -> Result<OpenedDirect, StoreError> {
        let _turn = self.openings.take(pair).await;
        if let Some(id) = self.direct_of(pair).await? {
            return Ok(OpenedDirect { id, made: None });
        }
        let Conversation { id, created_by, created_at, .. } = new.conversation;
        let (low, high) = (int(pair.low().get()), int(pair.high().get()));
        let row = (low, high, int(id.get()), int(created_by.get()), time(created_at), int(new.created.id));
        let claimed = self.cql.conditional("open a conversation", &self.directs.claim, row).await;
        if let Outcome::Unknown(error) = &claimed {
            tracing::debug!(%id, %error, "reading back a new conversation");
        }
        let values = (low, high);
        let found: Option<PairRow> =
            self.cql.serial_row("open a conversation", &self.directs.find_serial, values).await?;
        let Some(found) = found else {
            return match claimed {
                Outcome::Unknown(error) => Err(error),
                Outcome::Applied | Outcome::NotApplied => Err(crate::cql::unavailable(
                    "open a conversation",
                    "the pair was not found after it was made",
                )),
            };
        };
        let new = new_direct(pair, found);
        let opened = new.conversation.id;
        let made = self.finish(&new).await?;
        Ok(OpenedDirect { id: opened, made: (opened == id).then_some(made) })
    }

    pub(super) async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError> {
        let values = (int(pair.low().get()), int(pair.high().get()));
        let row: Option<PairRow> = self.cql.row("find a conversation", &self.directs.find, values).await?;
        let Some(row) = row else { return Ok(None) };
        let new = new_direct(pair, row);
        let id = new.conversation.id;
        let watermark: Option<(Option<i64>,)> =
            self.cql.row("load a watermark", &self.directs.watermark, (int(id.get()),)).await?;
        let is_finished = watermark.and_then(|(projected,)| projected).is_some();
        if !is_finished {
            self.finish(&new).await?;
        }
        Ok(Some(id))
    }

    /// Everything but the row of the pair.
    async fn finish(&self, new: &NewDirect) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let NewDirect { conversation, created } = new;
        let Kind::Direct(pair) = conversation.kind;
        let (id, at, creator) = (conversation.id, conversation.created_at, conversation.created_by);
        let row = (int(creator.get()), time(at), int(id.get()));
        self.cql.write("make a conversation", &self.directs.conversation, row).await?;
        try_join_all([pair.low(), pair.high()].map(|user| async move {
            let row = (int(id.get()), int(user.get()), role_name(Role::Member), time(at));
            self.cql.write("make a member", &self.directs.member, row).await?;
            cursors::start(&self.cql, &self.cursors, id, user).await
        }))
        .await?;
        let head = Head::empty().after(created);
        let (entries, list_for) = (vec![created.clone()], vec![creator]);
        let appended = self.log().append(NewEntries {
            conversation: id,
            expected_head: Seq::ZERO,
            entries: &entries,
            head: &head,
            list_for: &list_for,
        });
        let begun = match appended.await? {
            Appended::AsFirstOf(start) => start,
            // Another one was faster, and may have stopped after that.
            Appended::Yes | Appended::No => BucketStart::new(0, created),
        };
        // It has no activity but that it was made.
        let projection = Projection {
            conversation: id,
            begun: Some(begun),
            entries,
            cursors: Vec::new(),
            members: Vec::new(),
            list_for,
            activity_at: at,
        };
        let made = self.projector().project(&projection).await?;
        // Not later with the others: until it is written everybody who looks for the pair does all this again.
        self.projector().raise_watermark(id, FIRST).await?;
        Ok(made)
    }
}

fn new_direct(pair: UserPair, (id, by, CqlTimestamp(at_ms), entry): PairRow) -> NewDirect {
    let created_by = UserId::new(by.cast_unsigned());
    NewDirect {
        conversation: Conversation {
            id: ConversationId::new(id.cast_unsigned()),
            kind: Kind::Direct(pair),
            created_by,
            created_at: Timestamp::from_millis(at_ms),
        },
        created: Entry {
            seq: FIRST,
            id: entry.cast_unsigned(),
            ordinal: 0,
            change: Change::Created {
                by: created_by,
                kind: ConversationKind::Direct,
                member_ids: vec![pair.low(), pair.high()],
            },
        },
    }
}
