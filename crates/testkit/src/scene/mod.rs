//! The fixture of one test: fresh ids, handles and times, so that many tests can share one store.
//!
//! - here: users, times, and single appends
//! - `groups`: groups, and appends to them

mod groups;

use std::sync::Arc;

use godwit_domain::model::{
    AccountChange, AccountEntry, AccountNote, ConversationState, Device, DeviceName, DisplayName, Entry,
    Handle, Session, User, UserPair,
};
use godwit_domain::ports::{Append, AppendOutcome, Clock, CreateUser, NewConversation, Store, StoreError};
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::ids::EPOCH_MS;
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};
use tokio::sync::Barrier;

pub use self::groups::Group;
use crate::batch::Batch;
use crate::clock::TestClock;
use crate::founding;

const YEAR_MS: i64 = 365 * 24 * 3_600_000;

/// The clock of a scene starts at a random time and stands still until the test advances it. Ids carry the time of that
/// clock. A test therefore controls all times, and never meets the data of another test.
#[derive(Debug, Clone)]
pub struct Scene {
    nodes: Arc<[Arc<dyn Store>]>,
    clock: Arc<TestClock>,
    ids: Arc<IdGenerator>,
}

impl Scene {
    /// All nodes are open on the same data.
    pub fn new(nodes: Vec<Arc<dyn Store>>) -> Self {
        assert!(!nodes.is_empty(), "a scene needs a store");
        let start = Timestamp::from_millis(EPOCH_MS + rand::random_range(YEAR_MS..60 * YEAR_MS));
        let clock = Arc::new(TestClock::at(start));
        let ids = IdGenerator::new(clock.clone(), rand::random_range(0..IdGenerator::NODES_MAX), 0);
        Self { nodes: nodes.into(), clock, ids: Arc::new(ids) }
    }

    /// The store, through its first node.
    pub fn store(&self) -> &dyn Store {
        &*self.nodes[0]
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn advance_ms(&self, ms: i64) {
        self.clock.advance_ms(ms);
    }

    pub fn ids(&self) -> &IdGenerator {
        &self.ids
    }

    /// A unique id.
    pub fn id(&self) -> u64 {
        self.ids.next().expect("ids without a lease are not refused")
    }

    /// A unique lower-case word.
    pub fn word(&self) -> String {
        (0..16).map(|_| rand::random_range('a'..='z')).collect()
    }

    /// Makes this many concurrent calls, each on its own task, spread over the nodes. The answers come in the order of the
    /// calls.
    pub async fn at_once<T, Call>(
        &self,
        calls: usize,
        call: impl Fn(usize, Arc<dyn Store>) -> Call,
    ) -> Result<Vec<T>, StoreError>
    where
        T: Send + 'static,
        Call: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let begin = Arc::new(Barrier::new(calls));
        let start = |index: usize| {
            let begin = begin.clone();
            let call = call(index, self.nodes[index % self.nodes.len()].clone());
            tokio::spawn(async move {
                begin.wait().await;
                call.await
            })
        };
        let tasks: Vec<_> = (0..calls).map(start).collect();
        let mut answers = Vec::with_capacity(calls);
        for task in tasks {
            answers.push(task.await.expect("a concurrent call panicked")?);
        }
        Ok(answers)
    }

    /// A new user that is not stored yet.
    pub fn new_user(&self) -> User {
        User::new(UserId::new(self.id()), Handle::from_stored(self.word()), self.now())
    }

    /// A new user with this name that is not stored yet.
    pub fn new_user_named(&self, name: &str) -> User {
        User { display_name: DisplayName::from_stored(name), ..self.new_user() }
    }

    pub async fn create(&self, user: User) -> Result<UserId, StoreError> {
        let id = user.id;
        assert_eq!(self.store().create_user(user).await?, CreateUser::Created);
        Ok(id)
    }

    pub async fn user(&self) -> Result<UserId, StoreError> {
        self.create(self.new_user()).await
    }

    /// A new device that is not stored yet and has not been refreshed.
    pub fn new_device(&self, user_id: UserId) -> Device {
        let refresh_expires_at = self.now().plus_millis(1_000);
        let (created_at, last_active_at) = (self.now(), self.now());
        let session = Session::Own { generation: 0, refresh_expires_at };
        let id = DeviceId::new(self.id());
        Device { id, user_id, name: DeviceName::from_stored("laptop"), created_at, last_active_at, session }
    }

    /// A new device with tokens of the application that is not stored yet.
    pub fn new_application_device(&self, user_id: UserId, key: &str) -> Device {
        let session = Session::Application { key: key.into(), tokens_after: None, revoked_at: None };
        Device { session, ..self.new_device(user_id) }
    }

    pub fn note(&self, user_id: UserId, change: AccountChange) -> AccountNote {
        AccountNote { user_id, at: self.now(), change }
    }

    /// A new direct conversation that is not stored yet.
    pub fn new_direct(&self, by: UserId, other: UserId) -> (UserPair, NewConversation) {
        founding::new_direct(&self.ids, by, other)
    }

    pub async fn open_direct(&self, by: UserId, other: UserId) -> Result<ConversationId, StoreError> {
        let (pair, new) = self.new_direct(by, other);
        Ok(self.store().open_direct(pair, new).await?.id)
    }

    /// Two users and their conversation, which only the first one has in the inbox.
    pub async fn chat(&self) -> Result<Chat, StoreError> {
        let (ada, bob) = (self.user().await?, self.user().await?);
        Ok(Chat { id: self.open_direct(ada, bob).await?, ada, bob })
    }

    /// A conversation. Panics if it does not exist.
    pub async fn load(&self, id: ConversationId) -> Result<ConversationState, StoreError> {
        Ok(self.store().load(id).await?.expect("the conversation was made"))
    }

    /// A batch for the current end of the log.
    pub async fn batch(&self, id: ConversationId) -> Result<Batch<'_>, StoreError> {
        Ok(Batch::after(&self.ids, &self.load(id).await?))
    }

    /// Makes an append that cannot be refused, because nobody else appends.
    pub async fn append(&self, append: Append) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        match self.store().append(&append).await? {
            AppendOutcome::Appended(notes) => Ok(notes),
            AppendOutcome::HeadMoved => panic!("an append with the right head was refused"),
        }
    }

    /// Sends one text.
    pub async fn send(
        &self,
        id: ConversationId,
        sender: UserId,
        client_id: &str,
    ) -> Result<Entry, StoreError> {
        let append = self.batch(id).await?.text(sender, client_id).build();
        let sent = append.entries[0].clone();
        self.append(append).await?;
        Ok(sent)
    }
}

/// A direct conversation that Ada created with Bob.
#[derive(Debug, Clone, Copy)]
pub struct Chat {
    pub id: ConversationId,
    pub ada: UserId,
    pub bob: UserId,
}
