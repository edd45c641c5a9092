//! Receipts: who has received and read a message, and when.

use godwit_protocol::messages::{MessageStatus, Receipt, ReceiptList};
use godwit_protocol::{ConversationId, MessageId, Timestamp, UserId};

use super::reading::{ReadError, Reading};
use super::viewing::Viewer;
use crate::bounds::cut;
use crate::model::{Entry, Member};
use crate::ports::{ReceiptTimes, StoreError};
use crate::sight::Discretion;

/// Members to whom a message is on its way, or has come.
struct Awaited {
    /// In the order of their ids.
    members: Vec<Member>,
    /// Whether they are all that there are.
    is_whole: bool,
    /// Where the next page of them begins.
    next: Option<UserId>,
}

impl Reading {
    /// One for each member but the sender, in the order of their ids: those after `after`, and where to go on. How far all of
    /// them have come is said where all members are in memory.
    pub async fn receipts(
        &self,
        by: UserId,
        id: MessageId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(ReceiptList, Option<UserId>), ReadError> {
        let (viewer, item) = self.locate(by, id).await?;
        let sender = item.entry.message().ok_or(ReadError::NotFound)?.sender_id;
        let Awaited { mut members, is_whole, mut next } =
            self.awaited(&viewer, &item.entry, sender, after, limit).await?;
        let kind = viewer.live.read(|state| state.conversation.kind);
        let ids = members.iter().map(|member| member.user_id);
        let discretion = Discretion::of(&*self.store, by, kind, ids).await?;
        let status = |member: &Member| self.receipt_status(&viewer, &item.entry, &discretion, member);
        // A page of some members says nothing about all of them.
        let least = is_whole.then(|| members.iter().map(status).min().unwrap_or(MessageStatus::Read));
        if is_whole {
            members.retain(|member| after.is_none_or(|after| member.user_id > after));
            if members.len() > limit {
                members.truncate(limit);
                next = members.last().map(|last| last.user_id);
            }
        }
        let ids: Vec<UserId> = members.iter().map(|member| member.user_id).collect();
        let times = self.store.receipts(viewer.live.id(), item.entry.seq, &ids).await?;
        let receipts = members.iter().zip(times);
        let receipts =
            receipts.map(|(member, times)| self.receipt(viewer.live.id(), status(member), member, times));
        let mut receipts: Vec<Receipt> = receipts.collect();
        if cut(&mut receipts) {
            next = receipts.last().map(|last| last.user_id);
        }
        let list = ReceiptList {
            delivered_to_all: least.map(|least| least >= MessageStatus::Delivered),
            read_by_all: least.map(|least| least >= MessageStatus::Read),
            receipts,
            next: None,
        };
        Ok((list, next))
    }

    /// Members who may receive a message: all of them, or a page where they are not all in memory. Who came later is not
    /// waited for.
    async fn awaited(
        &self,
        viewer: &Viewer,
        entry: &Entry,
        sender: UserId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Awaited, StoreError> {
        let is_awaited = |member: &Member| member.user_id != sender && member.visible_from <= entry.seq;
        let whole = viewer.live.read(|state| {
            let awaited = state.members.iter().filter(|member| is_awaited(member));
            state.is_whole().then(|| awaited.cloned().collect())
        });
        if let Some(members) = whole {
            return Ok(Awaited { members, is_whole: true, next: None });
        }
        let mut members = self.store.members(viewer.live.id(), after, limit).await?;
        let next = if members.len() == limit { members.last().map(|last| last.user_id) } else { None };
        members.retain(is_awaited);
        Ok(Awaited { members, is_whole: false, next })
    }

    /// How far a message has come with a member, as the viewer may know it.
    fn receipt_status(
        &self,
        viewer: &Viewer,
        entry: &Entry,
        discretion: &Discretion,
        member: &Member,
    ) -> MessageStatus {
        // A move of the last second is not in the store yet.
        let unsaved = self.conversations.unsaved.of(viewer.live.id(), member.user_id);
        let cursor = unsaved.map_or(member.cursor, |moved| member.cursor.advanced_by(moved.cursor));
        discretion.status_for(member.user_id, cursor.status(entry.seq))
    }

    fn receipt(
        &self,
        conversation: ConversationId,
        status: MessageStatus,
        member: &Member,
        times: ReceiptTimes,
    ) -> Receipt {
        let moved_at = self.conversations.unsaved.of(conversation, member.user_id).map(|moved| moved.at);
        let reached = |stored: Option<Timestamp>, is_reached: bool| {
            if is_reached { stored.or(moved_at) } else { None }
        };
        Receipt {
            user_id: member.user_id,
            status,
            delivered_at: reached(times.delivered_at, status >= MessageStatus::Delivered),
            read_at: reached(times.read_at, status >= MessageStatus::Read),
        }
    }
}
