//! The log and its projections.

use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::model::{
    AccountEntry, ClientId, Concealed, ConversationState, Entry, InviteToken, LogItem, Member, UserPair,
};
use godwit_domain::ports::{
    Append, AppendOutcome, ConversationStore, CursorMove, DueExpiry, HistoryEnd, InboxStore, Made,
    NewConversation, ReceiptTimes, SeqRange, StoreError, StoredReaction, change_time,
};
use godwit_domain::projection::{Effects, MemberWrite};
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use super::{Fault, Faulty, lock, port};

port! { impl ConversationStore {
    async fn open_direct(&self, pair: UserPair, new: NewConversation) -> Made {
        let opened = self.right.open_direct(pair, new).await?;
        Ok(match opened.made {
            None if self.has(Fault::ReopeningReportsCreation) => Made { made: Some(Vec::new()), ..opened },
            _ => opened,
        })
    }
    async fn direct_of(&self, pair: UserPair) -> Option<ConversationId>;
    async fn create(&self, new: NewConversation, key: Option<&ClientId>) -> Made {
        self.right.create(new, key.filter(|_| !self.has(Fault::IdempotencyKeysAreIgnored))).await
    }
    async fn made_with(&self, by: UserId, key: &ClientId) -> Option<ConversationId>;
    async fn load(&self, id: ConversationId) -> Option<ConversationState> {
        let mut state = self.right.load(id).await?;
        if let Some(state) = &mut state && self.has(Fault::CursorsGoBack) {
            let moved = lock(&self.moved);
            for member in &mut state.members {
                member.cursor = moved.get(&(id, member.user_id)).copied().unwrap_or(member.cursor);
            }
        }
        if let Some(state) = &mut state && self.has(Fault::LargeConversationsLoadMembers) {
            state.members = self.right.members(id, None, 10).await?;
        }
        Ok(state)
    }
    async fn member(&self, id: ConversationId, user: UserId) -> Option<Member> {
        let member = self.right.member(id, user).await?;
        let forgets = self.has(Fault::ConcealedEntriesReappear);
        Ok(member.map(|member| if forgets { Member { concealed: Concealed::default(), ..member } } else { member }))
    }
    async fn concealed(&self, id: ConversationId, users: &[UserId]) -> Vec<Concealed>;
    async fn members(&self, id: ConversationId, after: Option<UserId>, limit: usize) -> Vec<Member>;
    async fn append(&self, append: &Append) -> AppendOutcome {
        let head = async || self.right.load(append.conversation).await.map(|s| s.map_or(Seq::ZERO, |s| s.head.seq));
        let mut forced = append.clone();
        self.spoil(append.conversation, &mut forced.effects).await?;
        if self.has(Fault::AppendIgnoresTheHead) {
            forced.expected_head = head().await?;
        }
        if self.has(Fault::AppendChecksHeadSeparately) && head().await? == append.expected_head {
            // Long enough for a concurrent caller to check too.
            tokio::time::sleep(Duration::from_millis(50)).await;
            forced.expected_head = head().await?;
        }
        let outcome = self.right.append(&forced).await?;
        if outcome == AppendOutcome::HeadMoved && self.has(Fault::RefusedAppendLeavesClientIds) {
            let messages = append.entries.iter().filter_map(Entry::message);
            lock(&self.left_behind).extend(messages.map(|m| (m.sender_id, m.client_id.clone())));
        }
        Ok(outcome)
    }
    async fn entries(&self, id: ConversationId, after: Seq, limit: usize) -> Vec<LogItem> {
        let too_early = self.has(Fault::EntriesBeginTooEarly);
        let after = if too_early { Seq::new(after.get().saturating_sub(1)) } else { after };
        self.right.entries(id, after, limit).await
    }
    async fn items(&self, id: ConversationId, seqs: &[Seq]) -> Vec<Option<LogItem>>;
    async fn history(&self, id: ConversationId, range: SeqRange, end: HistoryEnd, limit: usize) -> Vec<LogItem> {
        if self.has(Fault::HistoryCountsHiddenEntries) && end == HistoryEnd::Oldest {
            let mut page = self.right.entries(id, range.after, limit).await?;
            page.retain(|item| item.entry.seq < range.before && item.entry.shown);
            return Ok(page);
        }
        self.right.history(id, range, end, limit).await
    }
    async fn locate(&self, message: MessageId) -> Option<(ConversationId, Seq)>;
    async fn sent_as(&self, id: ConversationId, sender: UserId, client_id: &ClientId) -> Option<Seq> {
        let sent = self.right.sent_as(id, sender, client_id).await?;
        let left_behind = lock(&self.left_behind).contains(&(sender, client_id.clone()));
        if sent.is_none() && left_behind {
            return Ok(Some(Seq::new(1)));
        }
        let head = self.right.load(id).await?.map_or(0, |state| state.head.seq.get());
        let is_long_ago = |seq: &Seq| seq.get() + 3 < head;
        Ok(sent.filter(|seq| !(self.has(Fault::SentAsForgetsOldMessages) && is_long_ago(seq))))
    }
    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Seq {
        let skips = self.has(Fault::SeqAtSkipsEqualTimes);
        self.right.seq_at(id, if skips { time.plus_millis(1) } else { time }).await
    }
    async fn move_cursors(&self, moves: &[CursorMove]) -> Vec<(UserId, AccountEntry)> {
        let moved = moves.iter().map(|m| ((m.conversation, m.user_id), m.cursor));
        lock(&self.moved).extend(moved);
        lock(&self.told).extend(moves.iter().map(|m| (m.conversation, change_time(m.at))));
        let notes = self.right.move_cursors(moves).await?;
        Ok(if self.has(Fault::ReadMovesLeaveNoNote) { Vec::new() } else { notes })
    }
    async fn receipts(&self, id: ConversationId, seq: Seq, users: &[UserId]) -> Vec<ReceiptTimes> {
        let seq = if self.has(Fault::ReceiptsAreOfTheNextEntry) { seq.next() } else { seq };
        self.right.receipts(id, seq, users).await
    }
    async fn reactions(&self, id: ConversationId, seq: Seq, after: Option<UserId>, limit: usize) -> Vec<StoredReaction>;
    async fn reactions_by(&self, id: ConversationId, asked: &[(Seq, UserId)]) -> Vec<Option<Box<str>>>;
    async fn replies(&self, id: ConversationId, root: Seq, after: u32, limit: usize) -> Vec<Seq> {
        let after = if self.has(Fault::RepliesRepeatOnTheNextPage) { after.saturating_sub(1) } else { after };
        self.right.replies(id, root, after, limit).await
    }
    async fn invited_to(&self, token: &InviteToken) -> Option<ConversationId>;
    async fn due_expiries(&self, now: Timestamp, limit: usize) -> Vec<DueExpiry>;
    async fn forget_expiries(&self, done: Vec<DueExpiry>) -> () {
        let done = if self.has(Fault::ExpiriesStayDue) { Vec::new() } else { done };
        self.right.forget_expiries(done).await
    }
}}

