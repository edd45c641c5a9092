//! A fake delivery that records the events for sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use godwit_domain::ports::{Audience, Delivery, OutgoingEntry};
use godwit_protocol::messages::LogEntry;
use godwit_protocol::socket::{CloseCode, EntryEvent, Event, PresenceEvent};
use godwit_protocol::{ConversationId, DeviceId, Seq, UserId};

/// Records the calls in order. Nobody is online until the test says so.
#[derive(Debug, Default)]
pub struct RecordingDelivery {
    calls: Mutex<Vec<Delivered>>,
    online: Mutex<BTreeSet<UserId>>,
    /// The online users who follow a conversation, with the first entry that they see.
    followers: Mutex<BTreeMap<(ConversationId, UserId), Seq>>,
}

/// One call of the port.
#[derive(Debug, Clone)]
pub enum Delivered {
    Event { to: Vec<UserId>, event: Event },
    Presence(PresenceEvent),
    WatchStopped { watcher: UserId, watched: UserId },
    DeviceClosed(UserId, DeviceId, CloseCode),
    UserClosed(UserId, CloseCode),
}

impl RecordingDelivery {
    pub fn set_online(&self, user: UserId, online: bool) {
        if online {
            lock(&self.online).insert(user);
        } else {
            lock(&self.online).remove(&user);
            lock(&self.followers).retain(|(_, follower), _| *follower != user);
        }
    }

    /// The followers of a conversation, sorted by id.
    pub fn followers_of(&self, conversation: ConversationId) -> Vec<UserId> {
        let followers = lock(&self.followers);
        followers.keys().filter(|(id, _)| *id == conversation).map(|(_, user)| *user).collect()
    }

    /// Removes and returns all recorded calls.
    pub fn take(&self) -> Vec<Delivered> {
        std::mem::take(&mut *lock(&self.calls))
    }

    /// The events for this user, in order. Does not remove them.
    pub fn events_for(&self, user: UserId) -> Vec<Event> {
        let events_of = |call: &Delivered| match call {
            Delivered::Event { to, event } if to.contains(&user) => Some(event.clone()),
            _ => None,
        };
        lock(&self.calls).iter().filter_map(events_of).collect()
    }

    fn record(&self, call: Delivered) {
        lock(&self.calls).push(call);
    }
}

#[async_trait]
impl Delivery for RecordingDelivery {
    fn deliver(&self, to: &[UserId], event: &Event) {
        self.record(Delivered::Event { to: to.to_vec(), event: event.clone() });
    }

    /// Records one event per entry, for the current followers.
    fn deliver_entries(&self, conversation_id: ConversationId, entries: &[OutgoingEntry], to: &Audience) {
        let following = lock(&self.followers).clone();
        let followers = following.iter().filter(|((id, _), _)| *id == conversation_id);
        let users: Vec<(UserId, Seq)> = match to {
            Audience::Members(members) => members.clone(),
            Audience::Followers => followers.map(|((_, user), from)| (*user, *from)).collect(),
        };
        let is_followed = matches!(to, Audience::Followers);
        for outgoing in entries {
            let (entry, less) = (&outgoing.entry, outgoing.less());
            let shown_to = users.iter().filter(|(_, from)| is_followed || *from <= entry.seq);
            if let Some(omitted) = outgoing.omitted(conversation_id) {
                self.deliver(&shown_to.map(|(user, _)| *user).collect::<Vec<_>>(), &omitted);
                continue;
            }
            let sees = |user: UserId, from: Seq| less.is_none_or(|less| less.unless.sees(user, from));
            let (all, some): (Vec<_>, Vec<_>) = shown_to.partition(|(user, from)| sees(*user, *from));
            let tell = |to: Vec<&(UserId, Seq)>, entry: &LogEntry| {
                let to: Vec<UserId> = to.into_iter().map(|(user, _)| *user).collect();
                let entry = entry.clone();
                if !to.is_empty() {
                    self.deliver(&to, &Event::Entry(EntryEvent { conversation_id, entry }));
                }
            };
            tell(all, entry);
            if let Some(less) = less {
                tell(some, &less.entry);
            }
        }
    }

