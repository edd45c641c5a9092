//! Reactions: at most one per user and message.

use godwit_domain::model::ReactionCount;
use godwit_domain::ports::{StoreError, StoredReaction};
use godwit_protocol::{ConversationId, Seq, UserId};

use super::Outcome;
use super::expected::{log_of, write};
use crate::paging::all_pages;
use crate::reading::plain;
use crate::scene::Scene;

pub(super) async fn a_reaction_is_counted_and_found(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let sent = s.send(chat.id, chat.ada, "m").await?;
    let mut log = log_of(s, chat.id).await?;
    s.advance_ms(10);
    let append =
        s.batch_on(chat.id, &[sent.seq]).await?.react(chat.bob, sent.seq, None, Some("👩🏽‍🚀")).build();
    write(&mut log, &append);
    s.append(append).await?;
    assert_eq!(log_of(s, chat.id).await?, log);
    assert_eq!(counts(s, chat.id, sent.seq).await?, [("👩🏽‍🚀".to_owned(), 1)]);
    let expected = StoredReaction { user_id: chat.bob, reaction: "👩🏽‍🚀".into(), at: s.now() };
    assert_eq!(s.store().reactions(chat.id, sent.seq, None, 50).await?, [expected]);
    Ok(())
}

pub(super) async fn a_second_reaction_replaces_the_first(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let seq = s.send(chat.id, chat.ada, "m").await?.seq;
    s.react(chat.id, chat.ada, seq, Some("+")).await?;
    s.react(chat.id, chat.bob, seq, Some("+")).await?;
    s.advance_ms(10);
    s.react(chat.id, chat.ada, seq, Some("!")).await?;
    assert_eq!(counts(s, chat.id, seq).await?, [("+".to_owned(), 1), ("!".to_owned(), 1)]);
    let of_ada = StoredReaction { user_id: chat.ada, reaction: "!".into(), at: s.now() };
    let reactions = s.store().reactions(chat.id, seq, None, 50).await?;
    assert_eq!((reactions.len(), &reactions[0]), (2, &of_ada));
    Ok(())
}

pub(super) async fn a_removed_reaction_leaves_nothing(s: &Scene) -> Outcome {
    let chat = s.chat().await?;
    let sent = s.send(chat.id, chat.ada, "m").await?;
    let before = s.item(chat.id, sent.seq).await?;
    s.react(chat.id, chat.ada, sent.seq, Some("+")).await?;
    s.react(chat.id, chat.bob, sent.seq, Some("!")).await?;
    s.react(chat.id, chat.bob, sent.seq, None).await?;
    assert_eq!(counts(s, chat.id, sent.seq).await?, [("+".to_owned(), 1)]);
    s.react(chat.id, chat.ada, sent.seq, None).await?;
    assert_eq!(plain(s.item(chat.id, sent.seq).await?), before);
    assert_eq!(s.store().reactions(chat.id, sent.seq, None, 50).await?, []);
    let asked = [(sent.seq, chat.ada), (sent.seq, chat.bob)];
    assert_eq!(s.store().reactions_by(chat.id, &asked).await?, [None, None]);
    Ok(())
}

pub(super) async fn reactions_are_sorted_by_user_in_pages_of_any_size(s: &Scene) -> Outcome {
    let group = s.group(8).await?;
    let (seq, other) = (s.send(group.id, group.owner(), "a").await?.seq, s.send(group.id, group.owner(), "b").await?.seq);
    let mut expected = Vec::new();
    for place in [5, 1, 7, 0, 3, 6] {
        s.advance_ms(10);
        let (user_id, reaction) = (group.members[place], format!("r{}", place % 3));
        s.react(group.id, user_id, seq, Some(&reaction)).await?;
        expected.push(StoredReaction { user_id, reaction: reaction.into(), at: s.now() });
    }
    s.react(group.id, group.members[2], other, Some("elsewhere")).await?;
    expected.sort_by_key(|reaction| reaction.user_id);
    for limit in 1..=expected.len() + 1 {
        let page = |after| s.store().reactions(group.id, seq, after, limit);
        let reactions = all_pages(limit, |r: &StoredReaction| r.user_id, page).await?;
        assert_eq!(reactions, expected, "in pages of {limit}");
    }
    let after_one_who_did_not = s.store().reactions(group.id, seq, Some(group.members[2]), 1).await?;
    assert_eq!(after_one_who_did_not, expected[2..3]);
    Ok(())
}

pub(super) async fn reactions_of_users_are_in_the_requested_order(s: &Scene) -> Outcome {
    let group = s.group(3).await?;
    let [ada, bob, eve] = [0, 1, 2].map(|i| group.members[i]);
    let (a, b) = (s.send(group.id, ada, "a").await?.seq, s.send(group.id, ada, "b").await?.seq);
    s.react(group.id, bob, a, Some("+")).await?;
    s.react(group.id, eve, b, Some("!")).await?;
    s.react(group.id, bob, b, Some("?")).await?;
    let asked = [(b, bob), (a, eve), (a, bob), (b, eve), (a, ada), (Seq::new(99), bob)];
    let reactions = s.store().reactions_by(group.id, &asked).await?;
    let expected = [Some("?"), None, Some("+"), Some("!"), None, None];
    assert_eq!(reactions.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
    assert_eq!(s.store().reactions_by(group.id, &[]).await?, []);
    Ok(())
}

pub(super) async fn many_can_react_in_one_entry(s: &Scene) -> Outcome {
    let group = s.group(6).await?;
    let seq = s.send(group.id, group.owner(), "m").await?.seq;
    s.react(group.id, group.members[5], seq, Some("+")).await?;
    let mut log = log_of(s, group.id).await?;
    let mut changes: Vec<(UserId, Option<&str>, Option<&str>)> =
        group.members[..5].iter().map(|user| (*user, None, Some("!"))).collect();
    changes.push((group.members[5], Some("+"), None));
    let append = s.batch_on(group.id, &[seq]).await?.react_all(seq, &changes).build();
    write(&mut log, &append);
    s.append(append).await?;
    assert_eq!(log_of(s, group.id).await?, log);
    assert_eq!(counts(s, group.id, seq).await?, [("!".to_owned(), 5)]);
    let reacted = s.store().reactions(group.id, seq, None, 50).await?;
    assert_eq!(reacted.into_iter().map(|r| r.user_id).collect::<Vec<_>>(), group.members[..5]);
    Ok(())
}

async fn counts(s: &Scene, id: ConversationId, seq: Seq) -> Result<Vec<(String, u32)>, StoreError> {
    let counts = s.item(id, seq).await?.state.reactions.clone();
    Ok(counts.into_iter().map(|ReactionCount { reaction, count }| (reaction.into(), count)).collect())
}
