//! Tests whether a messenger keeps acknowledged messages: it is killed right after the last acknowledgement and restarted;
//! then its history must be complete.

use std::collections::BTreeSet;

use anyhow::ensure;
use serde_json::json;

use crate::figures::Value;
use crate::load::closed_loop::ClosedLoop;
use crate::load::pairs::talk;
use crate::load::report::Report;
use crate::load::run::Stage;
use crate::load::sessions::{Sessions, Watch, write};
use crate::load::traffic::Traffic;
use crate::messenger::{Done, History};
use crate::wire::{Net, Receiver};

const PAIRS: u32 = 10;
pub(super) const USERS: u32 = 2 * PAIRS;
/// Messages per conversation. They fit on a page.
const MESSAGES: u32 = 40;
const WINDOW: usize = 8;
const TEXT_BYTES: usize = 200;

pub(super) fn check<M: History>(stage: &mut Stage, messenger: M) -> anyhow::Result<Report> {
    let mut sessions = stage.sign_in(messenger, USERS)?;
    let mut traffic = Traffic::new(TEXT_BYTES);
    let streams = talk(&mut sessions, &mut traffic, PAIRS, false, WINDOW)?;
    let mut writing = ClosedLoop::new(sessions, traffic, streams);
    let step = stage.step("writing messages");
    stage.judge(writing.write_up_to(MESSAGES, &step.done())?)?;
    drop(step);

    let _step = stage.step("killing the server, and counting the stored messages");
    stage.server.start_again()?;
    let mut messenger = writing.into_messenger();
    messenger.move_to(stage.server.address());
    let name = messenger.name();
    let kept: usize = read_all(stage, messenger)?.iter().map(BTreeSet::len).sum();
    let acknowledged = (PAIRS * MESSAGES) as usize;
    ensure!(
        kept == acknowledged,
        "it acknowledged {acknowledged} messages, but only {kept} remain after a crash"
    );
    let mut report = Report::new("durable", name, json!({ "messages": acknowledged }));
    report.add("kept", Value::Number(kept as f64));
    Ok(report)
}

/// The message numbers in each conversation.
fn read_all<M: History>(stage: &Stage, messenger: M) -> anyhow::Result<Vec<BTreeSet<u32>>> {
    let pages_at = messenger.pages_at();
    let mut sessions = match pages_at {
        Some(_) => Sessions::new(messenger, USERS as usize)?,
        None => {
            let mut sessions = stage.sign_in_again(messenger, USERS)?;
            let pairs: Vec<Vec<u32>> = (0..PAIRS).map(|pair| vec![2 * pair, 2 * pair + 1]).collect();
            sessions.join_all(&(0..PAIRS).collect::<Vec<_>>(), &pairs)?;
            sessions
        }
    };
    let Sessions { net, messenger } = &mut sessions;
    for conversation in 0..PAIRS {
        let user = 2 * conversation;
        if let Some(server) = pages_at {
            net.open_http(user, server)?;
        }
        messenger.ask_newest(conversation, user, MESSAGES, net.out(user))?;
    }
    let kept = vec![BTreeSet::new(); PAIRS as usize];
    let mut reading = Reading { messenger, kept, left: PAIRS, reply: Vec::new() };
    let mut watch = Watch::start(net);
    while reading.left > 0 {
        let left = reading.left;
        net.poll(watch.until_ns(), &mut reading)?;
        watch.look(net, reading.left < left)?;
    }
    Ok(reading.kept)
}

struct Reading<'a, M> {
    messenger: &'a mut M,
    kept: Vec<BTreeSet<u32>>,
    /// Pages that have not arrived yet.
    left: u32,
    reply: Vec<u8>,
}

impl<M: History> Reading<'_, M> {
    fn take(&mut self, net: &mut Net, user: u32, status: Option<u16>, came: &[u8]) -> anyhow::Result<()> {
        self.reply.clear();
        let kept = &mut self.kept[user as usize / 2];
        let each = &mut |stamp: crate::messenger::stamp::Stamp| {
            kept.insert(stamp.number);
        };
        if self.messenger.read_page(user, status, came, &mut self.reply, each)? == Done::Yes {
            self.left -= 1;
        }
        write(net, user, &self.reply);
        Ok(())
    }
}

impl<M: History> Receiver for Reading<'_, M> {
    fn frame(&mut self, net: &mut Net, user: u32, frame: &[u8]) -> anyhow::Result<()> {
        self.take(net, user, None, frame)
    }

    fn answer(&mut self, net: &mut Net, user: u32, status: u16, body: &[u8]) -> anyhow::Result<()> {
        self.take(net, user, Some(status), body)
    }
}
