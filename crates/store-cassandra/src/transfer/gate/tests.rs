//! The gate without Cassandra, on a paused clock.

use futures_util::FutureExt;
use godwit_protocol::{ConversationId, UserId};
use tokio::task::{JoinSet, yield_now};
use tokio::time::advance;

use super::*;

/// The tables in memory. They always answer, unless `is_away` is set.
#[derive(Debug, Default)]
struct Memory {
    state: Mutex<State>,
    said: Mutex<Vec<u64>>,
    marks: Mutex<Vec<(u64, Part)>>,
    is_away: Mutex<bool>,
}

impl Memory {
    fn answer(&self) -> Result<(), StoreError> {
        if *self.is_away.lock().unwrap() { Err(unavailable("test", "away")) } else { Ok(()) }
    }

    fn become_of(&self, transfer: TransferState) -> State {
        let mut state = self.state.lock().unwrap();
        *state = State { transfer, round: state.round + 1, first: 0 };
        state.clone()
    }

    fn is_away(&self, is_away: bool) {
        *self.is_away.lock().unwrap() = is_away;
    }

    fn last_said(&self) -> u64 {
        *self.said.lock().unwrap().last().unwrap()
    }

    fn marks(&self) -> Vec<(u64, Part)> {
        self.marks.lock().unwrap().clone()
    }
}

#[async_trait]
impl Records for Memory {
    async fn say(&self, round: u64) -> Result<(), StoreError> {
        self.answer()?;
        self.said.lock().unwrap().push(round);
        Ok(())
    }

    async fn state(&self) -> Result<State, StoreError> {
        self.answer()?;
        Ok(self.state.lock().unwrap().clone())
    }

    async fn mark(&self, round: u64, parts: &[Part]) -> Result<(), StoreError> {
        self.answer()?;
        self.marks.lock().unwrap().extend(parts.iter().map(|part| (round, part.clone())));
        Ok(())
    }
}

impl Gate {
    /// A gate for tests without a transfer.
    pub(crate) async fn without_transfer() -> Arc<Self> {
        Self::open(Arc::new(Memory::default())).await.unwrap()
    }
}

struct Stage {
    memory: Arc<Memory>,
    gate: Arc<Gate>,
    _background: JoinSet<()>,
}

impl Stage {
    async fn new() -> Self {
        let memory = Arc::new(Memory::default());
        let gate = Gate::open(memory.clone()).await.unwrap();
        let mut background = JoinSet::new();
        let (staying, following) = (gate.clone(), gate.clone());
        background.spawn(async move { staying.stay().await });
        background.spawn(async move { following.follow().await });
        yield_now().await;
        Self { memory, gate, _background: background }
    }

    /// Another process changes the state, and this handle learns of it in time.
    async fn become_of(&self, transfer: TransferState) {
        self.memory.become_of(transfer);
        self.gate.look().await.unwrap();
        settle().await;
    }
}

/// Lets the background tasks run until they wait.
async fn settle() {
    for _ in 0..8 {
        yield_now().await;
    }
}

fn out() -> TransferState {
    TransferState::Out { to: "there".into() }
}

fn held() -> TransferState {
    TransferState::Held { to: "there".into() }
}

fn gone() -> TransferState {
    TransferState::Gone { to: "there".into() }
}

const fn conversation(id: u64) -> Part {
    Part::Conversation(ConversationId::new(id))
}

