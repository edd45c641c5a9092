//! Sample data: people, groups and their messages of the last weeks, created through the same use cases as all other data,
//! with a clock that starts in the past.
//!
//! `world.txt` contains the script:
//!
//! ```text
//! person ada  Ada Okafor                        a person, with handle and name
//! group hike "Saturday hike" ada ben            a group (or channel) of these people; the first one creates it
//! 20 days ago                                   the day of the following lines
//! 18:55 hike     ada > ben: One steep bit       in the group, ada replies to the last message of ben
//! 18:56 ada+ben  ben: Are you sure?             in the direct conversation of two people, named by their handles
//!                👍 ada                         on the previous message: reactions, `edit: …`, `delete`, `pin`, `star ada`
//! today                                         from here on, times are minutes before now
//! unread ada hike 3                             a setting of a person: also pinned, muted, archived, draft, later
//! ```

mod script;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{Context, bail};
use godwit_domain::App;
use godwit_domain::model::Draft;
use godwit_domain::model::message::parse_reaction;
use godwit_domain::ports::Clock;
use godwit_protocol::accounts::Register;
use godwit_protocol::conversations::{NewConversation, NewDraft, UpdateMembership};
use godwit_protocol::messages::{Message, MessageKind, SendMessage};
use godwit_protocol::personal::ScheduleMessage;
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};

use self::script::{Line, Setting, Time};

const WORLD: &str = include_str!("world.txt");

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
/// The age of the groups on the first day of the script.
const BEGINNING_MS: i64 = 28 * DAY_MS;
/// Everybody reads the day's messages this long after the last one.
const READ_AFTER_MS: i64 = 20 * MINUTE_MS;
/// Conversations are muted for one year.
const MUTED_MS: i64 = 365 * DAY_MS;

/// A clock that the script sets.
#[derive(Debug)]
pub struct StoryClock(AtomicI64);

impl StoryClock {
    pub const fn new(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_millis()))
    }

    fn set(&self, now: Timestamp) {
        self.0.store(now.as_millis(), Ordering::Relaxed);
    }
}

impl Clock for StoryClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// The amount of sample data.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub people: usize,
    pub conversations: usize,
    pub messages: usize,
}

/// Fills an empty server. All people have the same password.
pub async fn tell(app: &App, clock: &Arc<StoryClock>, password: &str) -> anyhow::Result<Told> {
    if !app.accounts.list(None, 1).await?.is_empty() {
        bail!("the store already has users; the demo needs an empty store");
    }
    let now = clock.now();
    let mut story = Story {
        app,
        clock,
        password,
        now,
        day: now,
        people: BTreeMap::new(),
        conversations: BTreeMap::new(),
    };
    clock.set(now.plus_millis(-BEGINNING_MS));
    for line in script::parse(WORLD) {
        let line = line?;
        story.play(&line).await.with_context(|| format!("{line:?}"))?;
    }
    story.end().await?;
    Ok(story.told())
}

struct Story<'a> {
    app: &'a App,
    clock: &'a StoryClock,
    password: &'a str,
    now: Timestamp,
    /// The start of the script's current day.
    day: Timestamp,
    people: BTreeMap<&'a str, Person>,
    conversations: BTreeMap<&'a str, DemoConversation<'a>>,
}

struct Person {
    id: UserId,
    spoke_at: Timestamp,
}

struct DemoConversation<'a> {
    id: ConversationId,
    members: Vec<&'a str>,
    said: Vec<Said<'a>>,
    /// The number of messages that a person leaves unread at the end.
    unread: BTreeMap<&'a str, usize>,
}

struct Said<'a> {
    id: MessageId,
    seq: Seq,
    by: &'a str,
}

impl<'a> Story<'a> {
    async fn play(&mut self, line: &Line<'a>) -> anyhow::Result<()> {
        match line {
            Line::Person { handle, name } => self.enter(handle, name).await,
            Line::Group { conversation, name, members, is_channel } => {
                self.make_group(conversation, name, members, *is_channel).await
            }
            Line::Day { ago } => {
                self.read_all().await?;
                let midnight = self.now.as_millis().div_euclid(DAY_MS) * DAY_MS;
                self.day = Timestamp::from_millis(midnight - ago * DAY_MS);
                Ok(())
            }
            Line::Today => self.read_all().await,
            Line::Say { at, conversation, by, reply_to, text } => {
                self.clock.set(match at {
                    Time::OfDay(minutes) => self.day.plus_millis(minutes * MINUTE_MS),
                    Time::Ago(minutes) => self.now.plus_millis(-minutes * MINUTE_MS),
                });
                self.say(conversation, by, *reply_to, text).await
            }
            Line::Set { of, conversation, what } => self.set(of, conversation, what).await,
            Line::React { .. } | Line::Edit { .. } | Line::Delete | Line::Pin | Line::Star { .. } => {
                self.happen_to_the_last(line).await
            }
        }
    }

    async fn enter(&mut self, handle: &'a str, name: &str) -> anyhow::Result<()> {
        let register = Register {
            handle: handle.to_owned(),
            password: self.password.to_owned(),
            display_name: Some(name.to_owned()),
            phone: None,
            device_name: None,
        };
        let id = self.app.accounts.add(&register).await?.id;
        self.people.insert(handle, Person { id, spoke_at: self.clock.now() });
        Ok(())
    }

