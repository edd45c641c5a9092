//! Receipts: who has received and read a message, and when.

use godwit_protocol::messages::{MessageStatus, Receipt, ReceiptList};
use godwit_protocol::{ConversationId, MessageId, Timestamp, UserId};

use super::reading::{ReadError, Reading};
use super::viewing::Viewer;
use crate::bounds::cut;
use crate::model::{Entry, Member};
use crate::ports::{ReceiptTimes, StoreError};
use crate::sight::Discretion;

/// The recipients of a message: the other members who can see it.
struct Awaited {
    /// Sorted by id.
    members: Vec<Member>,
    /// True if `members` has all recipients, and not only a page of them.
    is_whole: bool,
    /// The cursor of the next page.
    next: Option<UserId>,
}

impl Reading {
    /// One receipt for each recipient, sorted by user id. Returns a page after `after`, and the cursor of the next page.
    /// `delivered_to_all` and `read_by_all` need all members in memory, so they are absent in large conversations.
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
        // A single page says nothing about all recipients.
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

    /// The recipients of a message: all of them, or one page if the members are not in memory. Members who joined later and
    /// cannot see the message are not recipients.
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

    /// The status of a message for one member, as far as the viewer may see it.
    fn receipt_status(
        &self,
        viewer: &Viewer,
        entry: &Entry,
        discretion: &Discretion,
        member: &Member,
    ) -> MessageStatus {
        // The store may not have the cursor moves of the last second yet.
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
