//! People who send, edit and read continuously despite all faults, and remember every acknowledgement.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use godwit_client::protocol::conversations::{DeleteFor, MemberCursor, MoveCursor};
use godwit_client::protocol::messages::Message;
use godwit_client::protocol::{ConversationId, ErrorCode, MessageId, Seq, UserId};
use godwit_client::{Draft, Error, Http, HttpConfig};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::follower::Follower;
use crate::logs::{assert_rest_of, messages, read_log};
use crate::people::{Person, answered, same_session, soon};

const PEOPLE: usize = 6;
/// The pause between two cursor moves of one person.
const READ_EVERY: Duration = Duration::from_millis(250);
/// Longer than a server needs, and shorter than the wait for a suspended server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Talkers {
    people: Vec<Person>,
    conversations: Vec<ConversationId>,
    followers: Vec<Arc<Follower>>,
    senders: Vec<JoinHandle<Vec<Said>>>,
    readers: Vec<JoinHandle<HashMap<ConversationId, Seq>>>,
    stop: Arc<AtomicBool>,
    failed: Arc<AtomicUsize>,
}

/// An acknowledged message with its changes.
struct Said {
    message: Message,
    /// The possible texts: the last acknowledged one, and those of later changes without an answer.
    texts: Vec<Option<String>>,
}

/// A change of one's own message.
#[derive(Debug, Clone, Copy)]
enum Afterwards {
    Edit,
    React,
    /// Also removes the pin, because a conversation has few.
    Pin,
    Delete,
}

/// In turn. Some messages are not deleted, and some not edited.
const AFTERWARDS: [Option<Afterwards>; 6] = [
    Some(Afterwards::Edit),
    Some(Afterwards::React),
    None,
    Some(Afterwards::Pin),
    Some(Afterwards::Delete),
    None,
];

