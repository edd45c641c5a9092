//! Conversations and their logs.
//!
//! - [`append`]: the one write that needs agreement, and the head of the log
//! - [`buckets`], [`rows`]: the partition of an entry, and its row
//! - [`history`], [`finding`]: reading the log
//! - [`project`]: writes the effects of entries after an append; [`watermarks`]: through which entry that is
//!   complete
//! - [`load`]: the present state of a conversation, and recovery after a crash
//! - [`making`]: conversations that are unique for a pair or a key; [`clearing`]: taking a conversation out of
//!   an inbox
//! - [`scan`], [`trails`]: all conversations, and cursors with all their moves, for a transfer
//!
//! The projections of the log have a module each: [`details`], [`members`], [`cursors`], [`message_states`],
//! [`reactions`], [`threads`], [`invites`], [`expiries`]. [`erase`] takes content out of the log. [`concealed`]
//! and [`hidden`] do not follow from the log.

mod append;
mod buckets;
mod clearing;
mod concealed;
mod cursors;
mod details;
mod erase;
pub(crate) mod expiries;
mod finding;
mod hidden;
mod history;
mod invites;
mod load;
mod making;
mod members;
mod message_states;
mod project;
mod reactions;
mod rows;
mod scan;
#[cfg(test)]
mod tests;
mod threads;
mod trails;
mod watermarks;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{try_join, try_join_all, try_join3};
use godwit_domain::model::{
    AccountEntry, AccountNote, Concealed, ConversationState, FanOut, Head, LogItem, Member, leaves_inbox,
};
use godwit_domain::ports::{
    Append, AppendOutcome, CursorMove, HistoryEnd, ReceiptTimes, SeqRange, StoreError,
};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};
use scylla::errors::PrepareError;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::account::Accounts;
use crate::cql::Cql;
use crate::due::Due;
use crate::inbox::{Activity, Inbox};
use crate::keyed_mutex::KeyedMutex;
use crate::records::corrupt;
use crate::single_flight::SingleFlight;
use crate::transfer::Gate;
use append::{Appended, Log, NewEntries};
use concealed::Concealing;
use cursors::Cursors;
use details::AboutConversations;
use erase::Erasing;
use finding::Finding;
pub(crate) use hidden::Hidden;
use history::History;
use invites::Invites;
use making::Unique;
use members::{Members, Unlisted};
use message_states::States;
use project::{Projection, fan_out_after};
use reactions::Reactions;
use scan::Scanning;
use threads::Threads;
use watermarks::{Marking, Watermarks};

/// The longest random pause before a caller hears that another append was faster, in milliseconds.
const CONTENTION_PAUSE_MS_MAX: u64 = 20;

#[derive(Debug)]
pub(crate) struct Conversations {
    cql: Arc<Cql>,
    accounts: Arc<Accounts>,
    inbox: Arc<Inbox>,
    due: Arc<Due>,
    gate: Arc<Gate>,
    statements: Statements,
    making: making::Statements,
    watermarks: Watermarks,
    /// Held during an append, and while the head is read.
    logs_in_use: KeyedMutex<ConversationId>,
    /// Held while a conversation that is unique for a pair or a key is made.
    uniques_in_use: KeyedMutex<Unique>,
    loads: SingleFlight<ConversationId, Option<ConversationState>>,
    pages: SingleFlight<(ConversationId, SeqRange, HistoryEnd, usize), Vec<LogItem>>,
    logs: SingleFlight<(ConversationId, Seq, usize), Vec<LogItem>>,
}

#[derive(Debug)]
struct Statements {
    append: append::Statements,
    history: history::Statements,
    finding: finding::Statements,
    states: message_states::Statements,
    details: details::Statements,
    members: members::Statements,
    cursors: cursors::Statements,
    concealed: concealed::Statements,
    reactions: reactions::Statements,
    threads: threads::Statements,
    invites: invites::Statements,
    erase: erase::Statements,
    marks: watermarks::Statements,
    scan: scan::Statements,
}

