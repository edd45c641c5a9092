//! Cursor moves that the server has not acknowledged.
//!
//! A move waits briefly, because the next move often replaces it, and is kept until the server has acknowledged it.

use std::collections::HashMap;
use std::time::Duration;

use godwit_protocol::conversations::MoveCursor;
use godwit_protocol::{ConversationId, Seq};
use tokio::time::Instant;

/// Moves in flight.
const IN_FLIGHT_MAX: usize = 8;

#[derive(Default)]
pub(super) struct CursorMoves {
    waiting: HashMap<ConversationId, MoveCursor>,
    in_flight: HashMap<ConversationId, MoveCursor>,
    due_at: Option<Instant>,
}

impl CursorMoves {
    pub(super) fn delivered(&mut self, id: ConversationId, seq: Seq, due_at: Instant) {
        self.wait(id, MoveCursor { delivered: Some(seq), ..MoveCursor::default() }, due_at);
    }

    pub(super) fn read(&mut self, id: ConversationId, seq: Seq, due_at: Instant) {
        self.wait(id, MoveCursor { read: Some(seq), ..MoveCursor::default() }, due_at);
    }

    /// The next due move. The caller must report its outcome.
    pub(super) fn next(&mut self, now: Instant) -> Option<(ConversationId, MoveCursor)> {
        if self.due_at.is_none_or(|due_at| due_at > now) || self.in_flight.len() >= IN_FLIGHT_MAX {
            return None;
        }
        let id = self.waiting.keys().find(|id| !self.in_flight.contains_key(id)).copied()?;
        let cursor = self.waiting.remove(&id)?;
        self.in_flight.insert(id, cursor);
        if self.waiting.is_empty() {
            self.due_at = None;
        }
        Some((id, cursor))
    }

    /// The server has stored the move, or refused it for good.
    pub(super) fn settle(&mut self, id: ConversationId) {
        self.in_flight.remove(&id);
    }

    pub(super) fn retry(&mut self, id: ConversationId, due_at: Instant) {
        if let Some(cursor) = self.in_flight.remove(&id) {
            self.wait(id, cursor, due_at);
        }
    }

    /// The connection is gone: moves in flight are sent again.
    pub(super) fn disconnected(&mut self) {
        for (id, cursor) in std::mem::take(&mut self.in_flight) {
            self.wait(id, cursor, Instant::now());
        }
    }

    pub(super) fn hurry(&mut self, now: Instant) {
        self.due_at = self.due_at.map(|due_at| due_at.min(now));
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.is_empty()
    }

    /// When the next move is due. `None` while too many moves are in flight.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.due_at
            .filter(|_| self.waiting.keys().any(|id| !self.in_flight.contains_key(id)))
            .filter(|_| self.in_flight.len() < IN_FLIGHT_MAX)
    }

    fn wait(&mut self, id: ConversationId, cursor: MoveCursor, due_at: Instant) {
        let waiting = self.waiting.entry(id).or_default();
        waiting.delivered = waiting.delivered.max(cursor.delivered);
        waiting.read = waiting.read.max(cursor.read);
        self.due_at = Some(self.due_at.map_or(due_at, |earlier| earlier.min(due_at)));
    }
}

/// When a move that is made now is due.
pub(super) fn due_after(delay: Option<Duration>) -> Instant {
    Instant::now() + delay.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ConversationId = ConversationId::new(1);

    fn cursor(delivered: u64, read: Option<u64>) -> MoveCursor {
        MoveCursor { conversation_id: None, delivered: Some(Seq::new(delivered)), read: read.map(Seq::new) }
    }

    fn same(one: Option<(ConversationId, MoveCursor)>, delivered: u64, read: Option<u64>) -> bool {
        let expected = cursor(delivered, read);
        one.is_some_and(|(_, one)| (one.delivered, one.read) == (expected.delivered, expected.read))
    }

    #[test]
    fn moves_within_the_delay_are_merged() {
        let (mut moves, delay) = (CursorMoves::default(), Duration::from_secs(100));
        let due_at = Instant::now() + delay;
        for seq in [3, 7, 5] {
            moves.delivered(A, Seq::new(seq), due_at);
        }
        moves.read(A, Seq::new(4), due_at + delay);
        assert_eq!(moves.next_at(), Some(due_at), "the first move sets the time");
        assert!(moves.next(due_at - delay / 2).is_none());
        assert!(same(moves.next(due_at), 7, Some(4)));
        assert!(moves.next(due_at).is_none());
        moves.settle(A);
        assert!(moves.is_idle());
    }

    #[test]
    fn a_lost_move_is_sent_again_merged_with_later_ones() {
        let (mut moves, now) = (CursorMoves::default(), Instant::now());
        moves.delivered(A, Seq::new(3), now);
        assert!(same(moves.next(now), 3, None));
        moves.delivered(A, Seq::new(4), now);
        assert!(moves.next(now).is_none(), "one at a time in a conversation");
        moves.disconnected();
        assert!(same(moves.next(Instant::now()), 4, None));
        moves.disconnected();
        assert!(same(moves.next(Instant::now()), 4, None), "even without later moves");
    }

    #[test]
    fn moves_in_flight_are_limited() {
        let (mut moves, now) = (CursorMoves::default(), Instant::now());
        for id in 1..=20 {
            moves.delivered(ConversationId::new(id), Seq::new(1), now);
        }
        assert_eq!(std::iter::from_fn(|| moves.next(now)).count(), IN_FLIGHT_MAX);
    }
}
