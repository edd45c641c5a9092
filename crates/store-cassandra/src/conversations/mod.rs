//! Conversations and their logs.
//!
//! - [`append`]: the one write that needs agreement, and where a log ends
//! - [`buckets`]: in which partition an entry is
//! - [`history`]: reading the log
//! - [`project`]: what follows from the log, and the watermark
//! - [`cursors`]: how far members have come, and when
//! - [`direct`]: making conversations
//! - [`records`]: how all that is written

mod append;
mod buckets;
mod cursors;
mod direct;
mod history;
mod project;
mod records;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{try_join_all, try_join3};
use godwit_domain::model::{
    AccountChange, AccountEntry, AccountNote, ClientId, Conversation, ConversationState, Cursor, Entry, Kind,
    Member, UserPair,
};
use godwit_domain::ports::{
    Append, AppendOutcome, ConversationStore, CursorMove, MessageOrder, NewDirect, OpenedDirect,
    ReceiptTimes, SeqRange, StoreError,
};
use godwit_protocol::{ConversationId, MessageId, Seq, Timestamp, UserId};
use scylla::DeserializeRow;
use scylla::errors::PrepareError;
use scylla::value::CqlTimestamp;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::CassandraStore;
use crate::accounts::Accounts;
use crate::cql::{Cql, Read};
use crate::inbox::Inbox;
use crate::merge::Merged;
use crate::turns::Turns;
use crate::values::int;
use append::{Appended, Log, NewEntries};
use buckets::BucketStart;
use history::History;
use project::{Projection, Projector, Watermarks};
use records::{LogRow, corrupt, role_from_name};

/// How long who was beaten to an append waits before it hears of it.
const CONTENTION_PAUSE_MS_MAX: u64 = 20;
/// Entries that are projected at once when a conversation is loaded after a crash.
const PROJECTED_AT_ONCE_MAX: usize = 256;

#[derive(Debug)]
pub(crate) struct Conversations {
    cql: Arc<Cql>,
    accounts: Arc<Accounts>,
    inbox: Arc<Inbox>,
    statements: Statements,
    appending: append::Statements,
    reading: history::Statements,
    projecting: project::Statements,
    cursors: cursors::Statements,
    directs: direct::Statements,
    watermarks: Watermarks,
    /// Of those who agree on the end of a log, or ask where it is.
    turns: Turns<ConversationId>,
    /// Of those who open the conversation of a pair.
    openings: Turns<UserPair>,
    loads: Merged<ConversationId, Option<ConversationState>>,
    pages: Merged<(ConversationId, Seq, Seq, bool, usize), Vec<Entry>>,
    logs: Merged<(ConversationId, Seq, usize), Vec<Entry>>,
}

#[derive(Debug)]
struct Statements {
    members: Read,
    cursors: Read,
    watermark: Read,
}

impl Statements {
    async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        Ok(Self {
            members: cql
                .prepare_read(
                    "SELECT kind, created_by, created_at, user_id, role, joined_at FROM conversations \
                     WHERE conversation_id = ?",
                )
                .await?,
            cursors: cql
                .prepare_read(
                    "SELECT user_id, delivered, read, read_ordinal FROM cursors WHERE conversation_id = ?",
                )
                .await?,
            watermark: cql
                .prepare_read("SELECT bucket, projected FROM log_buckets WHERE conversation_id = ? LIMIT 1")
                .await?,
        })
    }
}

#[derive(Debug, DeserializeRow)]
struct MemberRow {
    kind: Option<String>,
    created_by: Option<i64>,
    created_at: Option<CqlTimestamp>,
    user_id: Option<i64>,
    role: Option<String>,
    joined_at: Option<CqlTimestamp>,
}

impl Conversations {
    pub(crate) async fn new(
        cql: Arc<Cql>,
        accounts: Arc<Accounts>,
        inbox: Arc<Inbox>,
    ) -> Result<Self, PrepareError> {
        Ok(Self {
            statements: Statements::prepare(&cql).await?,
            appending: append::Statements::prepare(&cql).await?,
            reading: history::Statements::prepare(&cql).await?,
            cursors: cursors::Statements::prepare(&cql).await?,
            directs: direct::Statements::prepare(&cql).await?,
            projecting: project::Statements::prepare(&cql).await?,
            watermarks: Watermarks::default(),
            turns: Turns::default(),
            openings: Turns::default(),
            loads: Merged::new("load a conversation"),
            pages: Merged::new("read messages"),
            logs: Merged::new("read the log"),
            cql,
            accounts,
            inbox,
        })
    }

    /// Writes watermarks until it is dropped.
    pub(crate) async fn run(&self) {
        let mut ticks = interval(project::WATERMARK_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.close().await {
                tracing::debug!(%error, "watermarks were not written: more is projected again after a crash");
            }
        }
    }