impl Statements {
    async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            append: append::Statements::prepare(cql).await?,
            history: history::Statements::prepare(cql).await?,
            finding: finding::Statements::prepare(cql).await?,
            states: message_states::Statements::prepare(cql).await?,
            details: details::Statements::prepare(cql).await?,
            members: members::Statements::prepare(cql).await?,
            cursors: cursors::Statements::prepare(cql).await?,
            concealed: concealed::Statements::prepare(cql).await?,
            reactions: reactions::Statements::prepare(cql).await?,
            threads: threads::Statements::prepare(cql).await?,
            invites: invites::Statements::prepare(cql).await?,
            erase: erase::Statements::prepare(cql).await?,
            marks: watermarks::Statements::prepare(cql).await?,
            scan: scan::Statements::prepare(cql).await?,
        })
    }
}

impl Conversations {
    pub(crate) async fn new(
        cql: Arc<Cql>,
        accounts: Arc<Accounts>,
        inbox: Arc<Inbox>,
        due: Arc<Due>,
        gate: Arc<Gate>,
    ) -> Result<Arc<Self>, PrepareError> {
        Ok(Arc::new(Self {
            statements: Box::pin(Statements::prepare(&cql)).await?,
            making: making::Statements::prepare(&cql).await?,
            watermarks: Watermarks::default(),
            logs_in_use: KeyedMutex::default(),
            uniques_in_use: KeyedMutex::default(),
            loads: SingleFlight::new("load a conversation"),
            pages: SingleFlight::new("read messages"),
            logs: SingleFlight::new("read the log"),
            cql,
            accounts,
            inbox,
            due,
            gate,
        }))
    }

    /// Writes watermarks periodically, until the future is dropped.
    pub(crate) async fn run(&self) {
        let mut ticks = interval(watermarks::WATERMARK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.close().await {
                tracing::debug!(%error, "could not write watermarks; recovery after a crash takes longer");
            }
        }
    }

