//! The parts that each write marks.

use godwit_domain::model::{
    AccountChange, ClientId, Cursor, DisplayName, Draft, Handle, Kind, MessageBody, Scheduled,
    ScheduledStage, SettingsChange, Star,
};
use godwit_domain::ports::{
    BlockOutcome, BlockStore, ConversationStore, CursorMove, DeviceStore, InboxStore, PersonalStore,
    Rotation, UserChange, UserStore,
};
use godwit_protocol::{ConversationId, MessageId, ScheduledId, Seq, Timestamp, UserId};

use super::*;

const MAX: usize = 100;

async fn expect(this: &Stage, what: &str, expected: impl IntoIterator<Item = Part>) {
    assert_eq!(this.changed().await, BTreeSet::from_iter(expected), "{what}");
}

fn scheduled(scene: &Scene, user_id: UserId, conversation: ConversationId) -> Scheduled {
    Scheduled {
        id: ScheduledId::new(scene.id()),
        user_id,
        conversation,
        draft: Draft {
            client_id: ClientId::from_stored(scene.word()),
            body: Some(MessageBody::Text("later".into())),
            reply_to: None,
            forwarded_from: None,
        },
        send_at: scene.now().plus_millis(1_000),
        stage: ScheduledStage::Waiting,
    }
}

#[tokio::test]
async fn account_writes_mark_their_parts() {
    let this = Stage::new().await;
    let (store, scene) = (&*this.used, &this.scene);
    let before = scene.user().await.unwrap();
    this.go().await;
    expect(&this, "before it began", []).await;

    let user = scene.user().await.unwrap();
    let account = || [Part::Account(user)];
    expect(&this, "create_user", account()).await;
    let name = DisplayName::from_stored("Ada");
    let change = UserChange { display_name: Some(name), ..UserChange::default() };
    store.update_user(user, change, Some(scene.note(user, AccountChange::ProfileUpdated))).await.unwrap();
    expect(&this, "update_user", account()).await;
    let change = UserChange { handle: Some(Handle::from_stored(scene.word())), ..UserChange::default() };
    store.update_user(user, change, None).await.unwrap();
    expect(&this, "update_user with a handle", account()).await;

    let device = scene.new_device(user);
    let note = scene.note(user, AccountChange::DeviceAdded(device.id));
    store.create_device(device.clone(), note, MAX).await.unwrap();
    expect(&this, "create_device", account()).await;
    let rotated = store.rotate_session(device.id, 0, 1, scene.now(), scene.now()).await.unwrap();
    assert!(matches!(rotated, Rotation::Rotated(_)));
    expect(&this, "rotate_session", account()).await;
    let rotated = store.rotate_session(device.id, 0, 1, scene.now(), scene.now()).await.unwrap();
    assert!(matches!(rotated, Rotation::Reused(_)));
    expect(&this, "rotate_session that was refused", []).await;
    store.remove_device(device.id, scene.note(user, AccountChange::DeviceRemoved(device.id))).await.unwrap();
    expect(&this, "remove_device", account()).await;

    let note = scene.note(user, AccountChange::UserBlocked(before));
    assert!(matches!(store.block(user, before, note, MAX).await.unwrap(), BlockOutcome::Blocked(_)));
    expect(&this, "block", account()).await;
    store.block(user, before, note, MAX).await.unwrap();
    expect(&this, "block again", []).await;
    store.unblock(user, before, scene.note(user, AccountChange::UserUnblocked(before))).await.unwrap();
    expect(&this, "unblock", account()).await;

    let (message_id, conversation) = (MessageId::new(scene.id()), ConversationId::new(scene.id()));
    let star = Star { message_id, conversation, seq: Seq::new(1), at: scene.now() };
    store.star(user, star, MAX, scene.note(user, AccountChange::MessageStarred(message_id))).await.unwrap();
    expect(&this, "star", account()).await;
    store
        .unstar(user, message_id, scene.note(user, AccountChange::MessageUnstarred(message_id)))
        .await
        .unwrap();
    expect(&this, "unstar", account()).await;

    let scheduled = scheduled(scene, user, conversation);
    let note = scene.note(user, AccountChange::ScheduledUpdated(scheduled.id));
    store.schedule(scheduled.clone(), MAX, note).await.unwrap();
    expect(&this, "schedule", account()).await;
    store.replace_scheduled(scheduled, None, Some(note)).await.unwrap();
    expect(&this, "replace_scheduled", account()).await;

    store.user(user).await.unwrap();
    store.devices_of(user).await.unwrap();
    store.forget_expiries(Vec::new()).await.unwrap();
    store.due_scheduled(Timestamp::from_millis(i64::MAX), MAX).await.unwrap();
    expect(&this, "reading", []).await;
    this.end().await;
}

