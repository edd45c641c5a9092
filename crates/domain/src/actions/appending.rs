//! Gets actions into the log.
//!
//! Actions of one conversation that wait at the same time go into one append. Whoever finds nobody at work starts a task
//! that empties the queue; it lives on when the one who asked does not, so what was begun is finished.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use godwit_protocol::messages as wire;
use godwit_protocol::{ConversationId, Seq, UserId};

use super::action::{Action, Done, Refusal};
use super::answer::Answer;
use super::decide::{Case, Reactions};
use super::forwarding::Lanes;
use super::known::Known;
use super::measure;
use super::outbox::{Job, Next};
use super::rules::MessagePolicy;
use crate::account_log::AccountLog;
use crate::conversations::{Conversations, Live};
use crate::model::{Change, ConversationState, Entry, FanOut, LogItem, Member};
use crate::ports::{
    Append, AppendOutcome, Audience, Clock, Delivery, HiddenFrom, Less, OutgoingEntry, Peers, Seeing, Store,
    StoreError,
};
use crate::projection::{Effects, Fold, MemberWrite};
use crate::show::{View, about};
use crate::sight::{Discretion, Sight};

/// How often an append that was beaten by another node is tried again before its senders are told to.
const APPEND_ATTEMPTS_MAX: usize = 64;
/// How long reactions wait for others where members are very many, so that they cannot flood the log.
const REACTIONS_GATHERED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Appending {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) account_log: Arc<AccountLog>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) policy: MessagePolicy,
    pub(crate) lanes: Lanes,
}

/// What was decided for a batch.
struct Decided {
    append: Append,
    context: Context,
    /// The jobs, with the entries that each of them made.
    jobs: Vec<(Job, Range<usize>)>,
}

/// What entries refer to.
struct Context {
    /// The messages that are replied to.
    quoted: HashMap<Seq, LogItem>,
    hidden_from: HashMap<Seq, HiddenFrom>,
}

impl Appending {
    /// Does something in a conversation. When it returns it is durable.
    pub async fn act(
        self: &Arc<Self>,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
    ) -> Result<Done, Refusal> {
        let (answer, outcome) = Answer::awaited();
        self.submit(actor, conversation, action, answer).await;
        outcome.await
    }

    /// When it returns the action has its place in the queue, so that what was submitted one after the other is in the log in
    /// that order; or it was refused.
    pub async fn submit(
        self: &Arc<Self>,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
        answer: Answer,
    ) {
        if let Some((action, answer)) = self.hand_over(actor, conversation, action, answer) {
            self.submit_here(actor, conversation, action, answer).await;
        }
    }

    /// The same for an action that this node does.
    pub(crate) async fn submit_here(
        self: &Arc<Self>,
        actor: UserId,
        conversation: ConversationId,
        action: Action,
        answer: Answer,
    ) {
        let live = match action {
            Action::Join { .. } | Action::Expire { .. } => self.any(conversation).await,
            _ => self.of_member(actor, conversation).await,
        };
        match live {
            Ok(live) => {
                self.enqueue(live, Job { actor, action, started: Instant::now(), waiting: vec![answer] });
            }
            Err(refusal) => Self::refuse(action.name(), answer, refusal),
        }
    }

    /// A message that was refused before it could be submitted.
    pub(crate) fn refuse_send(answer: Answer, refusal: Refusal) {
        Self::refuse("send", answer, refusal);
    }

    pub(super) fn refuse(action: &str, answer: Answer, refusal: Refusal) {
        measure::refused(action, &refusal);
        answer.give(Err(refusal));
    }

    async fn any(&self, conversation: ConversationId) -> Result<Arc<Live>, Refusal> {
        self.conversations.get(conversation).await?.ok_or(Refusal::NotFound)
    }

    async fn of_member(&self, actor: UserId, conversation: ConversationId) -> Result<Arc<Live>, Refusal> {
        Ok(self.conversations.of_member(actor, conversation).await?.0)
    }

    fn enqueue(self: &Arc<Self>, live: Arc<Live>, job: Job) {
        let is_gathered =
            matches!(job.action, Action::React { .. }) && !live.read(ConversationState::is_whole);
        if is_gathered {
            self.gather(live, job);
        } else {
            self.push(live, job);
        }
    }

