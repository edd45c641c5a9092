//! Who has received and read a message, and when.

use godwit_protocol::messages::{MessageStatus, Receipt, ReceiptList};
use godwit_protocol::{ConversationId, MessageId, Timestamp, UserId};

use super::reading::{ReadError, Reading};
use super::viewing::Viewer;
use crate::model::{ConversationState, Entry, Member};
use crate::ports::{ReceiptTimes, StoreError};
use crate::sight::Discretion;

impl Reading {
    /// One for each member but the sender: all at once, or a page of those after `after` where members are very many.
    pub async fn receipts(
        &self,
        by: UserId,
        id: MessageId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(ReceiptList, Option<UserId>), ReadError> {
        let (viewer, item) = self.locate(by, id).await?;
        let sender = item.entry.message().ok_or(ReadError::NotFound)?.sender_id;
        let (members, next) = self.some_members(&viewer, after, limit).await?;
        // Who came later is not waited for.
        let others: Vec<Member> = members
            .into_iter()
            .filter(|member| member.user_id != sender && member.visible_from <= item.entry.seq)
            .collect();
        let ids: Vec<UserId> = others.iter().map(|member| member.user_id).collect();
        let times = self.store.receipts(viewer.live.id(), item.entry.seq, &ids).await?;
        let kind = viewer.live.read(|state| state.conversation.kind);
        let discretion = Discretion::of(&*self.store, by, kind, ids).await?;
        let receipt =
            |member: &Member| self.receipt(viewer.live.id(), &item.entry, &discretion, member, &times);
        let receipts: Vec<Receipt> = others.iter().map(receipt).collect();
        let is_whole = viewer.live.read(ConversationState::is_whole);
        // A page of some members says nothing about all of them.
        let all = |least: MessageStatus| is_whole.then(|| receipts.iter().all(|r| r.status >= least));
        let list = ReceiptList {
            delivered_to_all: all(MessageStatus::Delivered),
            read_by_all: all(MessageStatus::Read),
            receipts,
            next: None,
        };
        Ok((list, next))
    }

    async fn some_members(
        &self,
        viewer: &Viewer,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(Vec<Member>, Option<UserId>), StoreError> {
        let whole = viewer.live.read(|state| state.is_whole().then(|| state.members.clone()));
        if let Some(members) = whole {
            return Ok((members, None));
        }
        let members = self.store.members(viewer.live.id(), after, limit).await?;
        let next = if members.len() == limit { members.last().map(|last| last.user_id) } else { None };
        Ok((members, next))
    }

    fn receipt(
        &self,
        conversation: ConversationId,
        entry: &Entry,
        discretion: &Discretion,
        member: &Member,
        times: &[ReceiptTimes],
    ) -> Receipt {
        let times = times.iter().find(|times| times.user_id == member.user_id);
        // A move of the last second is not in the store yet.
        let unsaved = self.conversations.unsaved.of(conversation, member.user_id);
        let cursor = unsaved.map_or(member.cursor, |moved| member.cursor.advanced_by(moved.cursor));
        let moved_at = unsaved.map(|moved| moved.at);
        let reached = |stored: Option<Timestamp>, is_reached: bool| {
            if is_reached { stored.or(moved_at) } else { None }
        };
        let status = discretion.status_for(member.user_id, cursor.status(entry.seq));
        Receipt {
            user_id: member.user_id,
            status,
            delivered_at: reached(times.and_then(|t| t.delivered_at), status >= MessageStatus::Delivered),
            read_at: reached(times.and_then(|t| t.read_at), status >= MessageStatus::Read),
        }
    }
}