impl Faulty {
    /// Drops or corrupts parts of the effects of an append.
    async fn spoil(&self, id: ConversationId, effects: &mut Effects) -> Result<(), StoreError> {
        match self.fault {
            Fault::EditsAreNotErased => {
                let messages: Vec<Seq> = effects.messages.iter().map(|(seq, _)| *seq).collect();
                effects.erase.retain(|seq| messages.contains(seq));
            }
            Fault::ChangesWithoutActivityAreNotListed => effects.touch.clear(),
            Fault::MentionsAreDropped => {
                for write in &mut effects.members {
                    if let MemberWrite::Put(member) = write {
                        member.mentions.clear();
                    }
                }
            }
            Fault::ChangedMembersLoseTheirCursor => {
                let gone = effects.members.iter().map(|write| MemberWrite::Remove(write.user_id()));
                effects.members =
                    gone.collect::<Vec<_>>().into_iter().chain(effects.members.drain(..)).collect();
            }
            Fault::RemovedReactionsStay => effects.reactions.retain(|write| write.reaction.is_some()),
            Fault::RevokedInvitesStillWork => effects.invites.retain(|invite| invite.usable),
            Fault::GoneForTheWrongReason => {
                effects.unlist.iter_mut().for_each(|unlisting| unlisting.reason = GoneReason::Deleted);
            }
            Fault::RelistedAtItsOldPosition => {
                for user in effects.unlist.iter().map(|unlisting| unlisting.user_id) {
                    let rows = self.right.inbox(user, false, None, 500).await?;
                    let row = rows.into_iter().find(|row| row.conversation == id);
                    lock(&self.old_places).extend(row.map(|row| ((user, id), row.activity_at)));
                }
            }
            Fault::ClearedIsNeverRelisted => {
                for user in std::mem::take(&mut effects.follow) {
                    let member = self.right.member(id, user).await?;
                    if effects.list.contains(&user) || member.is_none_or(|member| !member.unlisted) {
                        effects.follow.push(user);
                    }
                }
            }
            Fault::CrossingDuplicatesRows => effects.list.append(&mut effects.cross),
            Fault::CrossingSkipsAMember => drop(effects.cross.drain(..1.min(effects.cross.len()))),
            _ => {}
        }
        Ok(())
    }
}
