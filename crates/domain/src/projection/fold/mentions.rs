//! Unread mentions: which members a message mentions who have not read it yet.

use godwit_protocol::limits::MENTIONS_COUNTED_MAX;
use godwit_protocol::{Seq, UserId};

use super::Fold;
use crate::model::{Entry, Member, MentionOfAll, Mentions};

impl Fold<'_> {
    /// Records the mention for every mentioned member.
    pub(super) fn mention(&mut self, entry: &Entry, seq: Seq, sender: UserId, mentions: &Mentions) {
        for user in &mentions.users {
            let Some(mut member) = self.member(*user).filter(|_| *user != sender).cloned() else { continue };
            if let Err(place) = member.mentions.binary_search(&seq) {
                member.mentions.insert(place, seq);
                member.mentions.retain(|seq| *seq > member.cursor.read);
                let dropped = member.mentions.len().saturating_sub(MENTIONS_COUNTED_MAX);
                member.mentions.drain(..dropped);
                self.put_member(member);
            }
        }
        if mentions.all {
            self.details_before(entry, |details| {
                let of_all = &mut details.mentions_of_all;
                if let Err(place) = of_all.binary_search_by_key(&seq, |mention| mention.seq) {
                    of_all.insert(place, MentionOfAll { seq, by: sender });
                    let dropped = of_all.len().saturating_sub(MENTIONS_COUNTED_MAX);
                    of_all.drain(..dropped);
                }
            });
        }
    }

    /// Removes the mention from every member who has it, whatever the message says now.
    pub(super) fn unmention(&mut self, entry: &Entry, seq: Seq) {
        let is_mentioned = |member: &Member| member.mentions.binary_search(&seq).is_ok();
        let before = self.before.iter().filter(|member| !self.members.contains_key(&member.user_id));
        let known = before.chain(self.members.values().flatten());
        let mentioned: Vec<Member> = known.filter(|member| is_mentioned(member)).cloned().collect();
        for mut member in mentioned {
            member.mentions.retain(|mention| *mention != seq);
            self.put_member(member);
        }
        if self.details.mentions_of_all.iter().any(|mention| mention.seq == seq) {
            self.details_before(entry, |details| details.mentions_of_all.retain(|m| m.seq != seq));
        }
    }

    /// The users that a message mentions now, and its sender.
    pub(super) fn mentions_of(&self, seq: Seq) -> Option<(Mentions, UserId)> {
        let (message, state) = self.messages.get(&seq)?.message()?;
        Some((message.current_mentions(state).clone(), message.sender_id))
    }
}
