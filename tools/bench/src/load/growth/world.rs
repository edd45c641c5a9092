//! The users and conversations of a growth run.

use std::ops::Range;

use super::Arguments;
use crate::load::closed_loop::ClosedLoop;
use crate::load::run::Stage;
use crate::load::sessions::Sessions;
use crate::load::traffic::Traffic;
use crate::messenger::godwit::Godwit;
use crate::numbers::thousands;
use crate::progress::Done;

/// Writers in [`World::of_pairs`]: each writes to each reader, so that every reader has a full list.
const WRITERS: u32 = 10;
const READERS: u32 = 2;
/// Messages in flight per conversation while it is filled.
const WINDOW: usize = 64;

/// Users and their conversations. Nobody is signed in between two operations, so that no heartbeat waits for an answer.
pub(super) struct World {
    pub(super) talking: ClosedLoop<Godwit>,
    pub(super) users: u32,
    /// The users who list their conversations and return.
    pub(super) readers: Range<u32>,
    /// Members of each conversation. The first one is the only sender, on the stream with the number of the conversation.
    pub(super) members: Vec<Vec<u32>>,
}

impl World {
    pub(super) fn new(
        arguments: &Arguments,
        stage: &Stage,
        users: u32,
        readers: Range<u32>,
    ) -> anyhow::Result<Self> {
        let sessions = Sessions::new(stage.godwit(users).reading_over_http(true), users as usize)?;
        let talking = ClosedLoop::new(sessions, Traffic::new(arguments.text_bytes), Vec::new());
        Ok(Self { talking, users, readers, members: Vec::new() })
    }

    /// Writers and readers, with two members per conversation.
    pub(super) fn of_pairs(arguments: &Arguments, stage: &Stage) -> anyhow::Result<Self> {
        let readers = WRITERS..WRITERS + READERS;
        let members = readers.clone().flat_map(|reader| (0..WRITERS).map(move |writer| vec![writer, reader]));
        let mut world = Self::new(arguments, stage, WRITERS + READERS, readers)?;
        world.add_conversations(members.collect(), WINDOW)?;
        Ok(world)
    }

    /// Adds conversations, with this many messages in flight at once.
    pub(super) fn add_conversations(&mut self, members: Vec<Vec<u32>>, window: usize) -> anyhow::Result<()> {
        self.come()?;
        let (sessions, traffic, streams) = self.talking.parts();
        let made = sessions.make_conversations(&members)?;
        for (conversation, members) in made.into_iter().zip(&members) {
            streams.extend(traffic.add_conversation(conversation, members, &members[..1], window));
        }
        self.members.extend(members);
        self.go();
        Ok(())
    }

    /// Writes until every conversation has this many messages.
    pub(super) fn fill(&mut self, stage: &Stage, each: u32) -> anyhow::Result<()> {
        let messages = each as usize * self.members.len();
        let step = stage.step(format!("writing up to {} messages", thousands(messages)));
        self.come()?;
        stage.judge(self.talking.write_up_to(each, &step.done())?)?;
        self.go();
        Ok(())
    }

    /// The total number of messages sent.
    pub(super) fn messages(&mut self) -> u64 {
        let (_, traffic, streams) = self.talking.parts();
        streams.iter().map(|stream| u64::from(traffic.sent(*stream))).sum()
    }

    /// The first conversation of a user.
    pub(super) fn conversation_of(&self, user: u32) -> Option<u32> {
        self.members.iter().position(|members| members.contains(&user)).map(|place| place as u32)
    }

    /// Signs all users in.
    pub(super) fn come(&mut self) -> anyhow::Result<()> {
        self.talking.sessions().sign_in(0..self.users, &Done::default())?;
        Ok(())
    }

    pub(super) fn go(&mut self) {
        self.talking.sessions().cut_off(0..self.users);
    }
}