    /// Writes what is left.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        self.watermarks.write(self.projector()).await
    }

    fn log(&self) -> Log<'_> {
        Log { cql: &self.cql, statements: &self.appending }
    }

    fn history(&self) -> History<'_> {
        History { cql: &self.cql, statements: &self.reading }
    }

    fn projector(&self) -> Projector<'_> {
        Projector { cql: &self.cql, statements: &self.projecting, cursors: &self.cursors, inbox: &self.inbox }
    }

    /// The conversation as it is now. What a crash left half done is finished first.
    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
        let key = (int(id.get()),);
        // Cursors before the head: none is past it.
        let (members, cursors, marks) = try_join3(
            self.cql.rows::<MemberRow>("load a conversation", &self.statements.members, key),
            self.cql.rows::<(i64, Option<i64>, Option<i64>, Option<i64>)>(
                "load cursors",
                &self.statements.cursors,
                key,
            ),
            self.cql.row::<(Option<i64>, Option<i64>)>("load a watermark", &self.statements.watermark, key),
        )
        .await?;
        let Some((conversation, mut members)) = conversation_of(id, members)? else { return Ok(None) };
        let (bucket, projected) = marks.unwrap_or_default();
        let known = bucket.map_or(0, i64::cast_unsigned);
        let turn = self.turns.take(id).await;
        let Some((head, bucket)) = self.log().head(id, known).await? else { return Ok(None) };
        drop(turn);
        let cursors: HashMap<i64, Cursor> = cursors
            .into_iter()
            .map(|(user, delivered, read, ordinal)| (user, cursors::cursor_from(delivered, read, ordinal)))
            .collect();
        for member in &mut members {
            member.cursor = cursors.get(&int(member.user_id.get())).copied().unwrap_or_default();
        }
        let mut state = ConversationState { conversation, head, members };
        if bucket != known {
            self.find_begun_buckets(id, known, bucket).await?;
        }
        let projected = Seq::new(projected.unwrap_or(0).cast_unsigned());
        if projected < state.head.seq {
            self.project_again(&mut state, projected).await?;
        }
        Ok(Some(state))
    }

    async fn find_begun_buckets(
        &self,
        id: ConversationId,
        known: u64,
        newest: u64,
    ) -> Result<(), StoreError> {
        for bucket in known + 1..=newest {
            if let Some((seq, entry_id)) = self.history().first_of_bucket(id, bucket).await? {
                self.projector().begin_bucket(id, BucketStart { bucket, seq, id: entry_id }).await?;
            }
        }
        Ok(())
    }

    /// Writes what follows from the entries after the watermark, and brings the state up to it.
    async fn project_again(&self, state: &mut ConversationState, after: Seq) -> Result<(), StoreError> {
        let conversation = state.conversation.id;
        let mut after = after;
        while after < state.head.seq {
            let rows = self.history().rows(conversation, after, PROJECTED_AT_ONCE_MAX).await?;
            let Some(last) = rows.last().map(LogRow::seq) else {
                return Err(corrupt(
                    "log",
                    format!("{conversation}/{after}"),
                    "the entry after it is missing",
                ));
            };
            let list_for = rows.iter().flat_map(LogRow::listed_for).collect();
            let entries: Vec<Entry> =
                rows.into_iter().map(|row| row.into_entry(conversation)).collect::<Result<_, _>>()?;
            let projection = Projection {
                conversation,
                begun: None,
                cursors: Projection::senders(conversation, &entries),
                members: state.member_ids(),
                list_for,
                activity_at: state.last_activity_at(),
                entries,
            };
            self.projector().project(&projection).await?;
            for by in &projection.cursors {
                if let Some(member) = state.member_mut(by.user_id) {
                    member.cursor = member.cursor.advanced_by(by.cursor);
                }
            }
            after = last;
        }
        self.watermarks.raise(conversation, after);
        Ok(())
    }

    async fn append(&self, append: Append) -> Result<AppendOutcome, StoreError> {
        let turn = self.turns.take(append.conversation).await;
        let appended = self.log().append(NewEntries::from(&append)).await?;
        drop(turn);
        let begun = match appended {
            Appended::No => {
                // Somebody else is at work on this log: who tries again at once only gets in their way.
                sleep(Duration::from_millis(rand::random_range(0..CONTENTION_PAUSE_MS_MAX))).await;
                return Ok(AppendOutcome::HeadMoved);
            }
            Appended::Yes => None,
            Appended::AsFirstOf(start) => Some(start),
        };
        let Append { conversation, entries, head, cursors, members, list_for, .. } = append;
        let activity_at = match head.activity_at() {
            Some(at) => at,
            None => self.created_at(conversation).await?,
        };
        let projection = Projection { conversation, begun, entries, cursors, members, list_for, activity_at };
        let notes = self.projector().project(&projection).await?;
        self.watermarks.raise(conversation, head.seq);
        Ok(AppendOutcome::Appended(notes))
    }

    async fn created_at(&self, id: ConversationId) -> Result<Timestamp, StoreError> {
        let rows = self.cql.rows("load a conversation", &self.statements.members, (int(id.get()),)).await?;
        let found = conversation_of(id, rows)?;
        found
            .map(|(conversation, _)| conversation.created_at)
            .ok_or_else(|| corrupt("conversations", id.to_string(), "there is a log and no conversation"))
    }

    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        let read = cursors::advance(&self.cql, &self.cursors, moves).await?;
        let mut notes = HashMap::<UserId, Vec<AccountNote>>::new();
        for by in read {
            let change = AccountChange::ReadMoved(by.conversation);
            notes.entry(by.user_id).or_default().push(AccountNote { user_id: by.user_id, at: by.at, change });
        }
        let written = notes.into_iter().map(|(user, notes)| async move {
            let entries = self.accounts.note(user, notes).await?;
            Ok::<_, StoreError>(entries.into_iter().map(move |entry| (user, entry)))
        });
        let written = try_join_all(written).await?;
        Ok(written.into_iter().flatten().collect())
    }

    async fn receipts(
        &self,
        id: ConversationId,
        seq: Seq,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError> {
        let entry = self.history().entry(id, seq).await?;
        cursors::receipts(&self.cql, &self.cursors, id, seq, entry.as_ref(), users).await
    }
}

