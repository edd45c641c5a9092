//! The limit on the answers that wait for the clients of all connections together.
//!
//! A connection holds at most one answer, and a client may read it slowly, so many connections could hold much. Only answers to
//! authenticated requests count: the others are a few hundred bytes, or pages that connections share. Above the limit, the
//! user for whom most waits loses connections, so nobody loses theirs to somebody else who opens many.

use std::sync::atomic::{AtomicUsize, Ordering};

use godwit_delivery::{Waiting, heaviest};
use godwit_protocol::UserId;

use super::{ConnectionSlots, Control};

/// Below the limit by this part of it once connections were closed, so that the search for them is rare.
const ROOM_PART: usize = 8;

#[derive(Debug)]
pub(super) struct Answers {
    bytes_max: usize,
    bytes: AtomicUsize,
}

impl Answers {
    pub(super) const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: AtomicUsize::new(0) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl ConnectionSlots {
    /// An answer of this size starts to be written.
    pub(in crate::listener) fn answer_begins(&self, control: &Control, bytes: usize) {
        let Some(user) = control.caller() else { return };
        // Added before the previous answer is subtracted: the sum must not fall below zero in between.
        let sum = self.answers.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.forget_answer(control.replace_answer(user, bytes));
        if sum > self.answers.bytes_max {
            self.drop_answers();
        }
    }

    /// Nothing of the connection's answer waits any more.
    pub(in crate::listener) fn answer_is_gone(&self, control: &Control) {
        self.forget_answer(control.take_answer());
    }

    fn forget_answer(&self, bytes: usize) {
        if bytes > 0 {
            self.answers.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn drop_answers(&self) {
        let Answers { bytes_max, .. } = self.answers;
        let mut table = self.table();
        // Another thread may have been faster.
        if self.answers.bytes() <= bytes_max {
            return;
        }
        let excess = self.answers.bytes() - (bytes_max - bytes_max / ROOM_PART);
        let waiting = |(id, open): (&u64, &super::table::Open)| {
            let (owner, bytes): (UserId, usize) = open.control.answer()?;
            Some(Waiting { owner, bytes, reader: (*id, open.control.clone()) })
        };
        for (id, control) in heaviest(table.open.iter().filter_map(waiting).collect(), excess) {
            // Counted as gone at once, although its task needs a moment: otherwise others would have to go too.
            self.answer_is_gone(&control);
            table.evict(id, "answers");
        }
    }
}
