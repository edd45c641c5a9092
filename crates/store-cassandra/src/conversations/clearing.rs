//! Taking a conversation out of somebody's inbox until something new is shown in it.
//!
//! Others may show something at the same moment, on other nodes. First it is said that the conversation is not in the inbox
//! ([`unlisted`](super::members)), then it is taken out, and then the end of the log is looked at again. Whoever appends
//! something that is shown looks who is unlisted after that. So one of the two sees the other, and puts it back.

use godwit_domain::model::{AccountEntry, AccountNote, Concealed, Head};
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
        // First, so that who sees that it is cleared sees what is.
        let concealed = Concealed { cleared, cleared_ordinal: ordinal, ..Concealed::default() };
        self.conceal(id, user, concealed).await?;
        let end = self.end(id).await?;
        if shown_after(&end, cleared).is_some() || end.seq == Seq::ZERO {
            return self.inbox.clear(user, id, cleared, false, note).await;
        }
        // The first entry was not shown, and zero would say that it is in the inbox.
        let through = cleared.clamp(FIRST, end.seq);
        self.members().set_unlisted(id, user, through, end.seq).await?;
        let entry = self.inbox.clear(user, id, cleared, true, note).await?;
        let end = self.end(id).await?;
        if let Some(activity) = shown_after(&end, cleared) {
            let (at, through) = (note.at, end.seq);
            let change = ListingChange { conversation: id, at, through, activity, apart: false };
            self.list(user, change, false, true).await?;
        }
        Ok(entry)
    }
}

fn shown_after(head: &Head, seq: Seq) -> Option<Activity> {
    Activity::shown(head).filter(|shown| shown.seq > seq)
}
