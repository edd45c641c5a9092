//! `godwit-bench resume`: many clients return at once and catch up.

use anyhow::{Context, bail, ensure};
use clap::Args;
use godwit_protocol::socket::{Command, CommandFrame, OkFrame, ReadLog, Sync};
use godwit_protocol::sync::SyncPage;
use godwit_protocol::{ConversationId, Seq};
use memchr::memmem;
use serde_json::json;

use super::closed_loop::ClosedLoop;
use super::report::Report;
use super::run::{self, Common, Spent, Stage};
use super::sessions::{Connected, Sessions};
use super::traffic::Traffic;
use crate::figures::Value;
use crate::messenger::godwit::Godwit;
use crate::messenger::stamp::Stamp;
use crate::messenger::{Done, Messenger as _};
use crate::numbers::thousands;
use crate::wire::frame::{self, Opcode};

/// The users who write to absent clients.
const WRITERS: u32 = 64;
const WINDOW: usize = 8;

/// Measure many clients that return at once and catch up
///
/// Clients record their position and are disconnected. Each of them gets messages while offline. Then all of them connect,
/// sign in, sync and read the missed messages, which must be complete and in order.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Number of returning clients; one run per value
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1_000], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    clients: Vec<u32>,

    /// Missed messages per client
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    missed: u32,

    /// Number of clients that return concurrently
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    at_once: u32,

    #[command(flatten)]
    common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure(stage))
}

impl Arguments {
    pub(super) fn measure(&self, stage: &Stage) -> anyhow::Result<Vec<Report>> {
        self.clients.iter().map(|clients| self.measure_herd(stage, *clients)).collect()
    }

    fn measure_herd(&self, stage: &Stage, count: u32) -> anyhow::Result<Report> {
        let users = WRITERS + count;
        let mut sessions = stage.sign_in(stage.godwit(users), users)?;
        let members: Vec<Vec<u32>> = (WRITERS..users).map(|client| vec![client % WRITERS, client]).collect();
        let conversations = sessions.make_conversations(&members)?;
        let ids = conversations.iter().map(|conversation| sessions.messenger.conversation_id(*conversation));
        let mut clients: Vec<Client> =
            ids.map(|id| Ok(Client::new(id?, 0))).collect::<anyhow::Result<_>>()?;
        sessions.cut_off(WRITERS..users);
        self.visit(stage, &mut sessions, &mut clients, "recording the positions of all clients", 0)?;
        sessions.cut_off(WRITERS..users);
        let mut writing = self.write(stage, sessions, &conversations)?;

        let before = stage.sample()?;
        let what = format!("{} clients return", thousands(count as usize));
        let Connected { took, latencies } =
            self.visit(stage, writing.sessions(), &mut clients, &what, self.missed)?;
        let spent = Spent { seconds: took.as_secs_f64(), before, after: stage.sample()? };

        let parameters = json!({
            "clients": count,
            "missed": self.missed,
            "at_once": self.at_once,
            "text_bytes": self.common.text_bytes,
        });
        let mut report = Report::new("resume", "godwit", parameters);
        report.add("clients", Value::Number(f64::from(count)));
        report.add("all are back after", Value::Time(took));
        report.add_rate("clients/s", u64::from(count), &spent);
        report.add_latencies("back", &latencies);
        report.add_usage("client", &spent, u64::from(count));
        Ok(report)
    }

    /// Lets all clients connect and catch up. Each of them must find this many messages.
    fn visit(
        &self,
        stage: &Stage,
        sessions: &mut Sessions<Godwit>,
        clients: &mut [Client],
        what: &str,
        missed: u32,
    ) -> anyhow::Result<Connected> {
        let users = WRITERS..WRITERS + clients.len() as u32;
        let step = stage.step(what);
        sessions.connect(users, self.at_once as usize, &step.done(), |messenger, user, frame, out| {
            clients[(user - WRITERS) as usize].go_on(messenger, user, frame, missed, out)
        })
    }

    /// Writes to all clients while they are offline.
    fn write(
        &self,
        stage: &Stage,
        sessions: Sessions<Godwit>,
        conversations: &[u32],
    ) -> anyhow::Result<ClosedLoop<Godwit>> {
        let messages = conversations.len() * self.missed as usize;
        let step = stage.step(format!("writing {} messages", thousands(messages)));
        let mut traffic = Traffic::new(self.common.text_bytes);
        let streams = conversations.iter().zip(WRITERS..).flat_map(|(conversation, client)| {
            let writer = [client % WRITERS];
            traffic.add_conversation(*conversation, &writer, &writer, WINDOW)
        });
        let streams = streams.collect();
        let mut writing = ClosedLoop::new(sessions, traffic, streams);
        stage.judge(writing.write_up_to(self.missed, &step.done())?)?;
        Ok(writing)
    }
}

