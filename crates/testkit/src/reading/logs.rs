//! Conversations, their logs and their projections.

use godwit_domain::model::{ConversationState, Member};
use godwit_domain::ports::{HistoryEnd, SeqRange, Store, StoreError, StoredReaction};
use godwit_protocol::{ConversationId, Seq, UserId};

use super::{Known, PAGE_SIZES, Readings, pairs, plain};
use crate::paging::all_pages;

impl Readings {
    pub(super) async fn members(
        &mut self,
        store: &dyn Store,
        id: ConversationId,
        known: &Known,
    ) -> Result<(), StoreError> {
        let mut state = store.load(id).await?;
        // A deleted conversation is in no inbox, and one that is fanned out on read is in all of them, so `unlisted` has no
        // meaning for either.
        let is_listed = |state: &ConversationState| state.is_whole() && state.details.deleted_at.is_none();
        let counts = state.as_ref().is_none_or(is_listed);
        let seen = |mut member: Member| {
            // A store need not keep mentions that were read.
            member.mentions.retain(|seq| *seq > member.cursor.read);
            Member { unlisted: member.unlisted && counts, ..member }
        };
        if let Some(state) = &mut state {
            state.members = std::mem::take(&mut state.members).into_iter().map(seen).collect();
        }
        // The debug text of an invite does not contain its token.
        let invites = state.iter().flat_map(|state| &state.details.invites);
        self.add(format!("tokens of {id}"), invites.map(|i| i.token.as_str()).collect::<Vec<_>>());
        self.add(format!("conversation {id}"), state);
        for &user in &known.users {
            self.add(format!("member {user} of {id}"), store.member(id, user).await?.map(seen));
        }
        for limit in PAGE_SIZES {
            let page = |after| store.members(id, after, limit);
            let members = all_pages(limit, |member: &Member| member.user_id, page).await?;
            self.add(
                format!("members of {id} by {limit}"),
                members.into_iter().map(seen).collect::<Vec<_>>(),
            );
        }
        Ok(())
    }

    pub(super) async fn log(&mut self, store: &dyn Store, id: ConversationId) -> Result<(), StoreError> {
        let end = head(store, id).await? + 2;
        let all: Vec<Seq> = (0..end).rev().map(Seq::new).collect();
        let items = store.items(id, &all).await?;
        self.add(format!("items of {id}"), items.into_iter().map(|item| item.map(plain)).collect::<Vec<_>>());
        for after in (0..end).map(Seq::new) {
            for limit in PAGE_SIZES {
                let entries = store.entries(id, after, limit).await?;
                let entries: Vec<_> = entries.into_iter().map(plain).collect();
                self.add(format!("{limit} entries of {id} after {after}"), entries);
            }
            for before in [after.get() + 1, after.get() + 4, end / 2, end, u64::MAX].map(Seq::new) {
                for end in [HistoryEnd::Oldest, HistoryEnd::Newest] {
                    for limit in [2, 500] {
                        let shown = store.history(id, SeqRange { after, before }, end, limit).await?;
                        let question = format!("{limit} shown of {id}, {after} to {before}, {end:?}");
                        self.add(question, shown.into_iter().map(plain).collect::<Vec<_>>());
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) async fn projections(
        &mut self,
        store: &dyn Store,
        id: ConversationId,
        known: &Known,
    ) -> Result<(), StoreError> {
        let head = head(store, id).await?;
        for seq in (1..=head).map(Seq::new) {
            let receipts = store.receipts(id, seq, &known.users).await?;
            self.add(format!("receipts of {seq} in {id}"), receipts);
        }
        let mut all = Vec::new();
        for &sender in &known.users {
            for client_id in &known.client_ids {
                let sent = store.sent_as(id, sender, client_id).await?;
                self.add(format!("sent by {sender} in {id} as {client_id:?}"), sent);
                all.push((sender, client_id));
            }
        }
        self.add(format!("all that was sent in {id}"), store.sent_as_each(id, &all).await?);
        // An empty log has no `seq` to find.
        if head > 0 {
            for &time in &known.times {
                self.add(format!("seq of {id} at {time}"), store.seq_at(id, time).await?);
            }
        }
        Ok(())
    }

    pub(super) async fn around_messages(
        &mut self,
        store: &dyn Store,
        id: ConversationId,
        known: &Known,
    ) -> Result<(), StoreError> {
        let seqs: Vec<Seq> = (1..=head(store, id).await?).map(Seq::new).collect();
        for &seq in &seqs {
            for limit in PAGE_SIZES {
                let page = |after| store.reactions(id, seq, after, limit);
                let reactions = all_pages(limit, |r: &StoredReaction| r.user_id, page).await?;
                self.add(format!("reactions to {seq} of {id} by {limit}"), reactions);
            }
            for (after, limit) in pairs(&[0, 1, 3]).chain([(0, 500)]) {
                let replies = store.replies(id, seq, after, limit as usize).await?;
                self.add(format!("{limit} replies to {seq} of {id} after {after}"), replies);
            }
        }
        let asked: Vec<(Seq, UserId)> =
            seqs.iter().flat_map(|seq| known.users.iter().map(|user| (*seq, *user))).collect();
        self.add(format!("reactions in {id}"), store.reactions_by(id, &asked).await?);
        Ok(())
    }
}

async fn head(store: &dyn Store, id: ConversationId) -> Result<u64, StoreError> {
    Ok(store.load(id).await?.map_or(0, |state| state.head.seq.get()))
}
