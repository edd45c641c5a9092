//! Loads the present state of conversations and members.

use std::ops::ControlFlow;
use std::sync::Arc;

use godwit_domain::model::{ConversationState, Details, FanOut, Member};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, UserId};

use crate::account::concealed;
use crate::engine::{Direction, View};
use crate::keys::{self, ConversationPart};
use crate::read::Read;
use crate::records::{
    ConcealedRecord, ConversationRecord, CursorRecord, DetailsRecord, HeadRecord, MemberRecord, Record,
    corrupt,
};

/// All rows of a conversation except its log are one range, so one scan loads them. For a large conversation
/// the scan ends before the members.
pub(crate) fn load(view: &View, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
    let (mut conversation, mut head, mut details, mut members) = (None, None, None, Vec::new());
    view.visit(&keys::conversation_parts(id), Direction::Forward, |key, value| {
        match keys::decode_part(key)? {
            ConversationPart::Conversation => {
                conversation = Some(ConversationRecord::decode(key, value)?.into_conversation(id)?);
            }
            ConversationPart::Head => head = Some(HeadRecord::decode(key, value)?.into_head()),
            ConversationPart::Details => {
                let record = Details::from(DetailsRecord::decode(key, value)?);
                let is_large = record.fan_out == FanOut::OnRead;
                details = Some(Arc::new(record));
                if is_large {
                    return Ok(ControlFlow::Break(()));
                }
            }
            ConversationPart::Member(user) => {
                members.push(MemberRecord::decode(key, value)?.into_member(user, None));
            }
            ConversationPart::Cursor(user) => set_cursor(&mut members, user, key, value)?,
            ConversationPart::Concealed(user) => set_concealed(&mut members, user, key, value)?,
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let Some(conversation) = conversation else { return Ok(None) };
    let (Some(head), Some(details)) = (head, details) else {
        let key = keys::conversation(id).bytes;
        return Err(corrupt::<ConversationRecord>(&key, "its head or its details are missing"));
    };
    Ok(Some(ConversationState { conversation, details, head, members }))
}

pub(crate) fn member(
    store: &impl Read,
    id: ConversationId,
    user: UserId,
) -> Result<Option<Member>, StoreError> {
    let member: Option<MemberRecord> = store.record(&keys::member(id, user))?;
    let Some(member) = member else { return Ok(None) };
    let cursor: Option<CursorRecord> = store.record(&keys::cursor(id, user))?;
    let member = member.into_member(user, cursor);
    Ok(Some(Member { concealed: concealed::of(store, id, user)?, ..member }))
}

pub(crate) fn members(
    store: &impl Read,
    id: ConversationId,
    after: Option<UserId>,
    limit: usize,
) -> Result<Vec<Member>, StoreError> {
    let mut members = Vec::new();
    for (key, value) in store.page(&keys::members_after(id, after), Direction::Forward, limit)? {
        let user = UserId::new(keys::last_id(MemberRecord::TABLE, &key)?);
        members.push(MemberRecord::decode(&key, &value)?.into_member(user, None));
    }
    let ends = members.first().zip(members.last()).map(|(first, last)| (first.user_id, last.user_id));
    if let Some((first_id, last_id)) = ends {
        for (key, value) in store.all(&keys::cursors(id, first_id, last_id))? {
            let user = UserId::new(keys::last_id(CursorRecord::TABLE, &key)?);
            set_cursor(&mut members, user, &key, &value)?;
        }
        for (key, value) in store.all(&keys::all_concealed(id, first_id, last_id))? {
            let user = UserId::new(keys::last_id(ConcealedRecord::TABLE, &key)?);
            set_concealed(&mut members, user, &key, &value)?;
        }
    }
    Ok(members)
}

/// `members` is sorted by id.
fn set_cursor(members: &mut [Member], user: UserId, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    if let Ok(place) = members.binary_search_by_key(&user, |member| member.user_id) {
        let member = &mut members[place];
        (member.cursor, member.moved_at) = CursorRecord::decode(key, value)?.into_cursor();
    }
    Ok(())
}

/// `members` is sorted by id. Former members are skipped.
fn set_concealed(members: &mut [Member], user: UserId, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    if let Ok(place) = members.binary_search_by_key(&user, |member| member.user_id) {
        members[place].concealed = ConcealedRecord::decode(key, value)?.into();
    }
    Ok(())
}
