//! Crowds: connections that are counted together.

use std::collections::BTreeSet;

use super::control::Moment;

/// The order of eviction: anonymous connections first; among these, connections that wait for their client before those that
/// wait for the server; and in each group the one that has waited longest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) is_authenticated: bool,
    pub(super) is_busy: bool,
    pub(super) since: Moment,
    pub(super) id: u64,
}

/// Connections that are counted together.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    pub(super) count: usize,
    pub(super) anonymous_count: usize,
    pub(super) evictable: BTreeSet<Rank>,
}

/// The action that brings a connection within a limit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Room {
    Enough,
    Evict(u64),
    Never,
}

impl Crowd {
    pub(super) fn authenticated(&self) -> usize {
        self.count - self.anonymous_count
    }

    pub(super) fn anonymous(&self) -> impl Iterator<Item = &Rank> {
        self.evictable.iter().take_while(|rank| !rank.is_authenticated)
    }

    pub(super) fn add(&mut self, rank: Rank) {
        self.anonymous_count += usize::from(!rank.is_authenticated);
        self.evictable.insert(rank);
    }

    pub(super) fn remove(&mut self, rank: &Rank) {
        if self.evictable.remove(rank) {
            self.anonymous_count -= usize::from(!rank.is_authenticated);
        }
    }

    /// Whether a connection is within the limits. `max` contains the limits for all connections and for anonymous ones.
    /// `spare` anonymous connections are allowed even if all others are authenticated.
    pub(super) fn room(&self, id: u64, max: (usize, usize), spare: usize) -> Room {
        let too_many = self.count > max.0 && self.anonymous_count > spare;
        if !too_many && self.anonymous_count <= max.1 {
            return Room::Enough;
        }
        match self.evictable.iter().find(|rank| rank.id != id) {
            Some(rank) => Room::Evict(rank.id),
            None => Room::Never,
        }
    }
}
