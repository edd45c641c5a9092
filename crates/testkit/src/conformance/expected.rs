//! Expected logs, shared by the cases.

use godwit_domain::model::{Entry, LogItem};
use godwit_domain::ports::{Append, HistoryEnd, StoreError};
use godwit_protocol::{ConversationId, Seq};

use crate::reading::plain;
use crate::scene::Scene;

/// Items without changes.
pub(super) fn unchanged(entries: impl IntoIterator<Item = Entry>) -> Vec<LogItem> {
    entries.into_iter().map(LogItem::unchanged).collect()
}

/// Adds the entries of an append to the expected log, which begins with its first entry.
pub(super) fn write(log: &mut Vec<LogItem>, append: &Append) {
    log.extend(unchanged(append.entries.clone()));
    for (seq, state) in &append.effects.messages {
        log[place(*seq)].state = state.clone().into();
    }
    for seq in &append.effects.erase {
        log[place(*seq)].entry.change.erase();
    }
    for item in log {
        *item = plain(item.clone());
    }
}

/// The actual log from its beginning.
pub(super) async fn log_of(s: &Scene, id: ConversationId) -> Result<Vec<LogItem>, StoreError> {
    Ok(s.store().entries(id, Seq::ZERO, 10_000).await?.into_iter().map(plain).collect())
}

fn place(seq: Seq) -> usize {
    usize::try_from(seq.get() - 1).expect("logs of tests are short")
}

/// Up to `limit` items, from one end.
pub(super) fn at_end(items: &[LogItem], end: HistoryEnd, limit: usize) -> &[LogItem] {
    let limit = limit.min(items.len());
    match end {
        HistoryEnd::Oldest => &items[..limit],
        HistoryEnd::Newest => &items[items.len() - limit..],
    }
}