/// The state of a client.
#[derive(Debug, Clone)]
pub(super) struct Client {
    conversation: ConversationId,
    token: Option<String>,
    /// The last entry that it has seen.
    seen: Seq,
    /// Whether a sync has told it about new entries.
    is_told: bool,
    /// Messages of the conversation that it has.
    has: u32,
    /// Messages that it has found since its return.
    found: u32,
    asks: Asks,
}

/// The reply that a client waits for.
#[derive(Debug, Clone)]
enum Asks {
    Hello,
    Sync,
    Log,
}

impl Client {
    /// A client with this many messages of the conversation.
    pub(super) const fn new(conversation: ConversationId, has: u32) -> Self {
        Self { conversation, token: None, seen: Seq::ZERO, is_told: false, has, found: 0, asks: Asks::Hello }
    }

    /// Signs in, syncs and reads the missed messages, of which there must be this many. If there are none, it records its
    /// position. Called like [`Messenger::sign_in`].
    ///
    /// [`Messenger::sign_in`]: crate::messenger::Messenger::sign_in
    pub(super) fn go_on(
        &mut self,
        messenger: &mut Godwit,
        user: u32,
        frame: Option<&[u8]>,
        missed: u32,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done> {
        let Some(frame) = frame else {
            (self.asks, self.found, self.is_told) = (Asks::Hello, 0, false);
            return messenger.sign_in(user, None, out);
        };
        match self.asks {
            Asks::Hello => {
                messenger.sign_in(user, Some(frame), out)?;
                self.ask_sync(out)?;
            }
            // An event. The requested pages contain its content too.
            Asks::Sync | Asks::Log if !frame.starts_with(br#"{"id":"#) => {}
            Asks::Sync => {
                let more = self.take_sync(frame, missed)?;
                if more {
                    self.ask_sync(out)?;
                } else if missed == 0 {
                    return Ok(Done::Yes);
                } else {
                    ensure!(
                        self.is_told,
                        "no result, because a client was not told that it missed something"
                    );
                    self.ask_log(out)?;
                }
            }
            Asks::Log => {
                let more = self.take_log(frame)?;
                if !more {
                    ensure!(
                        self.found == missed,
                        "no result, because a client missed {missed} messages and found {}",
                        self.found
                    );
                    return Ok(Done::Yes);
                }
                self.ask_log(out)?;
            }
        }
        Ok(Done::NotYet)
    }

    fn ask_sync(&mut self, out: &mut Vec<u8>) -> anyhow::Result<()> {
        self.asks = Asks::Sync;
        command(Command::Sync(Sync { since: self.token.clone(), limit: None }), out)
    }

    /// Returns whether there are more pages.
    fn take_sync(&mut self, frame: &[u8], missed: u32) -> anyhow::Result<bool> {
        let refused = || format!("the server refused a sync: {}", String::from_utf8_lossy(frame));
        let OkFrame { ok: page, .. }: OkFrame<SyncPage> =
            serde_json::from_slice(frame).with_context(refused)?;
        ensure!(!page.truncated, "no result, because a sync is not complete");
        let own = page.conversations.iter().find(|listed| listed.id == self.conversation);
        match own {
            Some(own) if missed == 0 => self.seen = own.head,
            _ => self.is_told |= own.is_some_and(|own| own.head > self.seen),
        }
        self.token = Some(page.token);
        Ok(page.more)
    }

    fn ask_log(&mut self, out: &mut Vec<u8>) -> anyhow::Result<()> {
        self.asks = Asks::Log;
        let log = ReadLog { conversation_id: self.conversation, after: self.seen, limit: None };
        command(Command::Log(log), out)
    }

    /// Returns whether there are more entries. Does not parse the frame, because many clients read much at once.
    fn take_log(&mut self, frame: &[u8]) -> anyhow::Result<bool> {
        for stamp in Stamp::all(frame) {
            self.found += 1;
            ensure!(
                stamp.number == self.has + self.found,
                "no result, because a client got {} in the place of {}",
                stamp.number,
                self.has + self.found
            );
        }
        self.seen = last_seq(frame).context("a page of the log is empty")?;
        let says = |text: &str| memmem::rfind(frame, text.as_bytes()).is_some();
        if !says(r#""truncated":false"#) {
            bail!("no result, because a log is not complete: {}", String::from_utf8_lossy(frame));
        }
        Ok(says(r#""more":true"#))
    }
}

fn last_seq(page: &[u8]) -> Option<Seq> {
    const NAME: &[u8] = br#""seq":"#;
    let rest = &page[memmem::rfind(page, NAME)? + NAME.len()..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

fn command(command: Command, out: &mut Vec<u8>) -> anyhow::Result<()> {
    let text = serde_json::to_vec(&CommandFrame { id: 1, command })?;
    frame::append(out, Opcode::Text, |out| out.extend_from_slice(&text));
    Ok(())
}