    fn follow(&self, users: &[(UserId, Seq)], conversation: ConversationId) {
        let online = lock(&self.online);
        let followers = users.iter().filter(|(user, _)| online.contains(user));
        let mut following = lock(&self.followers);
        for (user, from) in followers {
            let first = following.entry((conversation, *user)).or_default();
            *first = from.max(first).to_owned();
        }
    }

    fn conceal(&self, users: &[(UserId, Seq)], conversation: ConversationId) {
        let mut following = lock(&self.followers);
        for (user, from) in users {
            if let Some(first) = following.get_mut(&(conversation, *user)) {
                *first = from.max(first).to_owned();
            }
        }
    }

    async fn unfollow(&self, users: Vec<UserId>, conversation: ConversationId) {
        lock(&self.followers).retain(|(id, user), _| *id != conversation || !users.contains(user));
    }

    fn deliver_presence(&self, event: PresenceEvent) {
        self.record(Delivered::Presence(event));
    }

    async fn stop_watching(&self, watcher: UserId, watched: UserId) {
        self.record(Delivered::WatchStopped { watcher, watched });
    }

    async fn close_device(&self, user: UserId, device: DeviceId, code: CloseCode) {
        self.record(Delivered::DeviceClosed(user, device, code));
    }

    async fn close_user(&self, user: UserId, code: CloseCode) {
        self.record(Delivered::UserClosed(user, code));
    }

    async fn is_online(&self, user: UserId) -> bool {
        lock(&self.online).contains(&user)
    }

    async fn arrived(&self, _: UserId) {}

    async fn left(&self, _: UserId) {}
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use godwit_protocol::messages::Change;
    use godwit_protocol::socket::Reconnect;
    use std::sync::Arc;

    use godwit_protocol::Timestamp;

    use super::*;

    #[tokio::test]
    async fn calls_are_recorded_until_they_are_taken() {
        let delivery = RecordingDelivery::default();
        let (ada, bob) = (UserId::new(1), UserId::new(2));
        delivery.deliver(&[ada], &Event::Reconnect(Reconnect { after_ms: 7 }));
        delivery.close_user(bob, CloseCode::SignedOut).await;
        assert_eq!((delivery.events_for(ada).len(), delivery.events_for(bob).len()), (1, 0));
        assert_eq!((delivery.take().len(), delivery.take().len()), (2, 0));
    }

    #[tokio::test]
    async fn followers_are_online_and_get_what_is_delivered_while_they_follow() {
        let delivery = RecordingDelivery::default();
        let (ada, bob, eve) = (UserId::new(1), UserId::new(2), UserId::new(3));
        let birds = ConversationId::new(9);
        let change = Change::MemberLeft { user_id: eve };
        let entry = Arc::new(LogEntry { seq: Seq::new(1), at: Timestamp::from_millis(0), change });
        let entry = OutgoingEntry { entry, less: None };
        let tell = || delivery.deliver_entries(birds, std::slice::from_ref(&entry), &Audience::Followers);
        delivery.set_online(ada, true);
        delivery.set_online(bob, true);
        delivery.follow(&[ada, bob, eve].map(|user| (user, Seq::ZERO)), birds);
        delivery.follow(&[(ada, Seq::ZERO)], ConversationId::new(8));
        tell();
        delivery.unfollow(vec![ada], birds).await;
        tell();
        delivery.set_online(bob, false);
        delivery.set_online(bob, true);
        tell();
        let told = |user| delivery.events_for(user).len();
        assert_eq!((told(ada), told(bob), told(eve)), (1, 2, 0));
    }

    #[tokio::test]
    async fn the_test_says_who_is_online() {
        let delivery = RecordingDelivery::default();
        let ada = UserId::new(1);
        delivery.set_online(ada, true);
        assert!(delivery.is_online(ada).await);
        delivery.set_online(ada, false);
        assert!(!delivery.is_online(ada).await);
    }
}
