//! A small world to look around in: people, groups and what they said over the last weeks, made by the same use cases as
//! everything else, with a clock that begins in the past.
//!
//! What happens is written down in `world.txt`:
//!
//! ```text
//! person ada  Ada Okafor                        somebody, by handle and name
//! group hike "Saturday hike" ada ben            a group (or channel) of these; who comes first makes it
//! 20 days ago                                   what follows happened then; times are of that day
//! 18:55 hike     ada > ben: One steep bit       ada replies to what ben said last there
//! 18:56 ada+ben  ben: Are you sure?             between two, named by their handles
//!                👍 ada                         about the message before: reactions, `edit: …`, `delete`, `pin`, `star ada`
//! today                                         times are minutes before now
//! unread ada hike 3                             what somebody has set: also pinned, muted, archived, draft, later
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
/// Groups are made so long before the first day.
const BEGINNING_MS: i64 = 28 * DAY_MS;
/// At the end of a day everybody reads what was said.
const READ_AFTER_MS: i64 = 20 * MINUTE_MS;
/// What is muted is muted for a year.
const MUTED_MS: i64 = 365 * DAY_MS;

/// A clock that is set by hand.
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

/// How much there is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub people: usize,
    pub conversations: usize,
    pub messages: usize,
}

/// Fills an empty server. Everybody has the same password.
pub async fn tell(app: &App, clock: &Arc<StoryClock>, password: &str) -> anyhow::Result<Told> {
    if !app.accounts.list(None, 1).await?.is_empty() {
        bail!("there are people here already; the demo is for an empty place");
    }
    let now = clock.now();
    let mut story =
        Story { app, clock, password, now, day: now, people: BTreeMap::new(), places: BTreeMap::new() };
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
    /// When the day began of which is told.
    day: Timestamp,
    people: BTreeMap<&'a str, Person>,
    places: BTreeMap<&'a str, Place<'a>>,
}

struct Person {
    id: UserId,
    spoke_at: Timestamp,
}

struct Place<'a> {
    id: ConversationId,
    members: Vec<&'a str>,
    said: Vec<Said<'a>>,
    /// How many at the end somebody has not read.
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
            Line::Group { place, name, members, is_channel } => {
                self.make_group(place, name, members, *is_channel).await
            }
            Line::Day { ago } => {
                self.read_all().await?;
                let midnight = self.now.as_millis().div_euclid(DAY_MS) * DAY_MS;
                self.day = Timestamp::from_millis(midnight - ago * DAY_MS);
                Ok(())
            }
            Line::Today => self.read_all().await,
            Line::Say { at, place, by, reply_to, text } => {
                self.clock.set(match at {
                    Time::OfDay(minutes) => self.day.plus_millis(minutes * MINUTE_MS),
                    Time::Ago(minutes) => self.now.plus_millis(-minutes * MINUTE_MS),
                });
                self.say(place, by, *reply_to, text).await
            }
            Line::Set { of, place, what } => self.set(of, place, what).await,
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
        place: &'a str,
        name: &str,
        members: &[&'a str],
        is_channel: bool,
    ) -> anyhow::Result<()> {
        let (maker, others) = members.split_first().context("a group without anybody")?;
        let member_ids = others.iter().map(|other| self.person(other)).collect::<anyhow::Result<_>>()?;
        let new = NewConversation { name: name.to_owned(), member_ids, ..NewConversation::default() };
        let made = self.app.groups.create(self.person(maker)?, is_channel, new).await?;
        self.add_place(place, made.opened.conversation.id, members.to_vec());
        Ok(())
    }

    async fn say(
        &mut self,
        place: &'a str,
        by: &'a str,
        reply_to: Option<&str>,
        text: &str,
    ) -> anyhow::Result<()> {
        if let (None, Some((one, other))) = (self.places.get(place), place.split_once('+')) {
            let opened = self.app.inbox.open_direct(self.person(one)?, self.person(other)?).await?;
            self.add_place(place, opened.conversation.id, vec![one, other]);
        }
        let sender = self.person(by)?;
        let there = self.places.get_mut(place).with_context(|| format!("there is no {place}"))?;
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
        let last = self.places.values().filter_map(|place| place.said.last()).max_by_key(|said| said.id);
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

    async fn set(&mut self, of: &'a str, place: &str, what: &Setting<'a>) -> anyhow::Result<()> {
        let user = self.person(of)?;
        let there = self.places.get_mut(place).with_context(|| format!("there is no {place}"))?;
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

    /// Everybody reads what was said, but for what they have not read in the end.
    async fn read_all(&self) -> anyhow::Result<()> {
        self.clock.set(self.clock.now().plus_millis(READ_AFTER_MS).min(self.now));
        for place in self.places.values() {
            for member in &place.members {
                let left = place.unread.get(member).copied().unwrap_or_default();
                let read = place.said.iter().rev().nth(left).map(|said| said.seq);
                let delivered = place.said.last().map(|said| said.seq);
                if read.is_some() {
                    self.app.cursors.advance(self.person(member)?, place.id, delivered, read).await?;
                }
            }
        }
        Ok(())
    }

    /// What was said today is read too, and everybody was last seen when they spoke.
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
            conversations: self.places.len(),
            messages: self.places.values().map(|place| place.said.len()).sum(),
        }
    }

    fn add_place(&mut self, place: &'a str, id: ConversationId, members: Vec<&'a str>) {
        self.places.insert(place, Place { id, members, said: Vec::new(), unread: BTreeMap::new() });
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
