//! Activities of people besides sending.

use std::time::Duration;

use rand::RngExt as _;
use rand::rngs::SmallRng;

use crate::messenger::godwit::Godwit;
use crate::wire::Net;

/// In each round some users read, so that each user reads about once in this time.
const READING: Duration = Duration::from_secs(1);
const ROUNDS: u32 = 20;
/// The share of messages with a typing notice before.
const TYPED_SHARE: f64 = 0.3;
/// The average interval at which a user opens a conversation.
const OPENING_EVERY: Duration = Duration::from_secs(60);
/// Entries that are read when a conversation is opened.
const OPENED_ENTRIES: u64 = 50;

#[derive(Debug)]
pub(super) struct People {
    /// For each user, the last event.
    heard: Vec<Option<Heard>>,
    round: u32,
    next_ns: u64,
    commands: u64,
}

#[derive(Debug, Clone, Copy)]
struct Heard {
    conversation: u32,
    place: u64,
    is_read: bool,
}

impl People {
    pub(super) fn new(users: u32) -> Self {
        Self { heard: vec![None; users as usize], round: 0, next_ns: 0, commands: 0 }
    }

    /// The number of commands other than sends.
    pub(super) const fn commands(&self) -> u64 {
        self.commands
    }

    /// The time of the next activity.
    pub(super) const fn next_ns(&self) -> u64 {
        self.next_ns
    }

    pub(super) fn heard(&mut self, user: u32, conversation: u32, place: u64) {
        self.heard[user as usize] = Some(Heard { conversation, place, is_read: false });
    }

    /// Sends a typing notice before some messages.
    pub(super) fn type_first(
        &mut self,
        messenger: &Godwit,
        conversation: u32,
        user: u32,
        net: &mut Net,
        random: &mut SmallRng,
    ) {
        if random.random_bool(TYPED_SHARE) {
            messenger.type_in(conversation, net.out(user));
            self.commands += 1;
        }
    }

    /// Lets the users of this round read, and some of them open a conversation.
    pub(super) fn go_on(&mut self, messenger: &Godwit, net: &mut Net, random: &mut SmallRng) {
        if net.now_ns() < self.next_ns {
            return;
        }
        self.next_ns = net.now_ns() + (READING / ROUNDS).as_nanos() as u64;
        self.round = (self.round + 1) % ROUNDS;
        let opens_share = READING.as_secs_f64() / OPENING_EVERY.as_secs_f64();
        let users = (self.round as usize..self.heard.len()).step_by(ROUNDS as usize);
        for user in users {
            let Some(heard) = &mut self.heard[user] else { continue };
            let out = net.out(user as u32);
            if !heard.is_read {
                heard.is_read = true;
                messenger.mark_read(heard.conversation, heard.place, out);
                self.commands += 1;
            }
            if random.random_bool(opens_share) {
                messenger.read_log(heard.conversation, heard.place.saturating_sub(OPENED_ENTRIES), out);
                self.commands += 1;
            }
        }
    }
}
