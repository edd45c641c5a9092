//! Decisions about batches: the entries, and which job gets which of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_protocol::conversations::{ConversationKind, HistoryVisibility, Role};
use godwit_protocol::limits::{ANSWER_BYTES_MAX, REACTION_CHARS_MAX};
use godwit_protocol::{ConversationId, MessageId, UserId};

use super::reactions::REACTED_PER_ENTRY_MAX;
use super::*;
use crate::actions::NewMessage;
use crate::bounds::encoded_bytes;
use crate::model::details::default_permissions;
use crate::model::{
    ClientId, Conversation, Created, Details, FanOut, Head, Kind, Member, Mentions, MessageBody, Reply,
};
use crate::ports::Clock;
use crate::show::View;
use crate::sight::Sight;
use crate::snowflake::{Grant, Lease};

const ADA: UserId = UserId::new(1);
const BOB: UserId = UserId::new(2);
const EVE: UserId = UserId::new(3);
const NOON: Timestamp = Timestamp::from_millis(1_800_000_000_000);

#[derive(Debug)]
struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        NOON
    }
}

/// A group of Ada and Bob with its messages, as a store would hold it.
struct Group {
    ids: IdGenerator,
    state: ConversationState,
    log: Vec<LogItem>,
}

impl Group {
    fn new() -> Self {
        let conversation =
            Conversation { id: ConversationId::new(9), kind: Kind::Group, created_by: ADA, created_at: NOON };
        let mut group = Self {
            ids: IdGenerator::new(Arc::new(StillClock), 0, 0),
            state: ConversationState {
                conversation,
                details: Arc::new(Details::new(NOON, default_permissions(true))),
                head: Head::empty(),
                members: Vec::new(),
            },
            log: Vec::new(),
        };
        let created = Created {
            by: ADA,
            kind: ConversationKind::Group,
            member_ids: vec![ADA, BOB],
            name: "Birds".into(),
            description: None,
            image: None,
            permissions: default_permissions(true),
            history: HistoryVisibility::All,
            fan_out: FanOut::OnWrite,
        };
        let mut fold = Fold::new(&group.state);
        let entry = fold.next_entry(group.ids.next().unwrap(), Change::Created(Box::new(created)));
        fold.apply(&entry);
        let effects = fold.finish();
        effects.apply_to(&mut group.state);
        group.log.push(LogItem::unchanged(entry));
        group
    }

    /// Decides a batch with all messages known.
    fn decide(&self, jobs: &[Job]) -> Decision {
        let messages = self.log.iter().map(|item| (item.entry.seq, item.clone())).collect();
        self.decide_on(jobs, Known { messages, ..Known::default() })
    }

    fn decide_on(&self, jobs: &[Job], known: Known) -> Decision {
        let policy = MessagePolicy::default();
        let terms = Terms { policy: &policy, now: NOON, ids: &self.ids };
        Decision::of(jobs, &self.state, known, &terms)
    }

    /// Decides a batch and applies it.
    fn add(&mut self, jobs: &[Job]) -> Decision {
        let decision = self.decide(jobs);
        decision.effects.apply_to(&mut self.state);
        self.log.extend(decision.entries.iter().cloned().map(LogItem::unchanged));
        decision
    }
}

fn job(actor: UserId, action: Action) -> Job {
    Job { actor, action, started: Instant::now(), waiting: Vec::new() }
}

fn send(actor: UserId, text: &str, reply_to: Option<Target>) -> Job {
    let message = NewMessage {
        client_id: ClientId::from_stored("c"),
        body: MessageBody::Text(text.into()),
        reply: reply_to.map(|to| Reply { to, root: to }),
        forwarded_from: None,
        mentions: Mentions::default(),
    };
    job(actor, Action::Send(Box::new(message)))
}

fn react(actor: UserId, target: Target, reaction: Option<&str>) -> Job {
    job(actor, Action::React { target, reaction: reaction.map(Into::into) })
}

fn target(entry: &Entry) -> Target {
    Target { id: MessageId::new(entry.id), seq: entry.seq }
}