/// A conversation and its members, with cursors that say nothing yet.
fn conversation_of(
    id: ConversationId,
    rows: Vec<MemberRow>,
) -> Result<Option<(Conversation, Vec<Member>)>, StoreError> {
    let Some(MemberRow { kind, created_by: Some(created_by), created_at: Some(created_at), .. }) =
        rows.first()
    else {
        return Ok(None);
    };
    let user = |id: i64| UserId::new(id.cast_unsigned());
    let (created_by, created_at) = (user(*created_by), Timestamp::from_millis(created_at.0));
    let kind = kind.clone();
    let mut members = Vec::with_capacity(rows.len());
    for row in rows {
        if let (Some(user_id), Some(role), Some(joined_at)) = (row.user_id, row.role, row.joined_at) {
            members.push(Member {
                user_id: user(user_id),
                role: role_from_name(id, &role)?,
                joined_at: Timestamp::from_millis(joined_at.0),
                cursor: Cursor::default(),
            });
        }
    }
    members.sort_unstable_by_key(|member| member.user_id);
    let pair = match (kind.as_deref(), &*members) {
        (Some("direct"), [a, b]) => UserPair::new(a.user_id, b.user_id),
        _ => None,
    };
    let pair =
        pair.ok_or_else(|| corrupt("conversations", id.to_string(), "no direct conversation of two"))?;
    Ok(Some((Conversation { id, kind: Kind::Direct(pair), created_by, created_at }, members)))
}

#[async_trait]
impl ConversationStore for CassandraStore {
    async fn open_direct(&self, pair: UserPair, new: NewDirect) -> Result<OpenedDirect, StoreError> {
        self.conversations.open_direct(pair, new).await
    }

    async fn direct_of(&self, pair: UserPair) -> Result<Option<ConversationId>, StoreError> {
        self.conversations.direct_of(pair).await
    }

    async fn load(&self, id: ConversationId) -> Result<Option<ConversationState>, StoreError> {
        let conversations = &self.conversations;
        conversations.loads.read(id, || conversations.load(id)).await
    }

    async fn append(&self, append: Append) -> Result<AppendOutcome, StoreError> {
        self.conversations.append(append).await
    }

    async fn entries(&self, id: ConversationId, after: Seq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let conversations = &self.conversations;
        conversations
            .logs
            .read((id, after, limit), || conversations.history().entries(id, after, limit))
            .await
    }

    async fn entry(&self, id: ConversationId, seq: Seq) -> Result<Option<Entry>, StoreError> {
        self.conversations.history().entry(id, seq).await
    }

    async fn messages(
        &self,
        id: ConversationId,
        range: SeqRange,
        order: MessageOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        let key = (id, range.after, range.before, order == MessageOrder::NewestFirst, limit);
        let conversations = &self.conversations;
        conversations.pages.read(key, || conversations.history().messages(id, range, order, limit)).await
    }

    async fn locate(&self, message: MessageId) -> Result<Option<(ConversationId, Seq)>, StoreError> {
        self.conversations.history().locate(message).await
    }

    async fn sent_as(
        &self,
        id: ConversationId,
        sender: UserId,
        client_id: &ClientId,
    ) -> Result<Option<Seq>, StoreError> {
        self.conversations.history().sent_as(id, sender, client_id).await
    }

    async fn sent_as_each(
        &self,
        id: ConversationId,
        sent: &[(UserId, &ClientId)],
    ) -> Result<Vec<Option<Seq>>, StoreError> {
        let history = self.conversations.history();
        try_join_all(sent.iter().map(|(sender, client_id)| history.sent_as(id, *sender, client_id))).await
    }

    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Result<Seq, StoreError> {
        self.conversations.history().seq_at(id, time).await
    }

    async fn move_cursors(&self, moves: &[CursorMove]) -> Result<Vec<(UserId, AccountEntry)>, StoreError> {
        self.conversations.move_cursors(moves).await
    }

    async fn receipts(
        &self,
        id: ConversationId,
        seq: Seq,
        users: &[UserId],
    ) -> Result<Vec<ReceiptTimes>, StoreError> {
        self.conversations.receipts(id, seq, users).await
    }
}
