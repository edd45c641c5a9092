//! Trails: cursors with the times of all their moves.

use futures_util::future::try_join;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::Cursor;
use godwit_domain::ports::{StoreError, Trail};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::value::CqlTimestamp;

use super::Conversations;
use super::cursors::{
    CursorRow, Cursors, MOVES_AT_ONCE_MAX, MOVES_BUCKET_ENTRIES, Mark, Passed, moves_bucket, of_user,
};
use crate::values::{int, row_limit};

/// Moves in one query.
const MOVES_READ: usize = 4_096;

impl Conversations {
    /// The trails of present and former members.
    pub(crate) async fn trails(
        &self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Trail>, StoreError> {
        self.cursors().trails(id, after, limit).await
    }

    pub(crate) async fn put_trails(&self, id: ConversationId, trails: Vec<Trail>) -> Result<(), StoreError> {
        if let Some(at) = trails.iter().map(|trail| trail.moved_at).max() {
            self.touch_all(id, at).await?;
        }
        let cursors = self.cursors();
        let puts = trails.into_iter().map(|trail| cursors.put_trail(id, trail));
        stream::iter(puts).buffer_unordered(MOVES_AT_ONCE_MAX).try_collect().await
    }
}

impl Cursors<'_> {
    async fn trails(
        self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Trail>, StoreError> {
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        // The lowest id is 0.
        let after = after.map_or(-1, |after| int(after.get()));
        let values = (int(id.get()), after, limit);
        let rows: Vec<CursorRow> = self.cql.rows("read cursors", &self.statements.after, values).await?;
        let trails = rows.into_iter().map(of_user).map(|(user_id, (cursor, moved_at))| async move {
            let moves = |mark, reached| self.moves(id, user_id, mark, reached);
            let (delivered, read) =
                try_join(moves(Mark::Delivered, cursor.delivered), moves(Mark::Read, cursor.read)).await?;
            Ok(Trail { user_id, cursor, moved_at, delivered, read })
        });
        stream::iter(trails).buffered(MOVES_AT_ONCE_MAX).try_collect().await
    }

    /// The moves of a mark through the seq that it has reached.
    async fn moves(
        self,
        id: ConversationId,
        user: UserId,
        mark: Mark,
        reached: Seq,
    ) -> Result<Vec<(Seq, Timestamp)>, StoreError> {
        let mut moves = Vec::new();
        for bucket in 0..=moves_bucket(reached) {
            // Includes the first seq of the bucket.
            let mut after = int(bucket * MOVES_BUCKET_ENTRIES) - 1;
            loop {
                let (id, user, limit) = (int(id.get()), int(user.get()), MOVES_READ as i32);
                let values = (id, user, int(bucket), mark as i8, after, limit);
                let rows: Vec<(i64, CqlTimestamp)> =
                    self.cql.rows("read the moves of a cursor", &self.statements.moves, values).await?;
                moves.extend(
                    rows.iter()
                        .map(|(seq, at)| (Seq::new(seq.cast_unsigned()), Timestamp::from_millis(at.0))),
                );
                match rows.last() {
                    Some((last, _)) if rows.len() == MOVES_READ => after = *last,
                    _ => break,
                }
            }
        }
        Ok(moves)
    }

    /// Writes a trail as if the user had moved there, but without notes in the account log.
    async fn put_trail(self, id: ConversationId, trail: Trail) -> Result<(), StoreError> {
        let reached = reached(&trail);
        let delivered = trail.delivered.into_iter().map(|(seq, at)| (Mark::Delivered, seq, at));
        let read = trail.read.into_iter().map(|(seq, at)| (Mark::Read, seq, at));
        self.record(id, trail.user_id, delivered.chain(read)).await?;
        self.pass(id, trail.user_id, Passed::both(reached), trail.moved_at).await
    }
}

/// The cursor of a trail. Another store may have dropped the cursor of a former member and kept the moves. This
/// store searches for moves only up to the cursor, so the cursor must reach the last move.
fn reached(trail: &Trail) -> Cursor {
    let furthest = |moves: &[(Seq, Timestamp)]| moves.iter().map(|(seq, _)| *seq).max().unwrap_or_default();
    let Cursor { delivered, read, read_ordinal } = trail.cursor;
    Cursor {
        delivered: delivered.max(furthest(&trail.delivered)),
        read: read.max(furthest(&trail.read)),
        read_ordinal,
    }
}
