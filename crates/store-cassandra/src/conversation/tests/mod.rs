//! Tests of what is particular to this store, on Cassandra: crashes and late writes. Answers are compared with
//! the model.

mod changes;
mod clearing;
mod crashes;
mod erasing;
mod large;
mod lost;
mod making;
mod records;

use std::sync::Arc;

use godwit_domain::model::ConversationState;
use godwit_domain::ports::{Append, AppendOutcome, ConversationStore, NewConversation, Store};
use godwit_protocol::{ConversationId, MessageId, UserId};
use godwit_testbed::{Cassandra, Shared};
use godwit_testkit::reading::{Known, read_everything};
use godwit_testkit::{ModelStore, Scene, WallClock};

use super::Conversations;
use super::append::{Appended, NewEntries};
use super::project::{Projection, fan_out_after};
use crate::CassandraStore;
use crate::inbox::Activity;
use crate::options::Options;
use crate::test_keyspace::keyspace;

/// A node and the model, which both do the same.
struct Stage {
    store: Arc<CassandraStore>,
    scene: Scene,
    model: ModelStore,
    known: Known,
    /// All appends, with the projections that were to follow.
    appended: Vec<Projection<'static>>,
    cassandra: Shared,
}

/// The last step of a projection before its node crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Nothing,
    Plain,
    Inboxes,
    Details,
    States,
}

impl Reached {
    const ALL: [Self; 5] = [Self::Nothing, Self::Plain, Self::Inboxes, Self::Details, Self::States];
}

impl Stage {
    async fn new() -> Self {
        let cassandra = Cassandra::shared().unwrap();
        let store = Arc::new(open(&cassandra).await);
        let scene = Scene::new(vec![store.clone()]);
        let model = ModelStore::new(Arc::new(WallClock));
        Self { store, scene, model, known: Known::default(), appended: Vec::new(), cassandra }
    }

    fn conversations(&self) -> &Conversations {
        &self.store.conversations
    }

    /// Users whose answers are compared.
    fn people(&mut self, count: usize) -> Vec<UserId> {
        let people = self.scene.people(count);
        self.known.users.extend(&people);
        people
    }

    async fn create(&mut self, new: NewConversation) -> ConversationId {
        let id = new.conversation.id;
        self.know(&new);
        let made = self.model.create(new.clone(), None).await.unwrap();
        assert_eq!(self.store.create(new, None).await.unwrap().id, made.id);
        id
    }

    fn know(&mut self, new: &NewConversation) {
        self.known.conversations.push(new.conversation.id);
        self.known.times.push(new.conversation.created_at);
        self.appended.push(Projection {
            conversation: new.conversation.id,
            begun: None,
            entries: vec![new.created.clone()].leak(),
            effects: Box::leak(Box::new(new.effects.clone())),
            activity: Activity::of(&new.effects.head, new.conversation.created_at),
            fan_out: fan_out_after(&new.effects),
        });
    }

    /// Appends to both. On Cassandra, the node crashes after a step of the projection.
    async fn append(&mut self, append: Append, reached: Reached) {
        let conversations = &self.store.conversations;
        let outcome = self.model.append(&append).await.unwrap();
        assert!(matches!(outcome, AppendOutcome::Appended(_)));
        let appended = conversations.log().append(NewEntries::from(&append)).await.unwrap();
        assert_ne!(appended, Appended::No);
        let Append { conversation, entries, effects, .. } = append;
        self.known
            .messages
            .extend(entries.iter().filter(|entry| entry.shown).map(|entry| MessageId::new(entry.id)));
        let client_ids = entries.iter().filter_map(|entry| Some(entry.message()?.client_id.clone()));
        self.known.client_ids.extend(client_ids);
        let activity = conversations.activity(conversation, &effects.head).await.unwrap();
        let fan_out = fan_out_after(&effects);
        let (entries, effects) = (entries.leak(), Box::leak(Box::new(effects)));
        let projection = Projection { conversation, begun: None, entries, effects, activity, fan_out };
        project_until(conversations, &projection, reached).await;
        self.appended.push(projection);
    }

    /// Loads the conversation, which completes its projection, and compares it with the model.
    async fn load(&self, id: ConversationId) -> ConversationState {
        let loaded = self.scene.load(id).await.unwrap();
        assert_eq!(Some(&loaded), self.model.load(id).await.unwrap().as_ref());
        loaded
    }

    async fn compare(&self) {
        let expected = read_everything(&self.model, &self.known).await.unwrap();
        let found = read_everything(&*self.store as &dyn Store, &self.known).await.unwrap();
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), expected.len());
    }
}

async fn open(cassandra: &Shared) -> CassandraStore {
    let keyspace = keyspace(cassandra).await;
    let options = Options::patient(cassandra.contact_points(), keyspace);
    CassandraStore::open(options, Arc::new(WallClock)).await.unwrap()
}

async fn project_until(conversations: &Conversations, projection: &Projection<'_>, reached: Reached) {
    let joined = projection.joined();
    if reached >= Reached::Plain {
        let unlisted = conversations.write_plain(projection, &joined).await.unwrap();
        if reached >= Reached::Inboxes {
            conversations.change_inboxes(projection, &joined, &unlisted).await.unwrap();
        }
    }
    if reached >= Reached::Details {
        conversations.write_details(projection).await.unwrap();
    }
    if reached >= Reached::States {
        conversations.write_states(projection).await.unwrap();
    }
}
