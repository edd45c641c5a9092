//! Reactions to messages.

use godwit_domain::ports::{StoreError, StoredReaction};
use godwit_protocol::{ConversationId, Seq, UserId};

use crate::engine::{Direction, Row};
use crate::keys;
use crate::read::Read;
use crate::records::{ReactionRecord, Record};

pub(crate) fn after(
    store: &impl Read,
    id: ConversationId,
    seq: Seq,
    after: Option<UserId>,
    limit: usize,
) -> Result<Vec<StoredReaction>, StoreError> {
    let rows = store.page(&keys::reactions_after(id, seq, after), Direction::Forward, limit)?;
    let reaction = |(key, value): &Row| {
        let user_id = UserId::new(keys::last_id(ReactionRecord::TABLE, key)?);
        let ReactionRecord { reaction, at } = ReactionRecord::decode(key, value)?;
        Ok(StoredReaction { user_id, reaction, at })
    };
    rows.iter().map(reaction).collect()
}

pub(crate) fn by(
    store: &impl Read,
    id: ConversationId,
    asked: &[(Seq, UserId)],
) -> Result<Vec<Option<Box<str>>>, StoreError> {
    let reaction = |(seq, user): &(Seq, UserId)| {
        let record: Option<ReactionRecord> = store.record(&keys::reaction(id, *seq, *user))?;
        Ok(record.map(|record| record.reaction))
    };
    asked.iter().map(reaction).collect()
}
