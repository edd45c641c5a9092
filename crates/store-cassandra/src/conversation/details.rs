//! The conversation itself: its constant properties, and its details.
//!
//! Details carry the last entry that they include as the timestamp, so a late write changes nothing.

use std::sync::Arc;

use godwit_domain::model::{Conversation, Details, Kind, UserPair};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Timestamp, UserId};
use scylla::DeserializeRow;
use scylla::errors::PrepareError;
use scylla::value::CqlTimestamp;

use crate::cql::{Cql, Read, Write};
use crate::records::{StoredDetails, corrupt, from_json, to_json};
use crate::values::{int, time};

#[derive(Debug)]
pub(super) struct Statements {
    read: Read,
    make_direct: Write,
    make: Write,
    write: Write,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            read: cql
                .prepare_read(
                    "SELECT kind, created_by, created_at, low, high, details FROM conversations \
                     WHERE conversation_id = ? LIMIT 1",
                )
                .await?,
            make_direct: cql
                .prepare_write(
                    "UPDATE conversations SET kind = ?, created_by = ?, created_at = ?, low = ?, high = ? \
                     WHERE conversation_id = ?",
                )
                .await?,
            make: cql
                .prepare_write(
                    "UPDATE conversations SET kind = ?, created_by = ?, created_at = ? WHERE conversation_id = ?",
                )
                .await?,
            write: cql
                .prepare_write(
                    "UPDATE conversations USING TIMESTAMP ? SET details = ? WHERE conversation_id = ?",
                )
                .await?,
        })
    }
}

#[derive(Debug, DeserializeRow)]
struct Row {
    kind: Option<String>,
    created_by: Option<i64>,
    created_at: Option<CqlTimestamp>,
    low: Option<i64>,
    high: Option<i64>,
    details: Option<String>,
}

/// A conversation as stored.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) conversation: Conversation,
    /// `None` until the first entry has been projected.
    pub(super) details: Option<Arc<Details>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct AboutConversations<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl AboutConversations<'_> {
    pub(super) async fn read(self, id: ConversationId) -> Result<Option<Stored>, StoreError> {
        let row: Option<Row> =
            self.cql.row("load a conversation", &self.statements.read, (int(id.get()),)).await?;
        let Some(row) = row else { return Ok(None) };
        let (Some(kind), Some(by), Some(at)) = (&row.kind, row.created_by, row.created_at) else {
            return Ok(None);
        };
        let conversation = Conversation {
            id,
            kind: kind_from(id, kind, row.low.zip(row.high))?,
            created_by: UserId::new(by.cast_unsigned()),
            created_at: Timestamp::from_millis(at.0),
        };
        let details = row.details.map(|text| {
            let stored: StoredDetails = from_json("conversations", || id.to_string(), &text)?;
            Ok::<_, StoreError>(Arc::new(stored.into()))
        });
        Ok(Some(Stored { conversation, details: details.transpose()? }))
    }

    /// Written before the first entry. A conversation exists only once it has a log.
    pub(super) async fn make(self, conversation: &Conversation) -> Result<(), StoreError> {
        const OPERATION: &str = "make a conversation";
        let Conversation { id, kind, created_by, created_at } = conversation;
        let (id, by, at) = (int(id.get()), int(created_by.get()), time(*created_at));
        match kind {
            Kind::Direct(pair) => {
                let values = (DIRECT, by, at, int(pair.low().get()), int(pair.high().get()), id);
                self.cql.write(OPERATION, &self.statements.make_direct, values).await
            }
            Kind::Group => self.cql.write(OPERATION, &self.statements.make, (GROUP, by, at, id)).await,
            Kind::Channel => self.cql.write(OPERATION, &self.statements.make, (CHANNEL, by, at, id)).await,
        }
    }

    pub(super) async fn write(self, id: ConversationId, details: &Details) -> Result<(), StoreError> {
        let text = to_json(&StoredDetails::from(details));
        let values = (int(details.through.get()), text, int(id.get()));
        self.cql.write("write details", &self.statements.write, values).await
    }
}

const DIRECT: &str = "direct";
const GROUP: &str = "group";
const CHANNEL: &str = "channel";

fn kind_from(id: ConversationId, name: &str, pair: Option<(i64, i64)>) -> Result<Kind, StoreError> {
    let user = |id: i64| UserId::new(id.cast_unsigned());
    let pair = pair.and_then(|(low, high)| UserPair::new(user(low), user(high)));
    match (name, pair) {
        (DIRECT, Some(pair)) => Ok(Kind::Direct(pair)),
        (GROUP, None) => Ok(Kind::Group),
        (CHANNEL, None) => Ok(Kind::Channel),
        _ => {
            Err(corrupt("conversations", id.to_string(), "an unknown kind, or a direct one without its pair"))
        }
    }
}
