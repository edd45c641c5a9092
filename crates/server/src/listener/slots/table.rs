//! All connections, with the counts that they belong to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use godwit_protocol::UserId;
use metrics::counter;

use super::control::{Control, Moment};
use super::crowd::{Crowd, Rank, Room};
use crate::network::ClientAddress;

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) open: HashMap<u64, Open>,
    pub(super) everybody: Crowd,
    pub(super) by_address: HashMap<IpAddr, Crowd>,
    pub(super) by_network: HashMap<IpAddr, Crowd>,
    /// The number of connections that each user's requests have authenticated.
    pub(super) by_user: HashMap<UserId, usize>,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Open {
    from: Option<ClientAddress>,
    pub(super) control: Arc<Control>,
    /// The user whose request authenticated the connection.
    user: Option<UserId>,
    /// `None` for a signed-in socket.
    pub(super) rank: Option<Rank>,
    pub(super) is_proxy: bool,
    pub(super) is_socket: bool,
    pub(super) ends_at: Option<Instant>,
}

impl Open {
    pub(super) fn is_late(&self, now: Instant) -> bool {
        self.ends_at.is_some_and(|by| by <= now)
    }
}

impl Table {
    pub(super) fn add(
        &mut self,
        from: Option<ClientAddress>,
        control: Arc<Control>,
        since: Moment,
        head_by: Instant,
    ) -> u64 {
        let id = since.0;
        let rank = Some(Rank { is_authenticated: false, is_busy: false, since, id });
        let (is_proxy, ends_at) = (from.is_none(), Some(head_by));
        let open = Open { from: None, control, user: None, rank: None, is_proxy, is_socket: false, ends_at };
        self.open.insert(id, open);
        self.everybody.count += 1;
        if let Some(from) = from {
            self.move_to(id, from);
        }
        self.rank(id, rank);
        id
    }

    /// Counts a connection without an address towards an address.
    pub(super) fn move_to(&mut self, id: u64, from: ClientAddress) {
        let Some(open) = self.open.get_mut(&id) else { return };
        open.from = Some(from);
        let rank = open.rank;
        for crowd in [
            self.by_address.entry(from.address()).or_default(),
            self.by_network.entry(from.network()).or_default(),
        ] {
            crowd.count += 1;
            if let Some(rank) = rank {
                crowd.add(rank);
            }
        }
    }

    /// The connection continues to carry requests. A proxy's connection counts towards no address again, because its next
    /// request may be another client's.
    pub(super) fn is_no_socket(&mut self, id: u64, is_proxy: bool) {
        let Some(open) = self.open.get_mut(&id) else { return };
        (open.is_proxy, open.is_socket) = (is_proxy, false);
        if !is_proxy {
            return;
        }
        let (rank, Some(from)) = (open.rank, open.from.take()) else { return };
        for (crowds, key) in [(&mut self.by_address, from.address()), (&mut self.by_network, from.network())]
        {
            if let Some(crowd) = crowds.get_mut(&key) {
                crowd.count -= 1;
                if let Some(rank) = rank {
                    crowd.remove(&rank);
                }
            }
            remove_if_empty(crowds, key);
        }
    }

    /// Counts the connection towards a user, and no longer towards the previous one.
    pub(super) fn own(&mut self, id: u64, user: Option<UserId>) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let before = std::mem::replace(&mut open.user, user);
        if let Some(user) = user {
            *self.by_user.entry(user).or_default() += 1;
        }
        if let Some(before) = before {
            self.disown(before);
        }
    }

    fn disown(&mut self, user: UserId) {
        if let Entry::Occupied(mut count) = self.by_user.entry(user) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// The client has sent a request.
    pub(super) fn used(&mut self, id: u64, is_busy: bool, since: Moment) {
        let Some(open) = self.open.get_mut(&id) else { return };
        open.ends_at = None;
        if let Some(rank) = open.rank {
            self.rank(id, Some(Rank { is_busy, since, ..rank }));
        }
    }

    /// The client has its answer.
    pub(super) fn waits(&mut self, id: u64, since: Moment, until: Instant) {
        let Some(open) = self.open.get_mut(&id) else { return };
        // A proxy keeps connections open for its next client; the hub watches sockets.
        open.ends_at = (!open.is_proxy && !open.is_socket).then_some(until);
        if let Some(rank) = open.rank {
            self.rank(id, Some(Rank { is_busy: false, since, ..rank }));
        }
    }

    pub(super) fn rank(&mut self, id: u64, rank: Option<Rank>) {
        let Some(open) = self.open.get_mut(&id) else { return };
        let before = std::mem::replace(&mut open.rank, rank);
        let from = open.from;
        self.each_crowd(from, |crowd| {
            if let Some(before) = before {
                crowd.remove(&before);
            }
            if let Some(rank) = rank {
                crowd.add(rank);
            }
        });
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Arc<Control>> {
        let Open { from, control, user, rank, .. } = self.open.remove(&id)?;
        self.each_crowd(from, |crowd| {
            crowd.count -= 1;
            if let Some(rank) = rank {
                crowd.remove(&rank);
            }
        });
        if let Some(user) = user {
            self.disown(user);
        }
        if let Some(from) = from {
            remove_if_empty(&mut self.by_address, from.address());
            remove_if_empty(&mut self.by_network, from.network());
        }
        Some(control)
    }

    /// The counts that the connection belongs to.
    fn each_crowd(&mut self, from: Option<ClientAddress>, mut act: impl FnMut(&mut Crowd)) {
        act(&mut self.everybody);
        if let Some(from) = from {
            self.by_address.get_mut(&from.address()).map(&mut act);
            self.by_network.get_mut(&from.network()).map(&mut act);
        }
    }

    pub(super) fn settle(&mut self, room: Room, reason: &'static str) -> bool {
        match room {
            Room::Enough => true,
            Room::Evict(id) => {
                self.evict(id, reason);
                true
            }
            Room::Never => false,
        }
    }

    pub(super) fn evict(&mut self, id: u64, reason: &'static str) {
        if let Some(control) = self.remove(id) {
            counter!("godwit_connections_evicted_total", "reason" => reason).increment(1);
            control.close();
        }
    }
}

fn remove_if_empty(crowds: &mut HashMap<IpAddr, Crowd>, key: IpAddr) {
    if crowds.get(&key).is_some_and(|crowd| crowd.count == 0) {
        crowds.remove(&key);
    }
}
