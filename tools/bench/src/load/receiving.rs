//! Processing of frames while messages are in flight.

use super::sessions::write;
use super::traffic::Traffic;
use crate::messenger::Messenger;
use crate::wire::{Net, Receiver};

/// Processes every frame.
pub(super) struct Receiving<'a, M> {
    pub(super) messenger: &'a mut M,
    pub(super) traffic: &'a mut Traffic,
    /// Whether the next message of a stream follows one that is done.
    pub(super) refills: bool,
    pub(super) room: &'a mut Room,
}

/// Buffers that every frame reuses.
#[derive(Debug, Default)]
pub(super) struct Room {
    reply: Vec<u8>,
    ended: Vec<u32>,
}

impl<M: Messenger> Receiver for Receiving<'_, M> {
    fn frame(&mut self, net: &mut Net, user: u32, frame: &[u8]) -> anyhow::Result<()> {
        let Room { reply, ended } = &mut *self.room;
        reply.clear();
        let now_ns = net.arrived_ns();
        self.messenger.read(user, frame, reply, &mut |incoming| {
            ended.extend(self.traffic.take(user, incoming, now_ns));
        })?;
        write(net, user, reply);
        for stream in ended.drain(..) {
            if self.refills {
                self.traffic.fill(net, self.messenger, stream);
            }
        }
        Ok(())
    }
}
