//! `godwit-bench mixed`: a day in minutes, with all activities of people at once.
//!
//! - [`plan`]: conversations, senders, rates and times
//! - [`people`]: activities besides sending: typing, reading, opening conversations

mod people;
mod plan;

use clap::Args;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use serde_json::json;

use super::report::Report;
use super::run::{self, Common, Load, Stage};
use super::sessions::{Sessions, write};
use super::traffic::Traffic;
use crate::figures::Value;
use crate::messenger::godwit::Godwit;
use crate::messenger::{Incoming, Messenger as _};
use crate::numbers::thousands;
use crate::wire::{Net, Receiver};
use people::People;
use plan::{Chat, Day, Uneven};

/// Messages in flight per sender and conversation.
const WINDOW: usize = 32;
const SEED: u64 = 11_000;
const NS_PER_SECOND: f64 = 1e9;

/// Measure a day in minutes: many users with little traffic and few with much, in groups of all sizes
///
/// Messages are sent on a schedule, more by day than by night. Receivers read them a moment later, senders send typing notices
/// first, and users regularly open conversations and read their history.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// Number of online users
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(3..=100_000))]
    users: u32,

    /// Number of conversations
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    conversations: u32,

    /// Messages per second at the peak of the day
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    peak: u32,

    #[command(flatten)]
    common: Common,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    run::main(&arguments.common, |stage| arguments.measure(stage))
}

impl Arguments {
    pub(super) fn measure(&self, stage: &Stage) -> anyhow::Result<Vec<Report>> {
        let mut sessions = stage.sign_in(stage.godwit(self.users), self.users)?;
        let chats = plan::chats(self.users, self.conversations, SEED);
        let members: Vec<Vec<u32>> = chats.iter().map(|chat| chat.members.clone()).collect();
        let making = stage.step(format!("making {} conversations", thousands(chats.len())));
        let made = sessions.make_conversations(&members)?;
        drop(making);
        let mut load = self.day(sessions, &chats, &made);
        let spent = stage.drive(&mut load)?;

        let measured = &load.traffic.measured;
        let mut report = Report::new("mixed", "godwit", self.parameters());
        report.add("largest group", Value::Number(members.iter().map(Vec::len).max().unwrap_or(0) as f64));
        report.add_rate("sends/s", measured.acknowledged, &spent);
        report.add_rate("deliveries/s", measured.delivered, &spent);
        report.add("other commands/s", Value::PerSecond(load.people.commands() as f64 / load.seconds()));
        report.add_latencies("delivery", &measured.delivery);
        report.add_latencies("last member", &measured.last);
        report.add_latencies("ack", &measured.ack);
        report.add_usage("message", &spent, measured.acknowledged);
        Ok(vec![report])
    }

    fn day(&self, sessions: Sessions<Godwit>, chats: &[Chat], made: &[u32]) -> DayOfLoad {
        let mut traffic = Traffic::new(self.common.text_bytes);
        let streams = made.iter().zip(chats).map(|(conversation, chat)| {
            let talkers = &chat.members[..chat.talkers];
            let streams = traffic.add_conversation(*conversation, &chat.members, talkers, WINDOW);
            streams.into_iter().zip(talkers.iter().copied()).collect()
        });
        let streams: Vec<Vec<(u32, u32)>> = streams.collect();
        DayOfLoad {
            people: People::new(self.users),
            sessions,
            traffic,
            busy: Uneven::of(streams.len()),
            talkative: (0..=plan::TALKERS_MAX).map(Uneven::of).collect(),
            streams,
            day: Day { peak: f64::from(self.peak), length_ns: (self.common.seconds * NS_PER_SECOND) as u64 },
            random: SmallRng::seed_from_u64(SEED),
            began_ns: 0,
            next: None,
            reply: Vec::new(),
        }
    }

    fn parameters(&self) -> serde_json::Value {
        json!({
            "users": self.users,
            "conversations": self.conversations,
            "peak": self.peak,
            "text_bytes": self.common.text_bytes,
            "seconds": self.common.seconds,
        })
    }
}

