//! Pauses between attempts.

use std::time::Duration;

use tokio::time::sleep;

const FIRST: Duration = Duration::from_millis(8);
const MAX: Duration = Duration::from_millis(256);
const ROOM_MAX: Duration = Duration::from_millis(256);

/// Sleeps before an attempt; attempt 0 does not wait. Exponential backoff with jitter, so that two colliding
/// processes do not collide again.
pub(crate) async fn pause(attempt: u32) {
    if let Some(doublings) = attempt.checked_sub(1) {
        let longest = FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX);
        sleep(longest.mul_f64(rand::random_range(0.5..1.0))).await;
    }
}

/// Sleeps for a random part of the time that an operation took, so that another process that waits for the same
/// partition is as likely to be next. Otherwise the process that has just written knows the present state and
/// keeps winning.
pub(crate) async fn leave_room(took: Duration) {
    sleep(took.min(ROOM_MAX).mul_f64(rand::random_range(0.0..1.0))).await;
}