    fn push(self: &Arc<Self>, live: Arc<Live>, job: Job) {
        if live.outbox.push(job) == Next::StartDraining {
            let this = Arc::clone(self);
            tokio::spawn(async move { this.drain(&live).await });
        }
    }

    fn gather(self: &Arc<Self>, live: Arc<Live>, job: Job) {
        if live.outbox.gather(job) {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(REACTIONS_GATHERED).await;
                if live.outbox.release() == Next::StartDraining {
                    this.drain(&live).await;
                }
            });
        }
    }

    async fn drain(&self, live: &Live) {
        let _abandon = AbandonOnPanic(live);
        while let Some(batch) = live.outbox.take_batch() {
            measure::append(batch.len());
            self.append_all(live, batch).await;
        }
    }

    /// Gets a batch into the log, however often another node is faster, and answers everybody in it.
    async fn append_all(&self, live: &Live, mut batch: Vec<Job>) {
        for _ in 0..APPEND_ATTEMPTS_MAX {
            match self.append_once(live, batch).await {
                Ok(left) if left.is_empty() => return,
                Ok(left) => batch = left,
                Err((left, error)) => {
                    tracing::warn!(conversation = %live.id(), %error, "append failed");
                    refuse_all(left, &error.into());
                    // What the store has is no longer known for certain: look before the next append.
                    if let Err(error) = self.conversations.reload(live).await {
                        tracing::warn!(conversation = %live.id(), %error, "reload failed");
                    }
                    return;
                }
            }
            measure::append_conflict();
            if let Err(error) = self.conversations.reload(live).await {
                return refuse_all(batch, &error.into());
            }
        }
        refuse_all(batch, &Refusal::Interrupted("other nodes were faster, too often".into()));
    }

    /// One attempt. The jobs that are given back have to be tried again on a newer head.
    async fn append_once(&self, live: &Live, batch: Vec<Job>) -> Result<Vec<Job>, (Vec<Job>, StoreError)> {
        let head = live.read(|state| state.head.seq);
        let (batch, known) = match self.prepare(live, batch).await {
            Ok(prepared) => prepared,
            Err(failed) => return Err(failed),
        };
        let Decided { append, context, jobs } = match self.decide(live, head, batch, known) {
            Ok(Some(decided)) => decided,
            Ok(None) => return Ok(Vec::new()),
            Err((jobs, None)) => return Ok(jobs),
            Err((jobs, Some(error))) => return Err((jobs, error)),
        };
        let unanswered = |jobs: Vec<(Job, _)>| jobs.into_iter().map(|(job, _)| job).collect();
        let notes = match self.store.append(&append).await {
            Ok(AppendOutcome::Appended(notes)) => notes,
            Ok(AppendOutcome::HeadMoved) => return Ok(unanswered(jobs)),
            // What was noted for accounts is not known here; devices find it by their next `sync`.
            Err(error) if self.is_there_after(live, &append, &error).await => Vec::new(),
            Err(error) => return Err((unanswered(jobs), error)),
        };
        if append.entries.iter().any(|entry| entry.change.withdraws()) {
            self.peers.withdrawn(&append).await;
        }
        self.peers.appended(&append);
        self.unfollow(&append).await;
        self.finish(live, append, &context, jobs);
        self.account_log.announce(&notes).await;
        Ok(Vec::new())
    }

    /// Whether an append is in the log although the store could not say so. Then its senders are answered and its entries are
    /// delivered like any others: nobody else would deliver them, and a sender who tries again only gets the original back.
    async fn is_there_after(&self, live: &Live, append: &Append, error: &StoreError) -> bool {
        if !matches!(error, StoreError::Unavailable { .. }) {
            return false;
        }
        tracing::debug!(conversation = %live.id(), %error, "an append was not answered: reading it back");
        let first = &append.entries[0];
        // Loading comes first: after that the entries are there with all that follows from them, or they are not there.
        let found = async {
            self.conversations.reload(live).await?;
            self.store.items(live.id(), &[first.seq]).await
        };
        let found = found.await.ok().and_then(|mut items| items.pop().flatten());
        found.is_some_and(|item| item.entry.id == first.id)
    }

    /// Answers those whose message was sent before, and finds out what the others are decided on. This is the last look
    /// before the append: whoever changes what it depends on, and then waits for the outbox to settle, can rely on it.
    async fn prepare(
        &self,
        live: &Live,
        batch: Vec<Job>,
    ) -> Result<(Vec<Job>, Known), (Vec<Job>, StoreError)> {
        let looked = tokio::try_join!(self.originals(live, &batch), self.known(live, &batch));
        let (originals, known) = match looked {
            Ok(looked) => looked,
            Err(error) => return Err((batch, error)),
        };
        let mut left = Vec::with_capacity(batch.len());
        for (job, original) in batch.into_iter().zip(originals) {
            match original {
                Some(item) => self.answer_again(live, job, item, &known).await,
                None => left.push(job),
            }
        }
        Ok((left, known))
    }

    /// Decides one job after the other, each on what those before it made of the conversation. Nothing is left to append
    /// where all were refused or had nothing to do. The jobs come back without an error where the conversation has moved
    /// since they were prepared.
    #[allow(clippy::type_complexity, reason = "the jobs must not get lost on the way out")]
    fn decide(
        &self,
        live: &Live,
        head: Seq,
        batch: Vec<Job>,
        known: Known,
    ) -> Result<Option<Decided>, (Vec<Job>, Option<StoreError>)> {
        live.read(|state| {
            if state.head.seq != head {
                return Err((batch, None));
            }
            let mut fold = Fold::new(state);
            let replied = batch.iter().filter_map(|job| match &job.action {
                Action::Send(message) => Some(message.reply?.to.seq),
                _ => None,
            });
            let replied: Vec<Seq> = replied.collect();
            for (user, member) in known.members {
                fold.know_member(user, member);
            }
            for item in known.messages.into_values() {
                fold.know_message(item);
            }
            for (user, concealed) in known.concealed {
                fold.know_concealed(user, concealed);
            }
            let mut reactions = known.reactions;
            let (mut entries, mut decided) = (Vec::<Entry>::new(), Vec::with_capacity(batch.len()));
            let now = self.clock.now();
            let mut waiting = VecDeque::from(batch);
            while let Some(job) = waiting.pop_front() {
                let id = match self.store.ids().next_after(fold.head().id) {
                    Ok(id) => id,
                    Err(error) => {
                        let jobs = decided.into_iter().map(|(job, _)| job);
                        return Err((jobs.chain([job]).chain(waiting).collect(), Some(error)));
                    }
                };
                let case = Case {
                    fold: &fold,
                    policy: &self.policy,
                    now,
                    blocked: known.blocked,
                    disabled: &known.disabled,
                    unwilling: &known.unwilling,
                    reactions: &reactions,
                    id,
                };
                let (changes, done) = if let Action::React { target, .. } = job.action {
                    let jobs = same_reactions(job, &mut waiting);
                    let wanted: Vec<_> = jobs.iter().filter_map(Job::reaction).collect();
                    let Reactions { change, outcomes } = case.react(target, &wanted);
                    (change.into_iter().collect(), answer_refused(jobs, outcomes))
                } else {
                    match case.decide(job.actor, &job.action) {
                        Ok(changes) => (changes, vec![job]),
                        Err(refusal) => {
                            job.refuse(&refusal);
                            continue;
                        }
                    }
                };
                let first = entries.len();
                for (place, change) in changes.into_iter().enumerate() {
                    let id = if place == 0 { Ok(id) } else { self.store.ids().next_after(fold.head().id) };
                    let id = match id {
                        Ok(id) => id,
                        Err(error) => {
                            let jobs = decided.into_iter().map(|(job, _)| job);
                            return Err((jobs.chain(done).chain(waiting).collect(), Some(error)));
                        }
                    };
                    let entry = fold.next_entry(id, change);
                    fold.apply(&entry);
                    if let Change::Reacted { target, changes, .. } = &entry.change {
                        for change in changes {
                            match &change.to {
                                Some(to) => reactions.insert((target.seq, change.user_id), to.clone()),
                                None => reactions.remove(&(target.seq, change.user_id)),
                            };
                        }
                    }
                    entries.push(entry);
                }
                let made = first..entries.len();
                decided.extend(done.into_iter().map(|job| (job, made.clone())));
            }
            // Who had nothing to do may rely on what another one of the batch does, and is answered with it.
            if entries.is_empty() {
                decided.into_iter().for_each(|(job, _)| job.acknowledge(Done::nothing()));
                return Ok(None);
            }
            // As they are after the batch: what it edits or deletes is not quoted as it was before.
            let quoted =
                replied.into_iter().filter_map(|seq| Some((seq, fold.message(seq)?.clone()))).collect();
            let append =
                Append { conversation: live.id(), expected_head: head, entries, effects: fold.finish() };
            let context = Context { quoted, hidden_from: known.hidden_from };
            Ok(Some(Decided { append, context, jobs: decided }))
        })
    }

    /// The state after an append; its entries are acknowledged and delivered.
    fn finish(&self, live: &Live, append: Append, context: &Context, jobs: Vec<(Job, Range<usize>)>) {
        let Append { entries, effects, .. } = append;
        let items: Vec<LogItem> = entries.into_iter().map(LogItem::unchanged).collect();
        let (outgoing, audience, crossed) = live.write(|state| {
            let crossed = if effects.cross.is_empty() { Vec::new() } else { state.members.clone() };
            // Somebody may have taken a newer state from the store meanwhile.
            if state.head.seq < effects.head.seq {
                effects.apply_to(state);
            }
            let audience = audience_of(state);
            let outgoing: Vec<OutgoingEntry> =
                items.iter().map(|item| self.outgoing(state, item, context)).collect();
            (outgoing, audience, crossed)
        });
        let shown: Vec<Arc<wire::LogEntry>> = outgoing.iter().map(|entry| entry.entry.clone()).collect();
        let entries: Vec<Arc<Entry>> = items.into_iter().map(|item| Arc::new(item.entry)).collect();
        for (job, made) in jobs {
            let (entries, shown) = (entries[made.clone()].to_vec(), shown[made].to_vec());
            job.acknowledge(Done { entries, shown, repeated: false });
        }
        self.follow(live.id(), &effects, &crossed);
        self.deliver(live.id(), &outgoing, &audience);
    }

    /// An entry as it is delivered: to those who see all of what it is about, and to those who do not.
    fn outgoing(&self, state: &ConversationState, item: &LogItem, context: &Context) -> OutgoingEntry {
        let entry = |sight: &Sight| Arc::new(self.view(state, &context.quoted, sight).entry(item));
        let less = about(&item.entry).map(|seq| {
            let hidden_from = context.hidden_from.get(&seq).cloned();
            let hidden_from = hidden_from.unwrap_or(HiddenFrom::These(Vec::new()));
            let unless = Seeing { seq, hidden_from };
            Box::new(Less { entry: entry(&Sight::without(seq)), unless })
        });
        OutgoingEntry { entry: entry(&Sight::whole()), less }
    }

    /// What many see. How far messages have come is not known of any of them yet.
    fn view<'a>(
        &self,
        state: &'a ConversationState,
        referred: &'a HashMap<Seq, LogItem>,
        sight: &'a Sight,
    ) -> View<'a> {
        let (own_reactions, discretion) = (&NO_REACTIONS, &OF_NOBODY);
        View { state, now: self.clock.now(), referred, own_reactions, sight, discretion }
    }

    /// Answers who sends a message that was sent before, with what they see of it now.
    async fn answer_again(&self, live: &Live, job: Job, item: LogItem, known: &Known) {
        match self.shown_again(live, job.actor, item, known).await {
            Ok(done) => job.acknowledge(done),
            Err(refusal) => job.refuse(&refusal),
        }
    }

    async fn shown_again(
        &self,
        live: &Live,
        actor: UserId,
        item: LogItem,
        known: &Known,
    ) -> Result<Done, Refusal> {
        let member = self.conversations.member(live, actor).await?.ok_or(Refusal::NotFound)?;
        let asked = about(&item.entry).into_iter().chain([item.entry.seq]);
        let (kind, members) = live.read(|state| (state.conversation.kind, state.member_ids()));
        let (sight, discretion) = tokio::try_join!(
            Sight::of(&*self.store, live.id(), &member, asked),
            Discretion::of(&*self.store, actor, kind, members)
        )?;
        let entry = Arc::new(item.entry.clone());
        let shown = live.read(|state| {
            let view = View { discretion: &discretion, ..self.view(state, &known.messages, &sight) };
            view.sent_again(item)
        });
        let shown = shown.map(Arc::new).into_iter().collect();
        Ok(Done { entries: vec![entry], shown, repeated: true })
    }

    /// Members of a large conversation who are connected get what is delivered there.
    fn follow(&self, conversation: ConversationId, effects: &Effects, crossed: &[Member]) {
        let is_large = effects.details.as_ref().is_some_and(|details| details.fan_out == FanOut::OnRead);
        let listed = effects.list.iter().filter(|_| is_large);
        let users = effects.cross.iter().chain(listed);
        let written = effects.members.iter().filter_map(|write| match write {
            MemberWrite::Put(member) => Some(member),
            MemberWrite::Remove(_) => None,
        });
        let from: HashMap<UserId, Seq> =
            crossed.iter().chain(written).map(|member| (member.user_id, member.history_from())).collect();
        let users: Vec<(UserId, Seq)> =
            users.map(|user| (*user, from.get(user).copied().unwrap_or_default())).collect();
        if !users.is_empty() {
            self.delivery.follow(&users, conversation);
        }
    }

    async fn unfollow(&self, append: &Append) {
        let users: Vec<UserId> = append.effects.unlist.iter().map(|unlisting| unlisting.user_id).collect();
        if !users.is_empty() {
            self.delivery.unfollow(&users, append.conversation).await;
        }
    }

    fn deliver(&self, conversation: ConversationId, entries: &[OutgoingEntry], to: &Audience) {
        let now = self.clock.now();
        entries.iter().for_each(|outgoing| measure::delivery(now.millis_since(outgoing.entry.at)));
        for part in entries.split(OutgoingEntry::is_for_each_to_read) {
            if !part.is_empty() {
                self.delivery.deliver_entries(conversation, part, to);
            }
        }
    }
}

