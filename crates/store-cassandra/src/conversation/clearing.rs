//! Takes a conversation out of a member's inbox until a new entry is shown in it.
//!
//! Another node may append at the same time. This node first marks the member as [`unlisted`](super::members),
//! then takes the conversation out of the inbox, and then reads the head of the log again. An append that shows
//! an entry reads the unlisted members after it was written. So at least one of the two sees the other, and
//! puts the conversation back.

use godwit_domain::model::{AccountEntry, AccountNote, Concealed, leaves_inbox};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Seq, UserId};

use super::Conversations;
use crate::inbox::{Activity, ListingChange};

const FIRST: Seq = Seq::new(1);

impl Conversations {
    pub(crate) async fn clear(
        &self,
        user: UserId,
        id: ConversationId,
        cleared: Seq,
        ordinal: u64,
        note: AccountNote,
    ) -> Result<AccountEntry, StoreError> {
        // First, so that a reader who sees that the conversation was cleared also sees through which entry.
        self.conceal(id, user, Concealed::clearing(cleared, ordinal)).await?;
        let end = self.end(id).await?;
        if !leaves_inbox(cleared, end.last_shown()) || end.seq == Seq::ZERO {
            return self.inbox.clear(user, id, cleared, false, note).await;
        }
        // At least 1, because 0 means that the conversation is in the inbox. The first entry of a conversation
        // is never shown.
        let through = cleared.clamp(FIRST, end.seq);
        self.members().set_unlisted(id, user, through, end.seq).await?;
        let entry = self.inbox.clear(user, id, cleared, true, note).await?;
        let end = self.end(id).await?;
        if let Some(activity) = Activity::shown(&end).filter(|shown| !leaves_inbox(cleared, Some(shown.seq)))
        {
            let (at, through) = (note.at, end.seq);
            let change = ListingChange { conversation: id, at, through, activity, apart: false };
            self.list(user, change, false, true).await?;
        }
        Ok(entry)
    }
}
