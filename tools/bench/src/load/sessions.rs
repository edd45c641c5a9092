//! Users on their sockets: sign-in, and joining of conversations.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::figures::Latencies;
use crate::messenger::{Done, Messenger};
use crate::progress;
use crate::wire::{Net, Receiver};

/// Concurrent handshakes; a server may refuse more from one address.
const HANDSHAKES_MAX: usize = 256;
/// Users who join conversations concurrently, which is more work than signing in.
const JOINING_MAX: usize = 64;
/// The time without progress after which the run fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// The sockets of a run, and their messenger. User `n` is on connection `n`.
pub(crate) struct Sessions<M> {
    pub(crate) net: Net,
    pub(crate) messenger: M,
}

impl<M: Messenger> Sessions<M> {
    /// With room for connections with numbers below `connections`.
    pub(crate) fn new(messenger: M, connections: usize) -> anyhow::Result<Self> {
        Ok(Self { net: Net::new(connections)?, messenger })
    }

    /// Connects users and signs them in, and returns how long that took.
    pub(crate) fn sign_in(&mut self, users: Range<u32>, done: &progress::Done) -> anyhow::Result<Connected> {
        self.connect(users, HANDSHAKES_MAX, done, M::sign_in)
    }

    /// Connects users, this many concurrently, and runs `dialogue` with each, which is called like [`Messenger::sign_in`].
    pub(crate) fn connect(
        &mut self,
        users: Range<u32>,
        at_once: usize,
        done: &progress::Done,
        dialogue: impl FnMut(&mut M, u32, Option<&[u8]>, &mut Vec<u8>) -> anyhow::Result<Done>,
    ) -> anyhow::Result<Connected> {
        let began_ns = self.net.now_ns();
        let mut connecting = Connecting {
            messenger: &mut self.messenger,
            dialogue,
            first: users.start,
            began_ns: vec![None; users.len()],
            waiting: users.clone(),
            connected: 0,
            latencies: Latencies::new(),
            reply: Vec::new(),
        };
        for _ in 0..at_once {
            connecting.connect_next(&mut self.net)?;
        }
        let mut watch = Watch::start(&self.net);
        while connecting.connected < users.len() {
            let before = connecting.connected;
            self.net.poll(watch.until_ns(), &mut connecting)?;
            done.add(connecting.connected - before);
            watch.look(&self.net, connecting.connected > before).context("signing in")?;
        }
        let latencies = connecting.latencies;
        Ok(Connected { took: Duration::from_nanos(self.net.now_ns() - began_ns), latencies })
    }

    /// Cuts the connections of users without a close frame, as a network failure does.
    pub(crate) fn cut_off(&mut self, users: Range<u32>) {
        users.for_each(|user| self.net.close(user));
    }

    /// Creates conversations with these members, and returns their numbers.
    pub(crate) fn make_conversations(&mut self, members: &[Vec<u32>]) -> anyhow::Result<Vec<u32>> {
        let made: Vec<u32> =
            members.iter().map(|members| self.messenger.plan_conversation(members)).collect();
        self.join_all(&made, members)?;
        Ok(made)
    }

    /// Lets members join conversations, the first of each before the others. The conversations may exist already, if the
    /// sockets are new.
    pub(crate) fn join_all(&mut self, conversations: &[u32], members: &[Vec<u32>]) -> anyhow::Result<()> {
        let jobs = |of: fn(&[u32]) -> &[u32]| {
            let of_each = conversations.iter().zip(members);
            of_each.flat_map(move |(made, members)| of(members).iter().map(move |member| (*made, *member)))
        };
        self.join(jobs(|members| &members[..1]).collect())?;
        self.join(jobs(|members| &members[1..]).collect())
    }

    /// Lets users join conversations: different users concurrently, each user one conversation after the other.
    fn join(&mut self, jobs: Vec<(u32, u32)>) -> anyhow::Result<()> {
        let users = jobs.iter().map(|(_, user)| *user as usize + 1).max().unwrap_or(0);
        let mut joining = Joining {
            messenger: &mut self.messenger,
            left: jobs.len(),
            waiting: vec![VecDeque::new(); users],
            not_begun: 0..users as u32,
            reply: Vec::new(),
        };
        for (conversation, user) in jobs {
            joining.waiting[user as usize].push_back(conversation);
        }
        for _ in 0..JOINING_MAX {
            joining.begin_next(&mut self.net)?;
        }
        let mut watch = Watch::start(&self.net);
        while joining.left > 0 {
            let before = joining.left;
            self.net.poll(watch.until_ns(), &mut joining)?;
            watch.look(&self.net, joining.left < before).context("making conversations")?;
        }
        Ok(())
    }
}

/// The result of connecting users.
#[derive(Debug)]
pub(crate) struct Connected {
    pub(crate) took: Duration,
    /// From the connection to the end of the dialogue.
    pub(crate) latencies: Latencies,
}

/// Detects a lack of progress.
#[derive(Debug)]
pub(crate) struct Watch {
    until_ns: u64,
}

impl Watch {
    pub(crate) fn start(net: &Net) -> Self {
        Self { until_ns: net.now_ns() + PATIENCE.as_nanos() as u64 }
    }

    pub(crate) const fn until_ns(&self) -> u64 {
        self.until_ns
    }

