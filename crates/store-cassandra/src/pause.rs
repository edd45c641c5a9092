//! Waiting between attempts.

use std::time::Duration;

use tokio::time::sleep;

const FIRST: Duration = Duration::from_millis(8);
const MAX: Duration = Duration::from_millis(256);
const ROOM_MAX: Duration = Duration::from_millis(256);

/// Waits before an attempt, the first of which is number 0 and does not wait. The pauses grow, and have a random part, so
/// that those who met do not meet again.
pub(crate) async fn pause(attempt: u32) {
    if let Some(doublings) = attempt.checked_sub(1) {
        let longest = FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX);
        sleep(longest.mul_f64(rand::random_range(0.5..1.0))).await;
    }
}

/// Waits for a random part of the time that something took, so that another who wants to do the same is as likely to be the
/// next. Without it whoever was faster once has read what is needed and stays faster.
pub(crate) async fn leave_room(took: Duration) {
    sleep(took.min(ROOM_MAX).mul_f64(rand::random_range(0.0..1.0))).await;
}
