//! The size on disk, and the recovery of the server after a kill under load: its duration and its completeness.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;
use godwit_protocol::limits::PAGE_MAX;
use serde_json::json;

use super::probe::settle;
use super::world::World;
use crate::figures::Value;
use crate::load::report::Report;
use crate::load::requests;
use crate::load::run::{Load as _, Stage, run_for};
use crate::load::sessions::Watch;
use crate::messenger::godwit::Godwit;
use crate::messenger::{Done, History as _, Messenger as _};
use crate::progress;
use crate::wire::{Net, Receiver};

/// The duration of the load before the kill.
const LOAD_SECONDS: f64 = 2.0;
const READY_MAX: Duration = Duration::from_secs(120);
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// In a world of pairs, the first entry of a conversation is the only one that is not a message.
pub(super) fn measure(stage: &mut Stage, world: &mut World) -> anyhow::Result<Report> {
    settle(stage);
    let messages = world.messages();
    let disk_bytes = stage.server.disk_bytes()?;

    let step = stage.step("killing the server under load");
    world.come()?;
    let (_, traffic, _) = world.talking.parts();
    traffic.start_over();
    world.talking.begin()?;
    run_for(&mut world.talking, LOAD_SECONDS.min(stage.seconds), &step.done())?;
    stage.server.kill();
    world.go();
    drop(step);

    let step = stage.step("restarting the server");
    let began = Instant::now();
    stage.server.start_again()?;
    while !stage.server.is_ready() {
        ensure!(began.elapsed() < READY_MAX, "the server was not ready within {} s", READY_MAX.as_secs());
        thread::sleep(LOOK_INTERVAL);
    }
    let took = began.elapsed();
    drop(step);

    let promised: u64 = promises(world).iter().map(|promised| u64::from(*promised)).sum();
    let step = stage.step("reading all messages");
    let kept = read_all(stage, world, &step.done())?;

    let mut report = Report::new("growth-crash", "godwit", json!({ "messages": messages }));
    report.add("messages", Value::Number(messages as f64));
    if let Some(bytes) = disk_bytes {
        report.add("on the disk", Value::Bytes(bytes as f64));
        report.add("on the disk a message", Value::Bytes(bytes as f64 / messages as f64));
    }
    report.add("acknowledged before the crash", Value::Number(promised as f64));
    report.add("there after the crash", Value::Number(kept as f64));
    report.add("ready again after", Value::Time(took));
    Ok(report)
}

/// The number of messages that each conversation must have.
fn promises(world: &mut World) -> Vec<u32> {
    let (_, traffic, streams) = world.talking.parts();
    streams.iter().map(|stream| traffic.promised(*stream)).collect()
}

/// Reads every conversation from its end to its beginning. It must have every message up to the last one, and at least up to
/// the last acknowledged one.
fn read_all(stage: &Stage, world: &mut World, done: &progress::Done) -> anyhow::Result<u64> {
    let (server, promised) = (stage.server.address(), promises(world));
    let messenger = &mut world.talking.sessions().messenger;
    messenger.move_to(server);
    let mut net = requests::connect(server, promised.len() as u32)?;
    let left = promised.len();
    let mut reading =
        Reading { messenger, members: &world.members, promised, lowest: vec![None; left], left, kept: 0 };
    for conversation in 0..left as u32 {
        reading.ask(&mut net, conversation)?;
    }
    let mut watch = Watch::start(&net);
    while reading.left > 0 {
        let kept = reading.kept;
        net.poll(watch.until_ns(), &mut reading)?;
        done.add((reading.kept - kept) as usize);
        watch.look(&net, reading.kept > kept)?;
    }
    Ok(reading.kept)
}

/// Each conversation is read on the connection with its number.
struct Reading<'a> {
    messenger: &'a mut Godwit,
    members: &'a [Vec<u32>],
    promised: Vec<u32>,
    /// For each conversation, the first message that was read: the one before it is next.
    lowest: Vec<Option<u32>>,
    /// Conversations that are not read to their beginning yet.
    left: usize,
    kept: u64,
}

impl Reading<'_> {
    fn ask(&mut self, net: &mut Net, conversation: u32) -> anyhow::Result<()> {
        // The position of a message is its number plus one.
        let before = self.lowest[conversation as usize].map(|lowest| u64::from(lowest) + 1);
        let member = self.members[conversation as usize][0];
        let out = net.out(conversation);
        self.messenger.ask_page(conversation, member, before, u32::from(PAGE_MAX), out)
    }
}

impl Receiver for Reading<'_> {
    fn answer(&mut self, net: &mut Net, conversation: u32, status: u16, body: &[u8]) -> anyhow::Result<()> {
        let mut numbers = Vec::with_capacity(usize::from(PAGE_MAX));
        let page =
            self.messenger.read_page(conversation, Some(status), body, &mut Vec::new(), &mut |stamp| {
                numbers.push(stamp.number);
            })?;
        debug_assert_eq!(page, Done::Yes, "a page over HTTP is complete");
        numbers.sort_unstable();
        let promised = self.promised[conversation as usize];
        let lowest = &mut self.lowest[conversation as usize];
        let last = lowest.map_or_else(|| numbers.last().copied().unwrap_or(0), |lowest| lowest - 1);
        ensure!(
            lowest.is_some() || last >= promised,
            "no result, because {promised} messages were acknowledged and {last} are there after a crash"
        );
        let first = (last + 1).saturating_sub(numbers.len() as u32);
        ensure!(
            numbers.iter().copied().eq(first..=last) && !numbers.is_empty(),
            "no result, because messages before {last} are missing after a crash"
        );
        *lowest = Some(first);
        self.kept += numbers.len() as u64;
        if first > 1 {
            return self.ask(net, conversation);
        }
        self.left -= 1;
        Ok(())
    }
}