    /// Writes the watermarks that still wait.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        self.watermarks.write(self.marking()).await
    }

    /// The present state of the conversation. Callers who ask at the same time share one query.
    pub(crate) async fn load_shared(
        &self,
        id: ConversationId,
    ) -> Result<Option<ConversationState>, StoreError> {
        self.loads.read(id, || self.load(id)).await
    }

    /// Entries after `after`. Callers who ask at the same time share one query.
    pub(crate) async fn entries(
        &self,
        id: ConversationId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError> {
        self.logs.read((id, after, limit), || self.history().entries(id, after, limit)).await
    }

    /// A page of the history. Callers who ask at the same time share one query.
    pub(crate) async fn page(
        &self,
        id: ConversationId,
        range: SeqRange,
        end: HistoryEnd,
        limit: usize,
    ) -> Result<Vec<LogItem>, StoreError> {
        let key = (id, range, end, limit);
        self.pages.read(key, || self.history().history(id, range, end, limit)).await
    }

    pub(crate) async fn append(&self, append: &Append) -> Result<AppendOutcome, StoreError> {
        let guard = self.logs_in_use.lock(append.conversation).await;
        let appended = self.log().append(NewEntries::from(append)).await?;
        drop(guard);
        let begun = match appended {
            Appended::No => {
                // Another process appends to this log. An immediate retry would only get in its way.
                sleep(Duration::from_millis(rand::random_range(0..CONTENTION_PAUSE_MS_MAX))).await;
                return Ok(AppendOutcome::HeadMoved);
            }
            Appended::Yes => None,
            Appended::AsFirstOf(start) => Some(start),
        };
        let Append { conversation, entries, effects, .. } = append;
        let conversation = *conversation;
        let activity = self.activity(conversation, &effects.head).await?;
        let fan_out = fan_out_after(effects);
        let projection = Projection { conversation, begun, entries, effects, activity, fan_out };
        let notes = self.project(&projection).await?;
        self.watermarks.raise(conversation, effects.head.seq);
        Ok(AppendOutcome::Appended(notes))
    }

    async fn activity(&self, id: ConversationId, head: &Head) -> Result<Activity, StoreError> {
        if let Some(activity) = Activity::shown(head) {
            return Ok(activity);
        }
        // Happens only in direct conversations without a message.
        let stored = self.about().read(id).await?;
        let stored = stored.ok_or_else(|| corrupt("conversations", id.to_string(), "only a log is there"))?;
        Ok(Activity::of(head, stored.conversation.created_at))
    }

    pub(crate) async fn member(
        &self,
        id: ConversationId,
        user: UserId,
    ) -> Result<Option<Member>, StoreError> {
        let (member, unlisted) =
            try_join(self.member_alone(id, user), self.members().unlisted_of(id, &[user])).await?;
        let mut members: Vec<Member> = member.into_iter().collect();
        self.say_who_is_unlisted(id, &mut members, &unlisted).await?;
        Ok(members.pop())
    }

    /// A member, without the answer to whether the conversation is in their inbox.
    async fn member_alone(&self, id: ConversationId, user: UserId) -> Result<Option<Member>, StoreError> {
        let (member, mut cursors, mut concealed) = try_join3(
            self.members().one(id, user),
            self.cursors().of(id, &[user]),
            self.concealing().of(id, &[user]),
        )
        .await?;
        let (cursor, moved_at) = cursors.remove(&user).unwrap_or_default();
        Ok(member.map(|member| Member {
            cursor,
            moved_at,
            concealed: concealed.remove(&user).unwrap_or_default(),
            ..member
        }))
    }

    pub(crate) async fn members_after(
        &self,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreError> {
        let mut members = self.members().after(id, after, limit).await?;
        let users: Vec<UserId> = members.iter().map(|member| member.user_id).collect();
        let (cursors, unlisted, concealed) = try_join3(
            self.cursors().of(id, &users),
            self.members().unlisted_of(id, &users),
            self.concealing().of(id, &users),
        )
        .await?;
        concealed::complete(&mut members, &concealed);
        for member in &mut members {
            (member.cursor, member.moved_at) = cursors.get(&member.user_id).copied().unwrap_or_default();
        }
        self.say_who_is_unlisted(id, &mut members, &unlisted).await?;
        Ok(members)
    }

    /// Sets for each member whether their inbox lists the conversation. In a large conversation, a shown
    /// entry puts it back into no inbox, because inboxes are computed on read.
    async fn say_who_is_unlisted(
        &self,
        id: ConversationId,
        members: &mut [Member],
        unlisted: &Unlisted,
    ) -> Result<(), StoreError> {
        if unlisted.is_empty() || members.is_empty() {
            return Ok(());
        }
        let (stored, end) = try_join(self.about().read(id), self.end(id)).await?;
        let details = stored.and_then(|stored| stored.details);
        let is_whole = details.is_none_or(|details| details.fan_out == FanOut::OnWrite);
        for member in members {
            let through = unlisted.get(&member.user_id);
            member.unlisted =
                through.is_some_and(|through| !is_whole || leaves_inbox(*through, end.last_shown()));
        }
        Ok(())
    }

    /// The head of the log.
    async fn end(&self, id: ConversationId) -> Result<Head, StoreError> {
        let bucket = self.history().newest_bucket(id).await?;
        Ok(self.head(id, bucket).await?.map_or_else(Head::empty, |(head, _)| head))
    }

    pub(crate) async fn move_cursors(
        &self,
        moves: &[CursorMove],
    ) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let passing = self.cursors().passing(self.members(), moves).await?;
        // Announced before the cursors move: if the move then fails, the announcement is harmless.
        let mut changed = HashMap::<ConversationId, Timestamp>::new();
        for (by, ..) in &passing {
            let at = changed.entry(by.conversation).or_default();
            *at = by.at.max(*at);
        }
        try_join_all(changed.into_iter().map(|(id, at)| self.touch_all(id, at))).await?;
        let mut notes = HashMap::<UserId, Vec<AccountNote>>::new();
        for note in self.cursors().advance(passing).await? {
            notes.entry(note.user_id).or_default().push(note);
        }
        let written = notes.into_iter().map(|(user, notes)| async move {
            let entries = self.accounts.note(user, notes).await?;
            Ok::<_, StoreError>(entries.into_iter().map(move |entry| (user, entry)))
        });
        let written = try_join_all(written).await?;
        Ok(written.into_iter().flatten().collect())
    }

    /// Tells all members about a change of the conversation, unless it is large.
    async fn touch_all(&self, id: ConversationId, at: Timestamp) -> Result<(), StoreError> {
        let Some(mark) = self.inbox.change_to_tell(id, at).await? else { return Ok(()) };
        if mark.fanned_out_on_read {
            return self.inbox.touch(id, at, &[]).await.map(drop);
        }
        let members = self.members().users(id).await?;
        self.touch_these(id, at, &members).await
    }

    /// Tells the given members about a change, and then users who have joined since these were read.
    async fn touch_these(
        &self,
        id: ConversationId,
        at: Timestamp,
        members: &[UserId],
    ) -> Result<(), StoreError> {
        if !self.inbox.touch(id, at, members).await? {
            return Ok(());
        }
        let mut newcomers = self.members().users(id).await?;
        newcomers.retain(|user| members.binary_search(user).is_err());
        self.inbox.touch_newcomers(id, at, &newcomers).await
    }

    pub(crate) async fn receipts(
        &self,
        id: ConversationId,
        seq: Seq,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError> {
        let entry = self.history().entry(id, seq).await?;
        self.cursors().receipts(id, seq, entry.as_ref(), users).await
    }

    fn log(&self) -> Log<'_> {
        Log { cql: &self.cql, statements: &self.statements.append }
    }

    pub(crate) fn history(&self) -> History<'_> {
        History { cql: &self.cql, statements: &self.statements.history, states: self.states() }
    }

    pub(crate) fn finding(&self) -> Finding<'_> {
        Finding { cql: &self.cql, statements: &self.statements.finding }
    }

    fn states(&self) -> States<'_> {
        States { cql: &self.cql, statements: &self.statements.states }
    }

    fn about(&self) -> AboutConversations<'_> {
        AboutConversations { cql: &self.cql, statements: &self.statements.details }
    }

    fn members(&self) -> Members<'_> {
        Members { cql: &self.cql, statements: &self.statements.members }
    }

    /// Moves forward what a user has deleted for themselves.
    pub(crate) async fn conceal(
        &self,
        id: ConversationId,
        user: UserId,
        more: Concealed,
    ) -> Result<(), StoreError> {
        self.concealing().add(id, user, more).await
    }

    pub(crate) async fn concealed(
        &self,
        id: ConversationId,
        users: &[UserId],
    ) -> Result<Vec<Concealed>, StoreError> {
        let found = self.concealing().of(id, users).await?;
        Ok(users.iter().map(|user| found.get(user).copied().unwrap_or_default()).collect())
    }

    fn concealing(&self) -> Concealing<'_> {
        Concealing { cql: &self.cql, statements: &self.statements.concealed }
    }

    fn cursors(&self) -> Cursors<'_> {
        Cursors { cql: &self.cql, statements: &self.statements.cursors }
    }

    pub(crate) fn reactions(&self) -> Reactions<'_> {
        Reactions { cql: &self.cql, statements: &self.statements.reactions }
    }

    pub(crate) fn threads(&self) -> Threads<'_> {
        Threads { cql: &self.cql, statements: &self.statements.threads }
    }

    pub(crate) fn invites(&self) -> Invites<'_> {
        Invites { cql: &self.cql, statements: &self.statements.invites }
    }

    fn erasing(&self) -> Erasing<'_> {
        Erasing {
            cql: &self.cql,
            statements: &self.statements.erase,
            history: self.history(),
            log: self.log(),
        }
    }

    fn scanning(&self) -> Scanning<'_> {
        Scanning { cql: &self.cql, statements: &self.statements.scan }
    }

    fn marking(&self) -> Marking<'_> {
        Marking { cql: &self.cql, statements: &self.statements.marks }
    }
}
