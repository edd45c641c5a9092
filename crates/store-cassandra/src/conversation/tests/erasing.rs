//! Deleted content is gone from the tables.

use godwit_domain::model::Kind;
use godwit_protocol::Seq;

use super::*;
use crate::values::int;

/// All texts of the log, in every bucket.
async fn told(stage: &Stage, id: ConversationId, buckets: i64) -> String {
    let cql = &stage.conversations().cql;
    let read = "SELECT body, head_message FROM log WHERE conversation_id = ? AND bucket = ?";
    let read = cql.prepare_read(read).await.unwrap();
    let mut told = String::new();
    for bucket in 0..buckets {
        let rows: Vec<(Option<String>, Option<String>)> =
            cql.rows("test", &read, (int(id.get()), bucket)).await.unwrap();
        // The preview is a static column, so every row has it.
        told.extend(rows.first().expect("there is such a bucket").1.clone());
        told.extend(rows.into_iter().filter_map(|(body, _)| body));
    }
    told
}

#[tokio::test]
async fn a_deleted_message_is_erased_with_all_versions() {
    let mut stage = Stage::new().await;
    let people = stage.people(2);
    let id = stage.create(stage.scene.new_group(Kind::Group, &people)).await;
    let (scene, message) = (stage.scene.clone(), Seq::new(2));
    stage
        .append(scene.batch(id).await.unwrap().text(people[0], "first-secret").build(), Reached::States)
        .await;
    let batch = scene.batch_on(id, &[message]).await.unwrap();
    stage.append(batch.edit(people[0], message, "second-secret").build(), Reached::States).await;
    assert_eq!(told(&stage, id, 1).await.matches("-secret").count(), 3, "with the preview");
    let batch = scene.batch_on(id, &[message]).await.unwrap();
    stage.append(batch.delete(people[0], message).build(), Reached::Nothing).await;
    stage.load(id).await;
    let left = told(&stage, id, 1).await;
    // The client id stays: the sender chose it, and it only says that a message was sent.
    assert!(!left.contains("-secret"), "{left}");
    stage.compare().await;
}

#[tokio::test]
async fn the_preview_at_the_end_of_a_bucket_is_erased_too() {
    let mut stage = Stage::new().await;
    let people = stage.people(2);
    let id = stage.create(stage.scene.new_group(Kind::Group, &people)).await;
    let scene = stage.scene.clone();
    // The last append of the first bucket reaches into the sequence numbers of the second.
    let mut state = stage.load(id).await;
    while state.head.seq.get() < super::super::buckets::BUCKET_ENTRIES {
        let mut batch = godwit_testkit::batch::Batch::after(scene.ids(), &state);
        for number in 0..1_000 {
            batch = if number == 999 {
                batch.text(people[0], &format!("{}-secret", state.head.seq))
            } else {
                batch.filler()
            };
        }
        let append = batch.build();
        append.effects.apply_to(&mut state);
        stage.append(append, Reached::States).await;
    }
    let last = state.head.seq;
    assert!(last.get() > super::super::buckets::BUCKET_ENTRIES);
    for _ in 0..2 {
        stage.append(scene.batch(id).await.unwrap().filler().build(), Reached::States).await;
    }
    let text = format!("{}-secret", last.get() - 1_000);
    assert_eq!(
        told(&stage, id, 2).await.matches(&text).count(),
        3,
        "the entry, and the previews of both buckets"
    );
    let batch = scene.batch_on(id, &[last]).await.unwrap().react(people[1], last, None, Some("+"));
    stage.append(batch.build(), Reached::States).await;
    assert_eq!(
        scene.item(id, last).await.unwrap().state.reactions.len(),
        1,
        "states are where their messages are"
    );
    let batch = scene.batch_on(id, &[last]).await.unwrap().delete(people[0], last);
    stage.append(batch.build(), Reached::States).await;
    let projection = stage.appended.last().expect("it was just appended");
    stage.conversations().project(projection).await.unwrap();
    assert!(!told(&stage, id, 2).await.contains(&text));
}
