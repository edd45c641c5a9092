//! Sockets that exist only in the test's mind.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use godwit_domain::ports::Delivery;
use godwit_protocol::socket::{CloseCode, Event, PresenceEvent};
use godwit_protocol::{DeviceId, UserId};

/// Remembers what it was asked to deliver, in order. Nobody is online until the test says so.
#[derive(Debug, Default)]
pub struct RecordingDelivery {
    calls: Mutex<Vec<Delivered>>,
    online: Mutex<BTreeSet<UserId>>,
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
        let mut users = lock(&self.online);
        if online {
            users.insert(user);
        } else {
            users.remove(&user);
        }
    }

    /// Everything since the last look.
    pub fn take(&self) -> Vec<Delivered> {
        std::mem::take(&mut *lock(&self.calls))
    }

    /// The events that this user was sent, in order, without forgetting them.
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

impl Delivery for RecordingDelivery {
    fn deliver(&self, to: &[UserId], event: &Event) {
        self.record(Delivered::Event { to: to.to_vec(), event: event.clone() });
    }

    fn deliver_presence(&self, event: PresenceEvent) {
        self.record(Delivered::Presence(event));
    }

    fn stop_watching(&self, watcher: UserId, watched: UserId) {
        self.record(Delivered::WatchStopped { watcher, watched });
    }

    fn close_device(&self, user: UserId, device: DeviceId, code: CloseCode) {
        self.record(Delivered::DeviceClosed(user, device, code));
    }

    fn close_user(&self, user: UserId, code: CloseCode) {
        self.record(Delivered::UserClosed(user, code));
    }

    fn is_online(&self, user: UserId) -> bool {
        lock(&self.online).contains(&user)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use godwit_protocol::socket::Reconnect;

    use super::*;

    #[test]
    fn it_remembers_who_was_told_what() {
        let delivery = RecordingDelivery::default();
        let (ada, bob) = (UserId::new(1), UserId::new(2));
        delivery.deliver(&[ada], &Event::Reconnect(Reconnect { after_ms: 7 }));
        delivery.close_user(bob, CloseCode::SignedOut);
        assert_eq!((delivery.events_for(ada).len(), delivery.events_for(bob).len()), (1, 0));
        assert_eq!((delivery.take().len(), delivery.take().len()), (2, 0));
    }

    #[test]
    fn the_test_says_who_is_online() {
        let delivery = RecordingDelivery::default();
        let ada = UserId::new(1);
        delivery.set_online(ada, true);
        assert!(delivery.is_online(ada));
        delivery.set_online(ada, false);
        assert!(!delivery.is_online(ada));
    }
}