impl Talkers {
    /// One group with everyone, and one conversation for each pair of neighbours. Each person pauses between two messages.
    pub(crate) async fn start(url: &str, pause: Duration) -> Self {
        let people = join_all((0..PEOPLE).map(|_| Person::register(url, "talker"))).await;
        let ids: Vec<UserId> = people[1..].iter().map(|person| person.id).collect();
        let group = answered(async || people[0].http.group("all", &ids).await).await;
        let mut conversations = vec![group.conversation.id];
        for (number, person) in people.iter().enumerate() {
            conversations.push(person.open_direct(&people[(number + 1) % PEOPLE]).await);
        }
        let followers: Vec<Arc<Follower>> = people
            .iter()
            .map(|person| Arc::new(Follower::restless(&person.handle, impatient(&person.http, url))))
            .collect();
        join_all(followers.iter().map(|follower| follower.catches_up())).await;
        let (stop, failed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (mut senders, mut readers) = (Vec::new(), Vec::new());
        for (number, person) in people.iter().enumerate() {
            let own = vec![
                conversations[0],
                conversations[1 + number],
                conversations[1 + (number + PEOPLE - 1) % PEOPLE],
            ];
            let http = impatient(&person.http, url);
            let follower = followers[number].clone();
            let sending = send(follower, http, own.clone(), pause, stop.clone(), failed.clone());
            senders.push(tokio::spawn(sending));
            readers.push(tokio::spawn(read(impatient(&person.http, url), own, stop.clone(), failed.clone())));
        }
        Self { people, conversations, followers, senders, readers, stop, failed }
    }

    /// Stops all people. Must be called while something still fails: later messages would reveal to everybody what they had
    /// missed.
    pub(crate) fn fall_silent(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Checks everything, and returns a summary. All people must have stopped.
    pub(crate) async fn check(self, servers: &[String]) -> String {
        assert!(self.stop.load(Ordering::Relaxed), "a talker has not stopped");
        let acknowledged: Vec<Said> =
            soon("the senders", join_all(self.senders)).await.into_iter().flat_map(Result::unwrap).collect();
        let cursors: Vec<HashMap<ConversationId, Seq>> =
            soon("the readers", join_all(self.readers)).await.into_iter().map(Result::unwrap).collect();

        let mut logs = HashMap::new();
        for (number, conversation) in self.conversations.iter().enumerate() {
            // Two members know it, and every server returns the same.
            let member = if number == 0 { &self.people[0] } else { &self.people[number - 1] };
            let read = join_all(servers.iter().map(|server| {
                let http = same_session(&member.http, server);
                async move { read_log(&http, *conversation).await }
            }))
            .await;
            assert!(read.iter().all(|log| log == &read[0]), "every server shows the same log");
            logs.insert(*conversation, read.into_iter().next().unwrap());
        }
        let stored: HashMap<MessageId, &Message> =
            logs.values().flat_map(|log| messages(log)).map(|message| (message.id, message)).collect();
        for Said { message, texts } in &acknowledged {
            let found = stored.get(&message.id);
            let found = found.unwrap_or_else(|| panic!("{message:?} was acknowledged and is lost"));
            assert_eq!((found.seq, &found.client_id), (message.seq, &message.client_id));
            assert!(texts.contains(&found.text), "{found:?} should have one of {texts:?}");
        }
        for (person, read) in self.people.iter().zip(&cursors) {
            for (conversation, seq) in read {
                let http = same_session(&person.http, &servers[0]);
                // Moving the cursor to the beginning returns its position.
                let now = move_to(&http, *conversation, Seq::ZERO).await.unwrap();
                assert!(
                    now.read >= *seq,
                    "{} had read {seq} of {conversation}, and now {}",
                    person.handle,
                    now.read
                );
            }
        }
        let mut connections = 0;
        for follower in self.followers {
            let follower = Arc::into_inner(follower).expect("nobody else has it");
            for (conversation, log) in &logs {
                let is_member = log_is_of(*conversation, &self.conversations, &self.people, &follower.name);
                if is_member {
                    follower.reaches(*conversation, log.last().unwrap().seq).await;
                }
            }
            let name = follower.name.clone();
            let mut followed = follower.finish().await;
            connections += followed.connections;
            assert_eq!(
                (followed.all_reset, followed.resets.len()),
                (0, 0),
                "{name} could always be caught up"
            );
            for (conversation, log) in &logs {
                let seen = followed.log(*conversation);
                if !seen.is_empty() {
                    assert_rest_of(log, &name, &seen);
                }
            }
        }
        format!(
            "{} messages acknowledged, all of them in {} logs once, in the same order for all {PEOPLE} people, who were \
             connected {connections} times; {} cursors, none behind what was acknowledged; {} requests failed on the way",
            acknowledged.len(),
            logs.len(),
            cursors.iter().map(HashMap::len).sum::<usize>(),
            self.failed.load(Ordering::Relaxed),
        )
    }
}

fn log_is_of(
    conversation: ConversationId,
    conversations: &[ConversationId],
    people: &[Person],
    handle: &str,
) -> bool {
    let number = conversations.iter().position(|id| *id == conversation).unwrap();
    let position = people.iter().position(|person| person.handle == handle).unwrap();
    number == 0 || number - 1 == position || (number % PEOPLE) == position
}

/// The same session with short timeouts.
pub(super) fn impatient(http: &Http, url: &str) -> Http {
    let config = HttpConfig {
        connect_timeout: REQUEST_TIMEOUT,
        request_timeout: REQUEST_TIMEOUT,
        ..HttpConfig::default()
    };
    let own = Http::with_config(url, &config).unwrap();
    own.set_tokens(http.tokens().unwrap());
    own
}

/// Returns the acknowledged messages. The client retries sends until they succeed; changes are tried once.
async fn send(
    follower: Arc<Follower>,
    http: Http,
    own: Vec<ConversationId>,
    pause: Duration,
    stop: Arc<AtomicBool>,
    failed: Arc<AtomicUsize>,
) -> Vec<Said> {
    let mut acknowledged = Vec::<Said>::new();
    for count in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let conversation = own[count % own.len()];
        let draft = Draft::text(format!("{} says {count}", follower.name));
        let message = follower.live.send(conversation, draft).await.unwrap();
        let texts = vec![message.text.clone()];
        acknowledged.push(Said { message, texts });
        sleep(pause).await;
        // An earlier message, in a different conversation each time.
        let earlier = acknowledged.len().saturating_sub(1 + own.len() * (count % 3));
        if let Some(afterwards) = AFTERWARDS[count % AFTERWARDS.len()]
            && !stop.load(Ordering::Relaxed)
            && let Err(error) = acknowledged[earlier].change(&http, afterwards).await
        {
            // Pins that could not be removed fill the limit.
            let is_full = error.code() == Some(ErrorCode::TooManyPins);
            assert!(is_full || error.is_temporary(), "{afterwards:?}: {error:?}");
            failed.fetch_add(1, Ordering::Relaxed);
        }
    }
    acknowledged
}

impl Said {
    async fn change(&mut self, http: &Http, afterwards: Afterwards) -> Result<(), Error> {
        let id = self.message.id;
        let (text, outcome) = match afterwards {
            // A message that may be deleted is left alone.
            _ if self.texts.contains(&None) => return Ok(()),
            Afterwards::React => return http.react(id, "👍").await.map(drop),
            Afterwards::Pin => {
                http.pin_message(id).await?;
                return http.unpin_message(id).await;
            }
            Afterwards::Edit => {
                let text = format!("{} and again", self.texts.last().cloned().flatten().unwrap_or_default());
                (Some(text.clone()), http.edit_message(id, text).await.map(drop))
            }
            Afterwards::Delete => (None, http.delete_message(id, DeleteFor::All).await),
        };
        if outcome.is_ok() {
            self.texts.clear();
        }
        self.texts.push(text);
        outcome
    }
}

async fn move_to(http: &Http, conversation: ConversationId, read: Seq) -> Result<MemberCursor, Error> {
    let to = MoveCursor { conversation_id: None, delivered: None, read: Some(read) };
    http.move_cursor(conversation, &to).await
}

/// Returns the acknowledged cursor of each conversation.
async fn read(
    http: Http,
    own: Vec<ConversationId>,
    stop: Arc<AtomicBool>,
    failed: Arc<AtomicUsize>,
) -> HashMap<ConversationId, Seq> {
    let mut acknowledged = HashMap::<ConversationId, Seq>::new();
    for count in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        sleep(READ_EVERY).await;
        let conversation = own[count % own.len()];
        let moved = async {
            let head = http.conversation(conversation).await?.head;
            move_to(&http, conversation, head).await
        };
        match moved.await {
            Ok(cursor) => {
                let before = acknowledged.insert(conversation, cursor.read).unwrap_or_default();
                assert!(cursor.read >= before, "a cursor was at {before}, and is at {}", cursor.read);
            }
            Err(error) => {
                assert!(error.is_temporary(), "{error:?}");
                failed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    acknowledged
}