#[tokio::test]
async fn conversation_writes_mark_their_parts() {
    let this = Stage::new().await;
    let (store, scene) = (&*this.used, &this.scene);
    let (ada, bob) = (scene.user().await.unwrap(), scene.user().await.unwrap());
    this.go().await;

    let id = scene.open_direct(ada, bob).await.unwrap();
    let conversation = || Part::Conversation(id);
    let account = Part::Account;
    expect(&this, "open_direct", [conversation(), account(ada)]).await;
    assert_eq!(scene.open_direct(bob, ada).await.unwrap(), id);
    expect(&this, "open_direct that finds it", []).await;

    scene.send(id, ada, "m2").await.unwrap();
    expect(&this, "append that lists it", [conversation(), account(bob)]).await;
    scene.send(id, ada, "m3").await.unwrap();
    expect(&this, "append", [conversation()]).await;
    scene.react(id, bob, Seq::new(2), Some("+")).await.unwrap();
    expect(&this, "append of a reaction", [conversation()]).await;

    let by = |user_id, delivered, read| CursorMove {
        conversation: id,
        user_id,
        cursor: Cursor { delivered: Seq::new(delivered), read: Seq::new(read), read_ordinal: 1 },
        at: scene.now(),
    };
    store.move_cursors(&[by(bob, 3, 0)]).await.unwrap();
    expect(&this, "move_cursors of what was delivered", [conversation()]).await;
    store.move_cursors(&[by(bob, 0, 2)]).await.unwrap();
    expect(&this, "move_cursors of what was read", [conversation(), account(bob)]).await;

    let membership = || [Part::Membership(bob, id), account(bob)];
    let note = scene.note(bob, AccountChange::SettingsChanged(id));
    let change = SettingsChange { archived: Some(true), ..SettingsChange::default() };
    store.change_settings(bob, id, change, note).await.unwrap();
    expect(&this, "change_settings", membership()).await;
    store
        .hide(bob, id, Seq::new(2), MAX, scene.note(bob, AccountChange::MessageHidden(MessageId::new(1))))
        .await
        .unwrap();
    expect(&this, "hide", membership()).await;
    store.clear(bob, id, Seq::new(3), 0, note).await.unwrap();
    expect(&this, "clear", membership()).await;
    scene.send(id, ada, "m5").await.unwrap();
    expect(&this, "append that brings it back", [conversation(), account(bob)]).await;

    let group = [ada, bob];
    let new = scene.new_group(Kind::Group, &group);
    let made = new.conversation.id;
    let key = ClientId::from_stored(scene.word());
    store.create(new, Some(&key)).await.unwrap();
    let with_key = [Part::Conversation(made), Part::Creation(ada, key.clone()), account(ada), account(bob)];
    expect(&this, "create with a key", with_key).await;
    store.create(scene.new_group(Kind::Group, &group), Some(&key)).await.unwrap();
    expect(&this, "create that finds it", []).await;
    let made = store.create(scene.new_group(Kind::Group, &group), None).await.unwrap().id;
    expect(&this, "create", [Part::Conversation(made), account(ada), account(bob)]).await;
    scene.append(scene.batch(made).await.unwrap().remove(ada, bob).build()).await.unwrap();
    expect(&this, "append that takes it away", [Part::Conversation(made), account(bob)]).await;

    store.load(id).await.unwrap();
    store.inbox(ada, false, None, 10).await.unwrap();
    expect(&this, "reading", []).await;
    this.end().await;
}
