//! Reads, one after the other: the latency of each without other load.

use std::time::{Duration, Instant};

use godwit_domain::model::{ConversationState, LogItem};
use godwit_domain::ports::{HistoryEnd, InboxRow, SeqRange, Store, StoreError};
use godwit_protocol::Seq;

use super::chat::Chat;
use super::location::Opened;
use super::plan::{Plan, Window};
use super::stage::{Inbox, Stage};
use super::verify::Violation;
use crate::figures::{Figure, Latencies, Outcome, Value};
use crate::numbers::thousands;
use crate::progress::Step;

#[derive(Clone, Copy)]
pub(super) struct Reads<'a> {
    pub(super) opened: &'a Opened,
    pub(super) store: &'a dyn Store,
    pub(super) plan: &'a Plan,
    pub(super) step: &'a dyn Fn(&str) -> Step,
}

impl Reads<'_> {
    pub(super) async fn measure_all(self, stage: &Stage) -> anyhow::Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        if let Some(largest) = stage.inboxes.last() {
            outcomes.push(self.cold_loads(&largest.chats).await?);
        }
        outcomes.push(self.history(&stage.history).await?);
        for inbox in &stage.inboxes {
            outcomes.push(self.inbox(inbox).await?);
        }
        outcomes.push(self.sent_before(&stage.history).await?);
        outcomes.push(self.never_sent(&stage.history).await?);
        Ok(outcomes)
    }

    /// Loads each conversation once, after the store was opened.
    async fn cold_loads(self, chats: &[Chat]) -> anyhow::Result<Outcome> {
        let load = async |number: usize| self.store.load(chats[number].id).await;
        let check = |number: usize, loaded: Option<ConversationState>| {
            let chat = &chats[number];
            let is_right = loaded.is_some_and(|state| state.head == *chat.head());
            if is_right { Ok(()) } else { Err(Violation::Loaded { conversation: chat.id }) }
        };
        let window = Window::at_once(self.plan.time);
        self.measure("load a conversation, cold".into(), window, chats.len(), load, check).await
    }

    async fn history(self, chat: &Chat) -> anyhow::Result<Outcome> {
        let page = self.plan.page;
        let everything = SeqRange { after: Seq::ZERO, before: Seq::new(u64::MAX) };
        let read = async |_| self.store.history(chat.id, everything, HistoryEnd::Newest, page).await;
        let newest = chat.head().ordinal;
        let ordinals = newest.saturating_sub(page as u64) + 1..=newest;
        let expected: Vec<_> = ordinals.map(|ordinal| chat.client_id(ordinal)).collect();
        let check = |_, items: Vec<LogItem>| {
            let found =
                items.iter().filter_map(|item| item.entry.message()).map(|message| &message.client_id);
            if found.eq(&expected) { Ok(()) } else { Err(Violation::Page { conversation: chat.id }) }
        };
        self.repeat(format!("history: the newest {page} of {}", thousands(chat.messages())), read, check)
            .await
    }

    async fn inbox(self, inbox: &Inbox) -> anyhow::Result<Outcome> {
        let (page, all) = (self.plan.page, inbox.chats.len());
        let read = async |_| self.store.inbox(inbox.user, false, None, page).await;
        let check = |_, rows: Vec<InboxRow>| {
            let is_right = rows.len() == page.min(all)
                && rows.is_sorted_by(|one, next| one.activity() > next.activity());
            if is_right { Ok(()) } else { Err(Violation::Inbox { user: inbox.user }) }
        };
        self.repeat(format!("inbox: the first {page} of {}", thousands(all)), read, check).await
    }

    /// Looks up messages by their client ids.
    async fn sent_before(self, chat: &Chat) -> anyhow::Result<Outcome> {
        // A step that is coprime to the number of messages visits all of them, in no order.
        let ordinal = |number: usize| (number as u64 * 7_919) % chat.head().ordinal + 1;
        self.sent_as("client id: sent before", chat, ordinal, |ordinal| Some(Seq::new(ordinal + 1))).await
    }

    /// Looks up unused client ids, as every send does.
    async fn never_sent(self, chat: &Chat) -> anyhow::Result<Outcome> {
        let ordinal = |number: usize| chat.head().ordinal + 1 + number as u64;
        self.sent_as("client id: new", chat, ordinal, |_| None).await
    }

    async fn sent_as(
        self,
        scenario: &str,
        chat: &Chat,
        ordinal: impl Fn(usize) -> u64,
        expected: impl Fn(u64) -> Option<Seq>,
    ) -> anyhow::Result<Outcome> {
        let read = async |number: usize| {
            let ordinal = ordinal(number);
            self.store.sent_as(chat.id, chat.sender(ordinal), &chat.client_id(ordinal)).await
        };
        let check = |number: usize, found: Option<Seq>| {
            let (conversation, ordinal) = (chat.id, ordinal(number));
            let is_right = found == expected(ordinal);
            if is_right { Ok(()) } else { Err(Violation::ClientId { conversation, ordinal }) }
        };
        self.repeat(scenario.into(), read, check).await
    }

    async fn repeat<T>(
        self,
        scenario: String,
        read: impl AsyncFn(usize) -> Result<T, StoreError>,
        check: impl Fn(usize, T) -> Result<(), Violation>,
    ) -> anyhow::Result<Outcome> {
        self.measure(scenario, Window::after_warm_up(self.plan.time), usize::MAX, read, check).await
    }

    /// Reads while the window is open, at most `most` times. The check of an answer is not measured.
    async fn measure<T>(
        self,
        scenario: String,
        window: Window,
        most: usize,
        read: impl AsyncFn(usize) -> Result<T, StoreError>,
        check: impl Fn(usize, T) -> Result<(), Violation>,
    ) -> anyhow::Result<Outcome> {
        let reading = (self.step)(&scenario);
        let done = reading.done();
        let (mut latencies, mut all) = (Latencies::new(), Duration::ZERO);
        let (requests_before, mut reads) = (self.opened.work().requests, 0_u64);
        for number in 0..most {
            let began = Instant::now();
            if window.is_over(began, &latencies) {
                break;
            }
            let answer = read(number).await?;
            let took = began.elapsed();
            check(number, answer)?;
            done.add(1);
            reads += 1;
            if began >= window.start {
                latencies.record(took);
                all += took;
            }
        }
        let rate = latencies.count() as f64 / all.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut figures = vec![Figure::new("reads/s", Value::PerSecond(rate))];
        figures.extend(latencies.figures());
        if let (Some(before), Some(after)) = (requests_before, self.opened.work().requests) {
            let share = (after - before) as f64 / reads.max(1) as f64;
            figures.push(Figure::new("requests per read", Value::Number(share)));
        }
        Ok(Outcome { scenario, figures })
    }
}