#[test]
fn each_job_gets_its_own_entries_and_ids_rise_without_gaps_in_seq() {
    let group = Group::new();
    let add = Action::AddMembers { user_ids: (100..400).map(UserId::new).collect() };
    let decision = group.decide(&[send(ADA, "a", None), job(ADA, add), send(BOB, "b", None)]);
    let made: Vec<Range<usize>> = decision.verdicts.into_iter().map(Result::unwrap).collect();
    assert_eq!(made, [0..1, 1..3, 3..4], "300 members are two entries");
    let head = group.state.head;
    let seqs: Vec<u64> = decision.entries.iter().map(|entry| entry.seq.get()).collect();
    assert_eq!(seqs, (1..=4).map(|step| head.seq.get() + step).collect::<Vec<_>>());
    assert!(decision.entries.windows(2).all(|pair| pair[0].id < pair[1].id));
    assert!(decision.entries[0].id > head.id);
    assert_eq!(decision.effects.head.seq, decision.entries[3].seq);
}

#[test]
fn a_job_is_decided_on_the_results_of_earlier_jobs() {
    let group = Group::new();
    let remove = || job(ADA, Action::RemoveMember(BOB));
    let decision = group.decide(&[remove(), send(BOB, "still here?", None), remove()]);
    assert!(matches!(
        &*decision.verdicts,
        [Ok(Range { start: 0, end: 1 }), Err(Refusal::NotFound), Ok(nothing)] if nothing.is_empty()
    ));
    assert!(matches!(&*decision.entries, [Entry { change: Change::MemberRemoved { .. }, .. }]));
}

#[test]
fn a_batch_without_changes_has_no_entries() {
    let group = Group::new();
    let decision = group.decide(&[
        job(ADA, Action::SetRole(BOB, Role::Member)),
        job(BOB, Action::SetRole(ADA, Role::Member)),
        send(EVE, "let me in", None),
    ]);
    assert!(decision.entries.is_empty());
    let verdicts = &decision.verdicts;
    assert!(verdicts[0].as_ref().unwrap().is_empty());
    assert!(matches!(verdicts[1], Err(Refusal::Forbidden)));
    assert!(matches!(verdicts[2], Err(Refusal::NotFound)));
}

#[test]
fn reactions_to_one_message_are_one_entry_wherever_they_are_in_the_batch() {
    let mut group = Group::new();
    let first = target(&group.add(&[send(ADA, "first", None)]).entries[0]);
    let second = target(&group.add(&[send(ADA, "second", None)]).entries[0]);
    let decision = group.decide(&[
        react(ADA, first, Some("+")),
        react(ADA, second, Some("+")),
        send(BOB, "between", None),
        react(EVE, first, Some("+")),
        react(BOB, first, Some("!")),
    ]);
    let made: Vec<Option<Range<usize>>> =
        decision.verdicts.iter().map(|v| v.as_ref().ok().cloned()).collect();
    assert_eq!(made, [Some(0..1), Some(1..2), Some(2..3), None, Some(0..1)]);
    let Change::Reacted { changes, counts, .. } = &decision.entries[0].change else { panic!() };
    assert_eq!(changes.iter().map(|change| change.user_id).collect::<Vec<_>>(), [ADA, BOB]);
    assert_eq!(counts.len(), 2);
}

/// An entry has to fit into an answer.
#[test]
fn reactions_of_very_many_users_take_several_entries() {
    let mut group = Group::new();
    let message = target(&group.add(&[send(ADA, "hi", None)]).entries[0]);
    let users: Vec<UserId> =
        (0..=2 * REACTED_PER_ENTRY_MAX as u64).map(|number| UserId::new((1 << 62) + number)).collect();
    let member = group.state.members[0].clone();
    group.state.members.extend(users.iter().map(|user| Member { user_id: *user, ..member.clone() }));
    let longest = "🏽".repeat(REACTION_CHARS_MAX);
    let reacting: Vec<Job> = users.iter().map(|user| react(*user, message, Some(&longest))).collect();
    let decision = group.decide(&reacting);
    let sizes_and_counts = decision.entries.iter().map(|entry| match &entry.change {
        Change::Reacted { changes, counts, .. } => (changes.len(), counts[0].count as usize),
        other => panic!("{other:?}"),
    });
    let max = REACTED_PER_ENTRY_MAX;
    assert_eq!(sizes_and_counts.collect::<Vec<_>>(), [(max, max), (max, 2 * max), (1, 2 * max + 1)]);
    assert!(decision.verdicts.iter().all(|verdict| *verdict.as_ref().unwrap() == (0..3)));
    let sight = Sight::whole();
    for entry in decision.entries {
        let view = View::of_many(&group.state, NOON, &decision.referred, &sight);
        let bytes = encoded_bytes(&view.entry(&LogItem::unchanged(entry)));
        assert!(bytes <= ANSWER_BYTES_MAX, "{bytes} bytes");
    }
}