/// The next message.
#[derive(Debug, Clone, Copy)]
struct Due {
    at_ns: u64,
    stream: u32,
    user: u32,
}

struct DayOfLoad {
    sessions: Sessions<Godwit>,
    traffic: Traffic,
    people: People,
    /// For each conversation, the streams of its senders with their users; the busiest first.
    streams: Vec<Vec<(u32, u32)>>,
    busy: Uneven,
    /// For each number of senders.
    talkative: Vec<Uneven>,
    day: Day,
    random: SmallRng,
    began_ns: u64,
    /// `None` before the day begins and after it has ended.
    next: Option<Due>,
    reply: Vec<u8>,
}

impl DayOfLoad {
    fn plan_next(&mut self, after_ns: u64) -> Due {
        let pause_ns = self.day.pause_ns(after_ns - self.began_ns, &mut self.random);
        let talkers = &self.streams[self.busy.pick(&mut self.random)];
        let (stream, user) = talkers[self.talkative[talkers.len()].pick(&mut self.random)];
        Due { at_ns: after_ns + pause_ns, stream, user }
    }

    /// Sends the due messages, as far as there is room.
    fn send_due(&mut self) {
        let now_ns = self.sessions.net.now_ns();
        while let Some(due) = self.next.filter(|due| due.at_ns <= now_ns && self.traffic.has_room(due.stream))
        {
            let Sessions { net, messenger } = &mut self.sessions;
            if let Some(conversation) = self.traffic.conversation(due.stream) {
                self.people.type_first(messenger, conversation, due.user, net, &mut self.random);
            }
            self.traffic.send(net, messenger, due.stream, due.at_ns);
            self.next = Some(self.plan_next(due.at_ns));
        }
    }

    fn seconds(&self) -> f64 {
        (self.sessions.net.now_ns() - self.began_ns) as f64 / NS_PER_SECOND
    }
}

impl Load for DayOfLoad {
    fn net(&mut self) -> &mut Net {
        &mut self.sessions.net
    }

    fn traffic(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        self.began_ns = self.sessions.net.now_ns();
        self.next = Some(self.plan_next(self.began_ns));
        Ok(())
    }

    fn poll(&mut self, until_ns: u64) -> anyhow::Result<()> {
        self.send_due();
        let Sessions { net, messenger } = &mut self.sessions;
        self.people.go_on(messenger, net, &mut self.random);
        let now_ns = net.now_ns();
        // A message that is late waits for room, which an incoming frame will make.
        let next_ns = self.next.map(|due| due.at_ns).filter(|at_ns| *at_ns > now_ns);
        let until_ns = until_ns.min(self.people.next_ns()).min(next_ns.unwrap_or(u64::MAX));
        let (traffic, people, reply) = (&mut self.traffic, &mut self.people, &mut self.reply);
        net.poll(until_ns, &mut Hearing { messenger, traffic, people, reply })
    }

    fn stop(&mut self) {
        self.next = None;
    }
}

/// Processes every frame, and records what there is to read.
struct Hearing<'a> {
    messenger: &'a mut Godwit,
    traffic: &'a mut Traffic,
    people: &'a mut People,
    reply: &'a mut Vec<u8>,
}

impl Receiver for Hearing<'_> {
    fn frame(&mut self, net: &mut Net, user: u32, frame: &[u8]) -> anyhow::Result<()> {
        self.reply.clear();
        let now_ns = net.arrived_ns();
        self.messenger.read(user, frame, self.reply, &mut |incoming| {
            self.traffic.take(user, incoming, now_ns);
            if let Incoming::Delivered { stamp, place: Some(place) } = incoming
                && let Some(conversation) = self.traffic.conversation(stamp.stream)
            {
                self.people.heard(user, conversation, place);
            }
        })?;
        write(net, user, self.reply);
        Ok(())
    }
}