fn reason<T: fmt::Debug>(answer: Result<T, StoreError>) -> String {
    match answer {
        Err(StoreError::Unavailable { source, .. }) => source.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn writes_mark_each_part_once_per_round_and_only_during_a_transfer() {
    let Stage { memory, gate, .. } = &Stage::new().await;
    for transfer in [TransferState::Not, TransferState::In { from: "there".into(), progress: String::new() }]
    {
        gate.learn(memory.become_of(transfer));
        let pass = gate.enter([conversation(1)]).await.unwrap();
        drop(gate.change(Part::Account(UserId::new(1))).await.unwrap());
        assert_eq!(pass.leave(Ok(7)).await.unwrap(), 7);
    }
    assert_eq!(memory.marks(), []);
    for round in [3, 4] {
        gate.learn(memory.become_of(out()));
        for _ in 0..2 {
            let pass = gate.enter([conversation(1), conversation(2), conversation(1)]).await.unwrap();
            drop(gate.change(Part::Account(UserId::new(1))).await.unwrap());
            pass.leave(Ok(())).await.unwrap();
        }
        let marked = [conversation(1), conversation(2), Part::Account(UserId::new(1))];
        assert_eq!(memory.marks(), marked.map(|part| (round, part)));
        memory.marks.lock().unwrap().clear();
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_is_refused_if_its_part_cannot_be_marked() {
    let stage = Stage::new().await;
    stage.become_of(out()).await;
    stage.memory.is_away(true);
    assert_eq!(reason(stage.gate.enter([conversation(1)]).await), "away");
    stage.memory.is_away(false);
    drop(stage.gate.enter([conversation(1)]).await.unwrap());
    assert_eq!(stage.memory.marks(), [(1, conversation(1))]);
}

#[tokio::test(start_paused = true)]
async fn a_round_is_confirmed_after_all_earlier_writes_have_left() {
    let Stage { memory, gate, .. } = &Stage::new().await;
    let first = gate.enter([]).await.unwrap();
    let (second, left_behind) = (gate.enter([]).await.unwrap(), gate.begin());
    gate.learn(memory.become_of(out()));
    settle().await;
    assert_eq!(memory.last_said(), 0);
    // A later write belongs to the new round.
    let third = gate.enter([conversation(1)]).await.unwrap();
    first.leave(Ok(())).await.unwrap();
    drop(second);
    settle().await;
    assert_eq!(memory.last_said(), 0, "what somebody left behind is still written");
    gate.learn(memory.become_of(held()));
    drop(left_behind);
    settle().await;
    assert_eq!(memory.last_said(), 1, "two rounds have begun, and a write of the first one has not ended");
    third.leave(Ok(())).await.unwrap();
    settle().await;
    assert_eq!(memory.last_said(), 2);
}

#[tokio::test(start_paused = true)]
async fn writes_are_refused_while_held_and_after_the_transfer() {
    let stage = Stage::new().await;
    stage.become_of(out()).await;
    stage.become_of(held()).await;
    let gate = &stage.gate;
    assert_eq!(reason(gate.enter([]).await), "the data is being transferred to there");
    let finishing = gate.enter_to_finish().await.unwrap();
    drop(gate.change(Part::Account(UserId::new(1))).await.unwrap());
    assert_eq!(stage.memory.marks(), [(2, Part::Account(UserId::new(1)))]);
    finishing.leave(Ok(())).await.unwrap();
    gate.health().unwrap();
    stage.become_of(gone()).await;
    assert_eq!(reason(gate.enter([]).await), "the data was transferred to there");
    assert_eq!(reason(gate.enter_to_finish().await), "the data was transferred to there");
    assert!(matches!(gate.health(), Err(StoreError::Stopped)));
}

#[tokio::test(start_paused = true)]
async fn an_expired_handle_reads_the_state_before_it_admits_a_write() {
    let Stage { memory, gate, .. } = &Stage::new().await;
    memory.is_away(true);
    advance(SURE / 2).await;
    settle().await;
    // No round ends without this handle yet.
    gate.enter([]).await.unwrap().leave(Ok(())).await.unwrap();
    advance(SURE).await;
    assert_eq!(reason(gate.enter([]).await), "away");
    memory.become_of(held());
    memory.is_away(false);
    assert_eq!(reason(gate.enter([]).await), "the data is being transferred to there");
}

#[tokio::test(start_paused = true)]
async fn a_write_inside_an_expired_handle_is_not_acknowledged() {
    let Stage { memory, gate, .. } = &Stage::new().await;
    gate.learn(memory.become_of(out()));
    settle().await;
    let pass = gate.enter([conversation(1)]).await.unwrap();
    advance(SURE).await;
    pass.leave(Ok(())).await.unwrap();

    let pass = gate.enter([conversation(1)]).await.unwrap();
    advance(SURE).await;
    memory.become_of(out());
    assert!(reason(pass.leave(Ok(())).await).contains("while it was in progress"));

    // Also when another caller has noticed the gap first.
    let pass = gate.enter([conversation(1)]).await.unwrap();
    advance(SURE).await;
    memory.become_of(held());
    assert!(gate.enter([]).await.is_err());
    assert!(reason(pass.leave(Ok(())).await).contains("while it was in progress"));
}

#[tokio::test(start_paused = true)]
async fn a_slow_write_is_acknowledged_if_the_round_waited_for_it() {
    let Stage { memory, gate, .. } = &Stage::new().await;
    let pass = gate.enter([]).await.unwrap();
    gate.learn(memory.become_of(out()));
    for _ in 0..10 {
        advance(SAY_INTERVAL).await;
        settle().await;
    }
    assert_eq!(memory.last_said(), 0);
    pass.leave(Ok(())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_writes_share_one_read_of_the_state() {
    let Stage { memory, gate, .. } = &Stage::new().await;
    advance(2 * SURE).await;
    memory.said.lock().unwrap().clear();
    let passes = futures_util::future::join_all((0..100).map(|_| gate.enter([]))).await;
    assert!(passes.iter().all(Result::is_ok));
    assert!(memory.said.lock().unwrap().len() <= 2, "the background says it too");
}

#[tokio::test(start_paused = true)]
async fn without_a_transfer_the_gate_reads_nothing() {
    let Stage { memory, gate, .. } = &Stage::new().await;
    memory.is_away(true);
    let pass = gate.enter([conversation(1)]).now_or_never().expect("nobody is asked").unwrap();
    pass.leave(Ok(())).now_or_never().expect("nobody is asked").unwrap();
}

#[tokio::test(start_paused = true)]
async fn remembered_marks_are_bounded() {
    let stage = Stage::new().await;
    stage.become_of(out()).await;
    let many = 3 * MARKED_KNOWN_MAX as u64 / 2;
    for id in 0..many {
        drop(stage.gate.enter([conversation(id)]).await.unwrap());
    }
    assert!(stage.gate.known().round.marked().len() <= MARKED_KNOWN_MAX);
    assert_eq!(stage.memory.marks().len() as u64, many);
}
