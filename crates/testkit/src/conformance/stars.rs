//! Starred messages.

use godwit_domain::model::{AccountChange, Star};
use godwit_domain::ports::{Listed, StoreError};
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::{CALLERS, Outcome};
use crate::paging::{account_log_after, all_pages};
use crate::scene::Scene;

/// More than a case stars, unless it tests the limit.
const MAX: usize = 100;

pub(super) async fn stars_are_sorted_latest_first_in_pages_of_any_size(s: &Scene) -> Outcome {
    let (ada, bob) = (s.user().await?, s.user().await?);
    let mut expected: Vec<Star> = (0..7).map(|_| new_star(s)).collect();
    // The messages are starred in another order.
    for place in [4, 0, 6, 2, 5, 1, 3] {
        s.advance_ms(10);
        expected[place].at = s.now();
        assert!(matches!(star(s, ada, expected[place], MAX).await?, Listed::Added(_)));
    }
    star(s, bob, new_star(s), MAX).await?;
    expected.reverse();
    for limit in 1..=expected.len() + 1 {
        let page = |before| s.store().stars(ada, before, limit);
        let stars = all_pages(limit, |star: &Star| star.message_id, page).await?;
        assert_eq!(stars, expected, "in pages of {limit}");
    }
    let not_starred = MessageId::new(expected[3].message_id.get() + 1);
    assert_eq!(s.store().stars(ada, Some(not_starred), 1).await?, expected[3..4]);
    assert_eq!(s.store().stars(s.new_user().id, None, 50).await?, []);
    Ok(())
}

pub(super) async fn starring_again_changes_nothing(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let first = new_star(s);
    let Listed::Added(entry) = star(s, user, first, 1).await? else { panic!("there is room for one") };
    assert_eq!((entry.at, entry.change), (s.now(), AccountChange::MessageStarred(first.message_id)));
    s.advance_ms(10);
    let again = Star { at: s.now(), ..first };
    assert_eq!(star(s, user, again, 1).await?, Listed::Unchanged, "also when there is no room for more");
    assert_eq!(s.store().stars(user, None, 50).await?, [first]);
    assert_eq!(account_log_after(s.store(), user, 0, 50).await?, Some(vec![entry]));
    Ok(())
}

pub(super) async fn a_star_can_be_removed_once(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let (kept, gone) = (new_star(s), new_star(s));
    star(s, user, kept, MAX).await?;
    star(s, user, gone, MAX).await?;
    s.advance_ms(10);
    let note = s.note(user, AccountChange::MessageUnstarred(gone.message_id));
    let entry = s.store().unstar(user, gone.message_id, note).await?.expect("it was starred");
    assert_eq!((entry.at, entry.change), (note.at, note.change));
    assert_eq!(s.store().stars(user, None, 50).await?, [kept]);
    assert_eq!(s.store().unstar(user, gone.message_id, note).await?, None);
    assert_eq!(s.store().account_head(user).await?, entry.seq, "it was noted once");
    // It can be starred again.
    assert!(matches!(star(s, user, gone, MAX).await?, Listed::Added(_)));
    assert_eq!(s.store().stars(user, None, 50).await?, [gone, kept]);
    Ok(())
}

pub(super) async fn stars_are_bounded(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let stars = [new_star(s), new_star(s), new_star(s)];
    star(s, user, stars[0], 2).await?;
    star(s, user, stars[1], 2).await?;
    let head = s.store().account_head(user).await?;
    assert_eq!(star(s, user, stars[2], 2).await?, Listed::Full);
    assert_eq!(s.store().account_head(user).await?, head, "what is refused writes no note");
    let note = s.note(user, AccountChange::MessageUnstarred(stars[0].message_id));
    s.store().unstar(user, stars[0].message_id, note).await?;
    assert!(matches!(star(s, user, stars[2], 2).await?, Listed::Added(_)));
    assert_eq!(s.store().stars(user, None, 50).await?, [stars[2], stars[1]]);
    Ok(())
}

pub(super) async fn one_of_many_concurrent_stars_of_a_message_is_noted(s: &Scene) -> Outcome {
    let user = s.user().await?;
    let new = new_star(s);
    let note = s.note(user, AccountChange::MessageStarred(new.message_id));
    let outcomes = s.at_once(CALLERS, |_, store| async move { store.star(user, new, MAX, note).await }).await?;
    let added = outcomes.iter().filter(|outcome| matches!(outcome, Listed::Added(_))).count();
    assert_eq!(added, 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == Listed::Unchanged).count(), CALLERS - 1);
    assert_eq!(s.store().stars(user, None, 50).await?, [new]);
    Ok(())
}

/// A star that is not stored yet, on a message that is newer than all before.
fn new_star(s: &Scene) -> Star {
    let conversation = ConversationId::new(s.id());
    Star { message_id: MessageId::new(s.id()), conversation, seq: Seq::new(7), at: s.now() }
}

async fn star(s: &Scene, user: UserId, star: Star, max: usize) -> Result<Listed, StoreError> {
    s.store().star(user, star, max, s.note(user, AccountChange::MessageStarred(star.message_id))).await
}
