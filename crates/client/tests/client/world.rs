//! A small server with correct logs and a network with all kinds of faults.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use godwit_client::protocol::messages::{Change, LogEntry, LogPage, Message, SendMessage};
use godwit_client::protocol::socket::{
    Command, CommandFrame, EntryEvent, ErrorFrame, Event, OkFrame, ReadLog, Reconnect, Sync,
};
use godwit_client::protocol::sync::SyncPage;
use godwit_client::protocol::{ConversationId, ErrorCode, Seq, UserId};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message as Frame;

use crate::sample;

/// A small page size, so that there are many pages.
const LOG_PAGE: usize = 7;
const SYNC_PAGE: usize = 2;

pub(crate) struct World {
    state: Mutex<State>,
}

struct State {
    rng: StdRng,
    logs: BTreeMap<ConversationId, Log>,
    /// Increases with every change. Sync tokens are derived from it.
    clock: u64,
    sockets: Vec<mpsc::Sender<String>>,
}

#[derive(Default)]
struct Log {
    entries: Vec<LogEntry>,
    sent: HashMap<String, Message>,
    changed_at: u64,
}

impl World {
    pub(crate) async fn start(seed: u64, conversations: &[ConversationId]) -> (Arc<Self>, String) {
        let state = State {
            rng: StdRng::seed_from_u64(seed),
            logs: conversations.iter().map(|id| (*id, Log::default())).collect(),
            clock: 0,
            sockets: Vec::new(),
        };
        let world = Arc::new(Self { state: Mutex::new(state) });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = world.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        (world, url)
    }

    /// Appends once per client id, and sends the event to all sockets with random faults.
    pub(crate) fn append(&self, id: ConversationId, sender: UserId, sent: &SendMessage) -> Message {
        let mut state = self.lock();
        state.clock += 1;
        let clock = state.clock;
        let log = state.logs.get_mut(&id).unwrap();
        if let Some(message) = log.sent.get(&sent.client_id) {
            return message.clone();
        }
        let message = sample::message(id, log.entries.len() as u64 + 1, sender, sent);
        let entry = LogEntry {
            seq: message.seq,
            at: sample::now(),
            change: Change::Message { message: Box::new(message.clone()) },
        };
        log.entries.push(entry.clone());
        log.sent.insert(sent.client_id.clone(), message.clone());
        log.changed_at = clock;
        state.broadcast(&Event::Entry(EntryEvent { conversation_id: id, entry }));
        message
    }

    /// The client ids of a log, in order.
    pub(crate) fn client_ids(&self, id: ConversationId) -> Vec<String> {
        let state = self.lock();
        let ids = state.logs[&id].entries.iter().map(|entry| match &entry.change {
            Change::Message { message } => message.client_id.clone().unwrap(),
            other => panic!("{other:?} is not a message"),
        });
        ids.collect()
    }

    pub(crate) fn chance(&self, probability: f64) -> bool {
        self.lock().rng.random_bool(probability)
    }

