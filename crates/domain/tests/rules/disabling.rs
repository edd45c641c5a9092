//! What a disabled user had begun: when the disabling returns, every server has finished or refused it.

use godwit_domain::App;
use godwit_domain::model::UserPair;
use godwit_domain::ports::{ConversationStore, PersonalStore};
use godwit_protocol::accounts::UpdateMe;
use godwit_protocol::conversations::NewConversation;
use godwit_protocol::messages::{MessageKind, SendMessage};
use godwit_protocol::personal::ScheduleMessage;
use godwit_protocol::{ConversationId, UserId};
use godwit_testkit::Moment;

use crate::stage::Stage;

/// What a user does that is no entry of an existing log.
#[derive(Debug, Clone, Copy)]
enum Deed {
    MakesAGroup,
    OpensADirectConversation,
    Schedules,
    ChangesTheirName,
}

const DEEDS: [Deed; 4] =
    [Deed::MakesAGroup, Deed::OpensADirectConversation, Deed::Schedules, Deed::ChangesTheirName];

struct Cast {
    stage: Stage,
    ada: UserId,
    bob: UserId,
    group: ConversationId,
}

impl Cast {
    async fn new() -> Self {
        let stage = Stage::new();
        let [ada, bob] = stage.users(["ada", "bob"]).await;
        let group = stage.group(&[bob, ada]).await;
        Self { stage, ada, bob, group }
    }

    /// Whether the server accepted it.
    async fn is_done(&self, deed: Deed) -> bool {
        let (app, ada) = (&self.stage.app, self.ada);
        match deed {
            Deed::MakesAGroup => {
                let new = NewConversation { name: "Birds".into(), ..NewConversation::default() };
                app.groups.create(ada, false, new).await.is_ok()
            }
            Deed::OpensADirectConversation => app.inbox.open_direct(ada, self.bob).await.is_ok(),
            Deed::Schedules => {
                let message = SendMessage {
                    conversation_id: None,
                    client_id: "later".into(),
                    kind: Some(MessageKind::Text),
                    text: Some("later".into()),
                    media: None,
                    event: None,
                    data: None,
                    reply_to: None,
                    forwarded_from: None,
                };
                let send_at = self.stage.now().plus_millis(60_000);
                let request = ScheduleMessage { conversation_id: self.group, send_at, message };
                app.personal.schedule(ada, request).await.is_ok()
            }
            Deed::ChangesTheirName => {
                let update = UpdateMe { display_name: Some("Countess".into()), ..UpdateMe::default() };
                app.accounts.update_me(ada, update).await.is_ok()
            }
        }
    }

    /// What there is of Ada's deeds.
    fn found(&self) -> impl Future<Output = (usize, bool, usize, String)> + Send + use<> {
        let (store, node, ada) = (self.stage.store.clone(), self.stage.second_node(), self.ada);
        let pair = UserPair::new(ada, self.bob).unwrap();
        async move {
            let groups = node.inbox.page(ada, false, None, 50).await.unwrap().0.len();
            let direct = store.direct_of(pair).await.unwrap().is_some();
            let scheduled = store.scheduled(ada).await.unwrap().len();
            (groups, direct, scheduled, node.accounts.me(ada).await.unwrap().display_name)
        }
    }
}

async fn disable(node: App) {
    node.accounts.set_disabled("ada", true).await.unwrap();
}

/// The user was authenticated just before.
#[tokio::test]
async fn a_user_who_is_disabled_already_begins_nothing() {
    for deed in DEEDS {
        let cast = Cast::new().await;
        disable(cast.stage.second_node()).await;
        let before = cast.found().await;
        assert!(!cast.is_done(deed).await, "{deed:?}");
        assert_eq!(cast.found().await, before, "{deed:?}");
    }
}

#[tokio::test]
async fn disabling_waits_for_what_the_user_has_begun() {
    for deed in DEEDS {
        let cast = Cast::new().await;
        let before = cast.found().await;
        let (app, found) = (cast.stage.app.clone(), cast.found());
        let (done, disabling) = tokio::sync::oneshot::channel();
        cast.stage.store.meanwhile(Moment::BeforeOwnWrite, async move {
            tokio::spawn(async move {
                disable(app).await;
                done.send(found.await).unwrap();
            });
            // Long enough for a disabling that does not wait.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
        });
        assert!(cast.is_done(deed).await, "{deed:?}");
        let at_the_end = disabling.await.unwrap();
        assert_ne!(at_the_end, before, "{deed:?}: the disabling has returned before it was there");
        assert_eq!(cast.found().await, at_the_end, "{deed:?}");
    }
}

/// A store that has a request writes, whether the caller still waits for it or not.
#[tokio::test]
async fn disabling_waits_for_what_the_user_has_begun_and_left() {
    let cast = Cast::new().await;
    let before = cast.found().await;
    let (app, found) = (cast.stage.app.clone(), cast.found());
    let (begun, is_begun) = tokio::sync::oneshot::channel();
    cast.stage.store.meanwhile(Moment::BeforeOwnWrite, async move {
        begun.send(()).unwrap();
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    });
    tokio::select! {
        _ = cast.is_done(Deed::MakesAGroup) => panic!("it takes longer"),
        begun = is_begun => begun.unwrap(),
    }
    // The connection of the caller is gone.
    disable(app).await;
    let at_the_end = found.await;
    assert_ne!(at_the_end, before);
    assert_eq!(cast.found().await, at_the_end);
}
