//! Delivery after an append: acknowledgements, and events for peers and sockets.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use godwit_protocol::messages as wire;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::action::Done;
use super::job::Batch;
use super::measure;
use crate::account_log::AccountLog;
use crate::conversations::Live;
use crate::following::Following;
use crate::model::{AccountEntry, ConversationState, Entry, FanOut, LogItem, Member};
use crate::ports::{Append, Audience, Clock, Delivery, HiddenFrom, Less, OutgoingEntry, Peers, Seeing};
use crate::projection::{Effects, MemberWrite};
use crate::show::{View, about};
use crate::sight::Sight;

#[derive(Debug)]
pub(super) struct Delivering {
    pub(super) peers: Arc<dyn Peers>,
    pub(super) following: Arc<Following>,
    pub(super) delivery: Arc<dyn Delivery>,
    pub(super) account_log: Arc<AccountLog>,
    pub(super) clock: Arc<dyn Clock>,
}

/// A batch that is in the log.
pub(super) struct Appended {
    pub(super) append: Append,
    /// For each job, in order: the range of its entries.
    pub(super) made: Vec<Range<usize>>,
    /// The messages whose content the entries show, as they are after the batch.
    pub(super) referred: HashMap<Seq, LogItem>,
    pub(super) hidden_from: HashMap<Seq, HiddenFrom>,
    /// The entries that the store wrote to account logs.
    pub(super) notes: Vec<(UserId, AccountEntry)>,
}

/// Entries to be delivered to sockets.
struct Outgoing {
    entries: Vec<OutgoingEntry>,
    audience: Audience,
    /// The members of a conversation that has just become large.
    crossed: Vec<Member>,
}

impl Delivering {
    /// Acknowledges the jobs and delivers the entries. If an entry takes something away from a user, the other nodes learn
    /// of it before any job is answered.
    pub(super) async fn deliver(&self, live: &Live, appended: Appended, batch: Batch) {
        let Appended { append, made, referred, hidden_from, notes } = appended;
        if append.entries.iter().any(|entry| entry.change.withdraws()) {
            self.peers.withdrawn(&append).await;
        }
        self.peers.appended(&append);
        self.unfollow(&append).await;
        let Append { entries, effects, .. } = append;
        let items: Vec<LogItem> = entries.into_iter().map(LogItem::unchanged).collect();
        let outgoing = self.take_in(live, &items, &effects, &referred, &hidden_from);
        acknowledge(batch, made, items, &outgoing.entries);
        self.follow(live.id(), &effects, &outgoing.crossed).await;
        self.send(live.id(), &outgoing);
        self.account_log.announce(&notes).await;
    }

    /// Applies the effects to the conversation in memory, and shows the entries to its resulting members.
    fn take_in(
        &self,
        live: &Live,
        items: &[LogItem],
        effects: &Effects,
        referred: &HashMap<Seq, LogItem>,
        hidden_from: &HashMap<Seq, HiddenFrom>,
    ) -> Outgoing {
        let now = self.clock.now();
        live.write(|state| {
            let crossed = if effects.cross.is_empty() { Vec::new() } else { state.members.clone() };
            // A concurrent reload may have loaded a newer state.
            if state.head.seq < effects.head.seq {
                effects.apply_to(state);
            }
            let outgoing = items.iter().map(|item| outgoing(state, now, item, referred, hidden_from));
            Outgoing { entries: outgoing.collect(), audience: audience_of(state), crossed }
        })
    }

    /// Makes connected members of a large conversation follow it.
    async fn follow(&self, conversation: ConversationId, effects: &Effects, crossed: &[Member]) {
        let is_large = effects.details.as_ref().is_some_and(|details| details.fan_out == FanOut::OnRead);
        let listed = effects.list.iter().filter(|_| is_large);
        let users = effects.cross.iter().chain(listed);
        let written = effects.members.iter().filter_map(|write| match write {
            MemberWrite::Put(member) => Some(member),
            MemberWrite::Remove(_) => None,
        });
        let from: HashMap<UserId, Seq> =
            crossed.iter().chain(written).map(|member| (member.user_id, member.history_from())).collect();
        let users: Vec<(UserId, Seq)> =
            users.map(|user| (*user, from.get(user).copied().unwrap_or_default())).collect();
        if !users.is_empty()
            && let Err(error) = self.following.follow(&users, conversation).await
        {
            tracing::warn!(%conversation, %error, "could not look up new members; closed their sockets");
        }
    }

    async fn unfollow(&self, append: &Append) {
        let users: Vec<UserId> = append.effects.unlist.iter().map(|unlisting| unlisting.user_id).collect();
        if !users.is_empty() {
            self.delivery.unfollow(users, append.conversation).await;
        }
    }

    fn send(&self, conversation: ConversationId, outgoing: &Outgoing) {
        let now = self.clock.now();
        let Outgoing { entries, audience, .. } = outgoing;
        entries.iter().for_each(|outgoing| measure::delivery(now.millis_since(outgoing.entry.at)));
        self.delivery.deliver_entries(conversation, entries, audience);
    }
}

fn acknowledge(batch: Batch, made: Vec<Range<usize>>, items: Vec<LogItem>, outgoing: &[OutgoingEntry]) {
    let shown: Vec<Arc<wire::LogEntry>> = outgoing.iter().map(|entry| entry.entry.clone()).collect();
    let entries: Vec<Arc<Entry>> = items.into_iter().map(|item| Arc::new(item.entry)).collect();
    batch.acknowledge(made.into_iter().map(|made| {
        let (entries, shown) = (entries[made.clone()].to_vec(), shown[made].to_vec());
        Done { entries, shown, repeated: false }
    }));
}

/// An entry in two versions: for users who see everything that it refers to, and for the others.
fn outgoing(
    state: &ConversationState,
    now: Timestamp,
    item: &LogItem,
    referred: &HashMap<Seq, LogItem>,
    hidden_from: &HashMap<Seq, HiddenFrom>,
) -> OutgoingEntry {
    let entry = |sight: &Sight| Arc::new(View::of_many(state, now, referred, sight).entry(item));
    let less = about(&item.entry).map(|seq| {
        let hidden_from = hidden_from.get(&seq).cloned();
        let hidden_from = hidden_from.unwrap_or(HiddenFrom::These(Vec::new()));
        let unless = Seeing { seq, hidden_from };
        Box::new(Less { entry: entry(&Sight::without(seq)), unless })
    });
    OutgoingEntry { entry: entry(&Sight::whole()), less }
}

fn audience_of(state: &ConversationState) -> Audience {
    if state.is_whole() {
        Audience::Members(state.members.iter().map(|m| (m.user_id, m.history_from())).collect())
    } else {
        Audience::Followers
    }
}
