//! A sharded map to sockets.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use godwit_protocol::UserId;

use crate::socket::Socket;

/// The number of shards, each with its own lock, so that deliveries and new connections rarely wait for each
/// other.
const SHARDS: usize = 64;

type Shard<K> = HashMap<K, Vec<Arc<Socket>>>;

/// A map from a key to sockets, in shards with their own locks.
#[derive(Debug)]
pub(crate) struct Sharded<K> {
    shards: Vec<RwLock<Shard<K>>>,
}

impl<K: Copy + Eq + Hash + ShardKey> Sharded<K> {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }

    pub(crate) fn add(&self, key: K, socket: &Arc<Socket>) {
        let mut shard = self.write(key);
        let sockets = shard.entry(key).or_default();
        if !sockets.iter().any(|other| other.id == socket.id) {
            sockets.push(socket.clone());
        }
    }

    pub(crate) fn remove(&self, key: K, socket: &Socket) {
        let mut shard = self.write(key);
        if let Some(sockets) = shard.get_mut(&key) {
            sockets.retain(|other| other.id != socket.id);
            if sockets.is_empty() {
                shard.remove(&key);
            }
        }
    }

    pub(crate) fn with(&self, key: K, mut act: impl FnMut(&Arc<Socket>)) {
        for socket in self.read(key).get(&key).into_iter().flatten() {
            act(socket);
        }
    }

    pub(crate) fn contains(&self, key: K) -> bool {
        self.read(key).contains_key(&key)
    }

    pub(crate) fn for_each(&self, mut act: impl FnMut(&Arc<Socket>)) {
        for shard in &self.shards {
            for socket in shard.read().unwrap_or_else(PoisonError::into_inner).values().flatten() {
                act(socket);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|s| s.read().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }

    pub(crate) fn keys(&self) -> Vec<K> {
        let mut keys = Vec::new();
        for shard in &self.shards {
            keys.extend(shard.read().unwrap_or_else(PoisonError::into_inner).keys().copied());
        }
        keys
    }

    fn read(&self, key: K) -> RwLockReadGuard<'_, Shard<K>> {
        self.shards[key.shard()].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, key: K) -> RwLockWriteGuard<'_, Shard<K>> {
        self.shards[key.shard()].write().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) trait ShardKey {
    fn number(&self) -> u64;

    /// Ids made in different milliseconds often end in the same bits, so the bits are mixed.
    fn shard(&self) -> usize {
        (self.number().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SHARDS.ilog2())) as usize
    }
}

impl ShardKey for u64 {
    fn number(&self) -> u64 {
        *self
    }
}

impl ShardKey for UserId {
    fn number(&self) -> u64 {
        self.get()
    }
}