    async fn make_group(
        &mut self,
        conversation: &'a str,
        name: &str,
        members: &[&'a str],
        is_channel: bool,
    ) -> anyhow::Result<()> {
        let (maker, others) = members.split_first().context("a group without anybody")?;
        let member_ids = others.iter().map(|other| self.person(other)).collect::<anyhow::Result<_>>()?;
        let new = NewConversation { name: name.to_owned(), member_ids, ..NewConversation::default() };
        let made = self.app.groups.create(self.person(maker)?, is_channel, new).await?;
        self.add_conversation(conversation, made.opened.conversation.id, members.to_vec());
        Ok(())
    }

    async fn say(
        &mut self,
        conversation: &'a str,
        by: &'a str,
        reply_to: Option<&str>,
        text: &str,
    ) -> anyhow::Result<()> {
        if let (None, Some((one, other))) =
            (self.conversations.get(conversation), conversation.split_once('+'))
        {
            let opened = self.app.inbox.open_direct(self.person(one)?, self.person(other)?).await?;
            self.add_conversation(conversation, opened.conversation.id, vec![one, other]);
        }
        let sender = self.person(by)?;
        let there = self
            .conversations
            .get_mut(conversation)
            .with_context(|| format!("there is no {conversation}"))?;
        let answered = match reply_to {
            Some(whom) => {
                let said = there.said.iter().rev().find(|said| said.by == whom);
                Some(said.with_context(|| format!("{whom} has said nothing there"))?.id)
            }
            None => None,
        };
        let message = SendMessage { reply_to: answered, ..text_message(there.said.len(), text) };
        let sent = self.app.writing.send(sender, there.id, Draft::parse(message)?).await?;
        let Message { id, seq, .. } = sent.message;
        there.said.push(Said { id, seq, by });
        if let Some(person) = self.people.get_mut(by) {
            person.spoke_at = self.clock.now();
        }
        Ok(())
    }

    async fn happen_to_the_last(&self, line: &Line<'a>) -> anyhow::Result<()> {
        let last = self
            .conversations
            .values()
            .filter_map(|conversation| conversation.said.last())
            .max_by_key(|said| said.id);
        let last = last.context("nothing was said yet")?;
        let (sender, writing) = (self.person(last.by)?, &self.app.writing);
        self.clock.set(self.clock.now().plus_millis(MINUTE_MS / 2));
        match line {
            Line::React { reaction, by } => {
                for person in by {
                    let reaction = parse_reaction(reaction)?;
                    writing.react(self.person(person)?, last.id, Some(reaction)).await?;
                }
            }
            Line::Edit { text } => drop(writing.edit(sender, last.id, (*text).to_owned()).await?),
            Line::Delete => writing.delete_for_all(sender, last.id).await?,
            Line::Pin => writing.pin(sender, last.id).await?,
            Line::Star { by } => self.app.personal.star(self.person(by)?, last.id).await?,
            other => bail!("{other:?} does not happen to messages"),
        }
        Ok(())
    }

    async fn set(&mut self, of: &'a str, conversation: &str, what: &Setting<'a>) -> anyhow::Result<()> {
        let user = self.person(of)?;
        let there = self
            .conversations
            .get_mut(conversation)
            .with_context(|| format!("there is no {conversation}"))?;
        let mut update = UpdateMembership::default();
        match what {
            Setting::Pinned => update.pinned = Some(true),
            Setting::Archived => update.archived = Some(true),
            Setting::Muted => update.muted_until = Some(Some(self.now.plus_millis(MUTED_MS))),
            Setting::Draft(text) => {
                update.draft = Some(Some(NewDraft { text: (*text).to_owned(), reply_to: None }));
            }
            Setting::Unread(count) => {
                there.unread.insert(of, *count);
                return Ok(());
            }
            Setting::Later { hours, text } => {
                let send_at = self.now.plus_millis(hours * HOUR_MS);
                let message = text_message(there.said.len(), text);
                let request = ScheduleMessage { conversation_id: there.id, send_at, message };
                self.app.personal.schedule(user, request).await?;
                return Ok(());
            }
        }
        self.app.inbox.update_membership(user, there.id, update).await?;
        Ok(())
    }

    /// Everybody reads everything except the messages that stay unread.
    async fn read_all(&self) -> anyhow::Result<()> {
        self.clock.set(self.clock.now().plus_millis(READ_AFTER_MS).min(self.now));
        for conversation in self.conversations.values() {
            for member in &conversation.members {
                let left = conversation.unread.get(member).copied().unwrap_or_default();
                let read = conversation.said.iter().rev().nth(left).map(|said| said.seq);
                let delivered = conversation.said.last().map(|said| said.seq);
                if read.is_some() {
                    self.app.cursors.advance(self.person(member)?, conversation.id, delivered, read).await?;
                }
            }
        }
        Ok(())
    }

    /// Reads today's messages, and sets the last-seen time of each person to their last message.
    async fn end(&self) -> anyhow::Result<()> {
        self.read_all().await?;
        for person in self.people.values() {
            self.clock.set(person.spoke_at.plus_millis(MINUTE_MS));
            self.app.presence.went_offline(person.id).await?;
        }
        self.clock.set(self.now);
        Ok(())
    }

    fn told(&self) -> Told {
        Told {
            people: self.people.len(),
            conversations: self.conversations.len(),
            messages: self.conversations.values().map(|conversation| conversation.said.len()).sum(),
        }
    }

    fn add_conversation(&mut self, conversation: &'a str, id: ConversationId, members: Vec<&'a str>) {
        self.conversations.insert(
            conversation,
            DemoConversation { id, members, said: Vec::new(), unread: BTreeMap::new() },
        );
    }

    fn person(&self, handle: &str) -> anyhow::Result<UserId> {
        Ok(self.people.get(handle).with_context(|| format!("there is no {handle}"))?.id)
    }
}

fn text_message(number: usize, text: &str) -> SendMessage {
    SendMessage {
        conversation_id: None,
        client_id: format!("demo-{number}"),
        kind: Some(MessageKind::Text),
        text: Some(text.to_owned()),
        media: None,
        event: None,
        data: None,
        reply_to: None,
        forwarded_from: None,
    }
}