static NO_REACTIONS: LazyLock<HashMap<Seq, Box<str>>> = LazyLock::new(HashMap::new);
static OF_NOBODY: LazyLock<Discretion> = LazyLock::new(Discretion::of_nobody);

/// Who is told of the entries of a conversation.
fn audience_of(state: &ConversationState) -> Audience {
    if state.is_whole() {
        Audience::Members(state.members.iter().map(|m| (m.user_id, m.history_from())).collect())
    } else {
        Audience::Followers
    }
}

/// The jobs that react to the same message as this one, which is the first of them.
fn same_reactions(first: Job, waiting: &mut VecDeque<Job>) -> Vec<Job> {
    let target = |job: &Job| match job.action {
        Action::React { target, .. } => Some(target),
        _ => None,
    };
    let wanted = target(&first);
    let mut same = vec![first];
    for job in std::mem::take(waiting) {
        if target(&job) == wanted {
            same.push(job);
        } else {
            waiting.push_back(job);
        }
    }
    same
}

/// Answers those who were refused, and gives back the others.
fn answer_refused(jobs: Vec<Job>, outcomes: Vec<Result<(), Refusal>>) -> Vec<Job> {
    let mut done = Vec::with_capacity(jobs.len());
    for (job, outcome) in jobs.into_iter().zip(outcomes) {
        match outcome {
            Ok(()) => done.push(job),
            Err(refusal) => job.refuse(&refusal),
        }
    }
    done
}

fn refuse_all(batch: Vec<Job>, refusal: &Refusal) {
    batch.into_iter().for_each(|job| job.refuse(refusal));
}

/// A bug that panics in one batch must not leave the conversation stuck for ever.
struct AbandonOnPanic<'a>(&'a Live);

impl Drop for AbandonOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.outbox.abandon();
        }
    }
}
