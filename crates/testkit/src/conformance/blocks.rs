//! Blocks between users.

use godwit_domain::model::{AccountChange, AccountEntry};
use godwit_domain::ports::{BlockOutcome, StoreError};
use godwit_protocol::UserId;

use super::{CALLERS, Outcome};
use crate::paging::{account_log_after, all_pages};
use crate::scene::Scene;

const BLOCKS_MAX: usize = 5;

pub(super) async fn a_block_has_a_direction(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    assert_eq!(s.store().blocks_between(ada, bob).await?, (false, false));
    block(s, ada, bob).await?;
    assert_eq!(s.store().blocks_between(ada, bob).await?, (true, false));
    assert_eq!(s.store().blocks_between(bob, ada).await?, (false, true));
    assert_eq!(s.store().blocked_by(bob, None, 50).await?, []);
    block(s, bob, ada).await?;
    assert_eq!(s.store().blocks_between(ada, bob).await?, (true, true));
    unblock(s, ada, bob).await?;
    assert_eq!(s.store().blocks_between(ada, bob).await?, (false, true));
    assert_eq!(s.store().blocked_by(ada, None, 50).await?, []);
    let eve = s.user().await?;
    let others = [eve, ada, bob];
    assert_eq!(s.store().blocked_among(bob, &others).await?, [ada]);
    assert_eq!(s.store().blockers_among(ada, &others).await?, [bob]);
    assert_eq!(s.store().blockers_among(ada, &[eve]).await?, []);
    assert_eq!(s.store().blocked_among(ada, &others).await?, []);
    assert_eq!(s.store().blockers_among(bob, &others).await?, [], "not any more");
    Ok(())
}

pub(super) async fn blocking_and_unblocking_are_noted_once(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    assert_eq!(unblock(s, ada, bob).await?, None);
    assert_eq!(s.store().account_head(ada).await?, 0);
    let BlockOutcome::Blocked(blocked) = block(s, ada, bob).await? else { panic!("the list has room") };
    assert_eq!((blocked.at, blocked.change), (s.now(), AccountChange::UserBlocked(bob)));
    assert_eq!(block(s, ada, bob).await?, BlockOutcome::WasBlocked);
    assert_eq!(account_log_after(s.store(), ada, 0, 50).await?, Some(vec![blocked]));
    let unblocked = unblock(s, ada, bob).await?.expect("it was blocked");
    assert_eq!((unblocked.at, unblocked.change), (s.now(), AccountChange::UserUnblocked(bob)));
    assert_eq!(unblock(s, ada, bob).await?, None);
    assert_eq!(account_log_after(s.store(), ada, 0, 50).await?, Some(vec![unblocked]));
    assert_eq!(s.store().account_head(bob).await?, 0, "who is blocked is not told");
    Ok(())
}

pub(super) async fn one_of_many_concurrent_blocks_is_noted(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    let note = s.note(ada, AccountChange::UserBlocked(bob));
    let outcomes =
        s.at_once(CALLERS, |_, store| async move { store.block(ada, bob, note, BLOCKS_MAX).await }).await?;
    let noted: Vec<AccountEntry> = outcomes.into_iter().filter_map(noted).collect();
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert_eq!(account_log_after(s.store(), ada, 0, 50).await?, Some(noted));
    Ok(())
}

pub(super) async fn blocks_are_bounded(s: &Scene) -> Outcome {
    let (ada, others) = (s.user().await?, strangers(s, BLOCKS_MAX + 1));
    for other in &others[..BLOCKS_MAX] {
        assert!(matches!(block(s, ada, *other).await?, BlockOutcome::Blocked(_)));
    }
    let head = s.store().account_head(ada).await?;
    let further = others[BLOCKS_MAX];
    assert_eq!(block(s, ada, further).await?, BlockOutcome::Full);
    assert_eq!(s.store().blocks_between(ada, further).await?, (false, false));
    assert_eq!(s.store().account_head(ada).await?, head, "a refused block is not noted");
    assert_eq!(block(s, ada, others[0]).await?, BlockOutcome::WasBlocked);
    unblock(s, ada, others[0]).await?;
    assert!(matches!(block(s, ada, further).await?, BlockOutcome::Blocked(_)));
    Ok(())
}

pub(super) async fn blocks_are_bounded_among_concurrent_callers(s: &Scene) -> Outcome {
    let (ada, others) = (s.user().await?, strangers(s, CALLERS));
    let outcomes = s.at_once(CALLERS, |i, store| {
        let (other, note) = (others[i], s.note(ada, AccountChange::UserBlocked(others[i])));
        async move { store.block(ada, other, note, BLOCKS_MAX).await }
    });
    let outcomes = outcomes.await?;
    let blocked: Vec<UserId> =
        others.iter().zip(&outcomes).filter(|(_, o)| noted(**o).is_some()).map(|(id, _)| *id).collect();
    assert_eq!(blocked.len(), BLOCKS_MAX, "{outcomes:?}");
    assert_eq!(s.store().blocked_by(ada, None, 50).await?, blocked);
    Ok(())
}

pub(super) async fn blocked_users_are_sorted_by_id_in_pages_of_any_size(s: &Scene) -> Outcome {
    let (ada, others) = (s.user().await?, strangers(s, BLOCKS_MAX));
    for other in others.iter().rev() {
        block(s, ada, *other).await?;
    }
    for limit in 1..=BLOCKS_MAX + 1 {
        let blocked = all_pages(limit, |id| *id, |after| s.store().blocked_by(ada, after, limit)).await?;
        assert_eq!(blocked, others, "in pages of {limit}");
    }
    // A page continues from its position even if that user has left the list.
    unblock(s, ada, others[1]).await?;
    assert_eq!(s.store().blocked_by(ada, Some(others[1]), 50).await?, others[2..]);
    Ok(())
}

/// User ids, sorted.
fn strangers(s: &Scene, count: usize) -> Vec<UserId> {
    (0..count).map(|_| s.new_user().id).collect()
}

async fn block(s: &Scene, user: UserId, blocked: UserId) -> Result<BlockOutcome, StoreError> {
    s.store().block(user, blocked, s.note(user, AccountChange::UserBlocked(blocked)), BLOCKS_MAX).await
}

async fn unblock(s: &Scene, user: UserId, blocked: UserId) -> Result<Option<AccountEntry>, StoreError> {
    s.store().unblock(user, blocked, s.note(user, AccountChange::UserUnblocked(blocked))).await
}

fn noted(outcome: BlockOutcome) -> Option<AccountEntry> {
    match outcome {
        BlockOutcome::Blocked(entry) => Some(entry),
        BlockOutcome::WasBlocked | BlockOutcome::Full => None,
    }
}