#[test]
fn a_reaction_removed_in_the_same_batch_changes_nothing() {
    let mut group = Group::new();
    let message = target(&group.add(&[send(ADA, "hi", None)]).entries[0]);
    let decision = group.decide(&[react(BOB, message, Some("+")), react(BOB, message, None)]);
    assert!(decision.entries.is_empty());
    assert!(decision.verdicts.iter().all(|verdict| verdict.as_ref().unwrap().is_empty()));
}

#[test]
fn a_quoted_message_has_its_state_after_the_batch() {
    let mut group = Group::new();
    let message = target(&group.add(&[send(ADA, "a secret", None)]).entries[0]);
    let delete = job(ADA, Action::Delete { target: message });
    let decision = group.decide(&[send(BOB, "what?", Some(message)), delete]);
    assert_eq!(decision.entries.len(), 2);
    assert!(decision.referred[&message.seq].state.gone.is_some());
}

#[test]
fn an_entry_about_a_message_shows_its_state_after_the_batch() {
    let mut group = Group::new();
    let message = target(&group.add(&[send(ADA, "first", None)]).entries[0]);
    let edit = |text: &str| {
        job(ADA, Action::Edit { target: message, text: text.into(), mentions: Mentions::default() })
    };
    let decision = group.decide(&[edit("second"), edit("third"), job(ADA, Action::Pin(message))]);
    let edits = [&decision.entries[0], &decision.entries[1]].map(|entry| entry.seq);
    assert_eq!(decision.referred[&message.seq].state.edits, edits);
    assert_eq!(decision.referred.len(), 1);
    let decision = group.decide(&[send(ADA, "plain", None)]);
    assert_eq!(decision.referred.capacity(), 0, "nothing is allocated for a plain message");
}

#[test]
fn disabled_senders_are_refused_and_unwilling_users_left_out() {
    let group = Group::new();
    let jobs = [send(BOB, "hi", None), job(ADA, Action::AddMembers { user_ids: vec![EVE] })];
    let known = Known { disabled: [BOB].into(), unwilling: [(ADA, EVE)].into(), ..Known::default() };
    let decision = group.decide_on(&jobs, known);
    assert!(matches!(decision.verdicts[0], Err(Refusal::Disabled)));
    assert!(decision.verdicts[1].as_ref().unwrap().is_empty(), "nobody is left to be added");
    assert!(decision.entries.is_empty());
}

#[test]
fn without_ids_no_job_gets_an_entry_and_refusals_stay() {
    let mut group = Group::new();
    let (first, second) = (group.state.head.id + 1, group.state.head.id + 2);
    let until = tokio::time::Instant::now() + Duration::from_secs(3_600);
    let jobs = [send(EVE, "hi", None), send(ADA, "hi", None), send(BOB, "hi", None)];
    for (ceiling, accepted) in [(second + 1, true), (second, false), (first, false)] {
        let lease = Lease::new(Grant { node: 0, floor: 0, ceiling, until });
        group.ids = IdGenerator::leased(Arc::new(StillClock), Arc::new(lease));
        let Decision { verdicts, entries, .. } = group.decide(&jobs);
        assert!(matches!(verdicts[0], Err(Refusal::NotFound)), "it was refused before the ids ran out");
        assert_eq!(entries.len(), if accepted { 2 } else { 0 });
        let are_refused = verdicts[1..].iter().all(|verdict| matches!(verdict, Err(Refusal::Store(_))));
        assert_eq!((verdicts.len(), are_refused), (3, !accepted));
    }
}
