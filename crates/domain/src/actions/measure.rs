//! Metrics of actions. Their handles are cached: a lookup costs more than an update.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Instant;

use metrics::{Counter, Histogram, counter, histogram};

use super::action::{ACTION_NAMES, Done};
use super::refusal::Refusal;

struct OfAction {
    seconds: Histogram,
    done: Counter,
    repeated: Counter,
    refused: Counter,
    failed: Counter,
}

static ACTIONS: LazyLock<HashMap<&str, OfAction>> = LazyLock::new(|| {
    let outcome =
        |action, outcome| counter!("godwit_actions_total", "action" => action, "outcome" => outcome);
    let handles = |action: &&'static str| OfAction {
        seconds: histogram!("godwit_action_seconds", "action" => *action),
        done: outcome(*action, "done"),
        repeated: outcome(*action, "repeated"),
        refused: outcome(*action, "refused"),
        failed: outcome(*action, "failed"),
    };
    ACTION_NAMES.iter().map(|action| (*action, handles(action))).collect()
});
static APPEND_MESSAGES: LazyLock<Histogram> = LazyLock::new(|| histogram!("godwit_append_messages"));
static DELIVERY_LAG: LazyLock<Histogram> = LazyLock::new(|| histogram!("godwit_delivery_lag_seconds"));

/// Counts an action of the queue that has an outcome.
pub(super) fn finished(action: &str, started: Instant, outcome: &Result<Done, Refusal>) {
    if let Some(of) = of_action(action) {
        of.seconds.record(started.elapsed());
        match outcome {
            Ok(Done { repeated: true, .. }) => of.repeated.increment(1),
            Ok(_) => of.done.increment(1),
            Err(refusal) => refused(action, refusal),
        }
    }
}

/// Counts an action that was refused, in the queue or before it.
pub(super) fn refused(action: &str, refusal: &Refusal) {
    if let Some(of) = of_action(action) {
        if refusal.is_failure() { &of.failed } else { &of.refused }.increment(1);
    }
}

/// A test fails if the name of a new action is missing here.
fn of_action(action: &str) -> Option<&'static OfAction> {
    let of = ACTIONS.get(action);
    debug_assert!(of.is_some(), "{action} is missing in ACTION_NAMES");
    of
}

pub(super) fn append(actions: usize) {
    APPEND_MESSAGES.record(actions as f64);
}

pub(super) fn append_conflict() {
    counter!("godwit_append_conflicts_total").increment(1);
}

pub(super) fn delivery(lag_ms: i64) {
    DELIVERY_LAG.record(lag_ms.max(0) as f64 / 1_000.0);
}