    pub(crate) fn pause(&self, max_ms: u64) -> Duration {
        Duration::from_millis(self.lock().rng.random_range(0..=max_ms))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        if self.chance(0.1) {
            return;
        }
        let Ok(mut stream) = accept_async(stream).await else { return };
        let (out, mut outgoing) = mpsc::channel::<String>(4_096);
        out.try_send(text(&Event::Hello(sample::hello()))).unwrap();
        loop {
            tokio::select! {
                frame = outgoing.recv() => {
                    let frame = frame.expect("this task has a sender too");
                    if self.chance(0.004) || stream.send(Frame::text(frame)).await.is_err() {
                        return;
                    }
                }
                frame = stream.next() => match frame {
                    Some(Ok(Frame::Text(frame))) => {
                        let frame: CommandFrame = serde_json::from_str(&frame).unwrap();
                        if self.chance(0.02) {
                            return;
                        }
                        self.answer(frame, &out);
                        // The command was executed, but its reply is lost.
                        if self.chance(0.02) {
                            return;
                        }
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return,
                },
            }
        }
    }

    fn answer(&self, CommandFrame { id, command }: CommandFrame, out: &mpsc::Sender<String>) {
        if !matches!(command, Command::SignIn(_)) && self.chance(0.05) {
            let error = sample::problem(ErrorCode::Unavailable, 503, true);
            return self.later(text(&ErrorFrame { id: Some(id), error }), out);
        }
        let reply = match command {
            Command::SignIn(_) => {
                self.lock().sockets.push(out.clone());
                text(&OkFrame { id, ok: sample::signed_in() })
            }
            Command::Send(sent) => {
                let ok = self.append(sent.conversation_id.unwrap(), sample::ME, &sent);
                text(&OkFrame { id, ok })
            }
            Command::Log(read) => text(&OkFrame { id, ok: self.lock().log(&read) }),
            Command::Sync(sync) => text(&OkFrame { id, ok: self.lock().sync(&sync) }),
            Command::Cursor(_) => text(&OkFrame { id, ok: sample::conversation(sample::C, 1, 1).cursors[0] }),
            other => panic!("{other:?} is not expected here"),
        };
        self.later(reply, out);
    }

    /// Sends a frame after a random delay, so that replies overtake each other and events.
    fn later(&self, frame: String, out: &mpsc::Sender<String>) {
        send_later(frame, self.pause(3), out.clone());
    }
}

impl State {
    fn broadcast(&mut self, event: &Event) {
        let frame = text(event);
        self.sockets.retain(|socket| !socket.is_closed());
        for socket in &self.sockets {
            let late = Duration::from_millis(self.rng.random_range(1..=5));
            match self.rng.random_range(0..100) {
                0..5 => {}
                5..10 => {
                    let _ = socket.try_send(frame.clone());
                    let _ = socket.try_send(frame.clone());
                }
                10..20 => send_later(frame.clone(), late, socket.clone()),
                20..22 => drop(socket.try_send(text(&Event::Reconnect(Reconnect { after_ms: 3 })))),
                _ => drop(socket.try_send(frame.clone())),
            }
        }
    }

    fn log(&self, read: &ReadLog) -> LogPage {
        let entries = &self.logs[&read.conversation_id].entries;
        let rest = &entries[read.after.get() as usize..];
        LogPage {
            conversation_id: read.conversation_id,
            entries: rest.iter().take(LOG_PAGE).cloned().collect(),
            begins: Seq::new(1),
            head: Seq::new(entries.len() as u64),
            more: rest.len() > LOG_PAGE,
            truncated: false,
        }
    }

    /// A token is `since`, or `since:until:offset` within a round.
    fn sync(&self, sync: &Sync) -> SyncPage {
        let token = sync.since.as_deref().unwrap_or("0");
        let mut numbers = token.split(':').map(|number| number.parse::<u64>().unwrap());
        let since = numbers.next().unwrap();
        let until = numbers.next().unwrap_or(self.clock);
        let offset = numbers.next().unwrap_or(0);
        let mut changed: Vec<_> = self.logs.iter().filter(|(_, log)| log.changed_at > since).collect();
        changed.sort_by_key(|(_, log)| std::cmp::Reverse(log.changed_at));
        let heads = changed.iter().skip(offset as usize).take(SYNC_PAGE);
        let heads: Vec<_> = heads.map(|(id, log)| (**id, log.entries.len() as u64)).collect();
        let next = offset + SYNC_PAGE as u64;
        let more = (next as usize) < changed.len();
        let token = if more { format!("{since}:{until}:{next}") } else { until.to_string() };
        SyncPage { more, ..sample::sync_page(&token, &heads) }
    }
}

fn send_later(frame: String, after: Duration, out: mpsc::Sender<String>) {
    tokio::spawn(async move {
        tokio::time::sleep(after).await;
        let _ = out.send(frame).await;
    });
}

fn text(frame: &impl Serialize) -> String {
    serde_json::to_string(frame).unwrap()
}