    pub(crate) fn look(&mut self, net: &Net, something_happened: bool) -> anyhow::Result<()> {
        if something_happened {
            *self = Self::start(net);
        }
        ensure!(net.now_ns() < self.until_ns, "the server has made no progress for {} s", PATIENCE.as_secs());
        Ok(())
    }
}

struct Connecting<'a, M, D> {
    messenger: &'a mut M,
    dialogue: D,
    first: u32,
    /// The start time of each dialogue in progress.
    began_ns: Vec<Option<u64>>,
    /// Users who have not started yet.
    waiting: Range<u32>,
    connected: usize,
    latencies: Latencies,
    reply: Vec<u8>,
}

impl<M, D> Connecting<'_, M, D>
where
    M: Messenger,
    D: FnMut(&mut M, u32, Option<&[u8]>, &mut Vec<u8>) -> anyhow::Result<Done>,
{
    fn connect_next(&mut self, net: &mut Net) -> anyhow::Result<()> {
        let Some(user) = self.waiting.next() else { return Ok(()) };
        let (path, headers) = self.messenger.handshake(user)?;
        self.began_ns[(user - self.first) as usize] = Some(net.now_ns());
        net.open_socket(user, self.messenger.address(), &path, &headers)
    }

    fn began_ns(&mut self, user: u32) -> Option<&mut Option<u64>> {
        self.began_ns.get_mut(user.checked_sub(self.first)? as usize)
    }

    fn go_on(&mut self, net: &mut Net, user: u32, frame: Option<&[u8]>) -> anyhow::Result<()> {
        self.reply.clear();
        let done = (self.dialogue)(self.messenger, user, frame, &mut self.reply)?;
        write(net, user, &self.reply);
        if done == Done::Yes
            && let Some(began_ns) = self.began_ns(user).and_then(Option::take)
        {
            self.connected += 1;
            self.latencies.record(Duration::from_nanos(net.arrived_ns().saturating_sub(began_ns)));
            self.connect_next(net)?;
        }
        Ok(())
    }
}

impl<M, D> Receiver for Connecting<'_, M, D>
where
    M: Messenger,
    D: FnMut(&mut M, u32, Option<&[u8]>, &mut Vec<u8>) -> anyhow::Result<Done>,
{
    fn opened(&mut self, net: &mut Net, user: u32) -> anyhow::Result<()> {
        self.go_on(net, user, None)
    }

    fn frame(&mut self, net: &mut Net, user: u32, frame: &[u8]) -> anyhow::Result<()> {
        match self.began_ns(user) {
            Some(Some(_)) => self.go_on(net, user, Some(frame)),
            _ => pass(self.messenger, net, user, frame, &mut self.reply),
        }
    }
}

struct Joining<'a, M> {
    messenger: &'a mut M,
    left: usize,
    /// For each user, the remaining conversations, the current one first.
    waiting: Vec<VecDeque<u32>>,
    /// Users who wait until others are done.
    not_begun: Range<u32>,
    reply: Vec<u8>,
}

impl<M: Messenger> Joining<'_, M> {
    /// Starts the next users, until one has to be waited for.
    fn begin_next(&mut self, net: &mut Net) -> anyhow::Result<()> {
        while let Some(user) = self.not_begun.next() {
            if self.begin(net, user)? == Done::NotYet {
                break;
            }
        }
        Ok(())
    }

    /// Continues with the next conversation of a user, until a reply has to be waited for.
    fn begin(&mut self, net: &mut Net, user: u32) -> anyhow::Result<Done> {
        while let Some(conversation) = self.waiting[user as usize].front().copied() {
            if self.go_on(net, conversation, user, None)? == Done::NotYet {
                return Ok(Done::NotYet);
            }
        }
        Ok(Done::Yes)
    }

    fn go_on(
        &mut self,
        net: &mut Net,
        conversation: u32,
        user: u32,
        frame: Option<&[u8]>,
    ) -> anyhow::Result<Done> {
        self.reply.clear();
        let done = self.messenger.join(conversation, user, frame, &mut self.reply)?;
        write(net, user, &self.reply);
        if done == Done::Yes {
            self.waiting[user as usize].pop_front();
            self.left -= 1;
        }
        Ok(done)
    }
}

impl<M: Messenger> Receiver for Joining<'_, M> {
    fn frame(&mut self, net: &mut Net, user: u32, frame: &[u8]) -> anyhow::Result<()> {
        match self.waiting.get(user as usize).and_then(|waiting| waiting.front().copied()) {
            Some(conversation) => match self.go_on(net, conversation, user, Some(frame))? {
                Done::Yes if self.begin(net, user)? == Done::Yes => self.begin_next(net),
                Done::Yes | Done::NotYet => Ok(()),
            },
            None => pass(self.messenger, net, user, frame, &mut self.reply),
        }
    }
}

/// An unexpected frame: the server may still need an answer, or report an error.
fn pass<M: Messenger>(
    messenger: &mut M,
    net: &mut Net,
    user: u32,
    frame: &[u8],
    reply: &mut Vec<u8>,
) -> anyhow::Result<()> {
    reply.clear();
    messenger.read(user, frame, reply, &mut |_| {})?;
    write(net, user, reply);
    Ok(())
}

/// Writes, unless there are no bytes.
pub(crate) fn write(net: &mut Net, user: u32, bytes: &[u8]) {
    if !bytes.is_empty() {
        net.out(user).extend_from_slice(bytes);
    }
}
