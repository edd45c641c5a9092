//! The plan: conversations, senders, rates and times, with the skew of real people.

use std::collections::BTreeSet;
use std::f64::consts::PI;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

/// The share of direct conversations; the others are groups.
const PAIRS_SHARE: f64 = 0.7;
const GROUP_MEMBERS_MIN: usize = 3;
const GROUP_MEMBERS_MAX: usize = 500;
/// The share of groups with more than `n` members falls with `n` to this power.
const GROUP_TAIL: f64 = 1.2;
/// In a group, a few members send most messages.
pub(super) const TALKERS_MAX: usize = 8;
/// The rate at night, as a share of the peak.
const NIGHT_SHARE: f64 = 0.1;
const NS_PER_SECOND: f64 = 1e9;

/// A conversation and its senders, the creator first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chat {
    pub(super) members: Vec<u32>,
    pub(super) talkers: usize,
}

/// Picks numbers with a Zipf distribution: the second half as often as the first, the third a third as often, and so on.
#[derive(Debug)]
pub(super) struct Uneven {
    /// The cumulative share up to each number.
    shares: Vec<f64>,
}

/// The send rate over a day.
#[derive(Debug)]
pub(super) struct Day {
    /// Messages per second at the peak.
    pub(super) peak: f64,
    pub(super) length_ns: u64,
}

impl Uneven {
    pub(super) fn of(count: usize) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=count)
            .map(|place| {
                sum += 1.0 / place as f64;
                sum
            })
            .collect();
        Self { shares: sums.into_iter().map(|up_to| up_to / sum).collect() }
    }

    pub(super) fn pick(&self, random: &mut SmallRng) -> usize {
        let share: f64 = random.random();
        self.shares.partition_point(|up_to| *up_to < share).min(self.shares.len() - 1)
    }
}

impl Day {
    /// Messages per second at a time of the day; days repeat.
    pub(super) fn rate(&self, at_ns: u64) -> f64 {
        let of_day = (at_ns % self.length_ns) as f64 / self.length_ns as f64;
        self.peak * (NIGHT_SHARE + (1.0 - NIGHT_SHARE) * (PI * of_day).sin().powi(2))
    }

    /// The random pause before the next message (a Poisson process).
    pub(super) fn pause_ns(&self, at_ns: u64, random: &mut SmallRng) -> u64 {
        let share: f64 = random.random();
        (-(1.0 - share).ln() / self.rate(at_ns) * NS_PER_SECOND) as u64
    }
}

/// The conversations. The same seed gives the same plan. Some users are in far more conversations than others.
pub(super) fn chats(users: u32, count: u32, seed: u64) -> Vec<Chat> {
    let mut random = SmallRng::seed_from_u64(seed);
    let popular = Uneven::of(users as usize);
    let mut pairs = BTreeSet::new();
    let mut chat = || {
        let size = if random.random_bool(PAIRS_SHARE) { 2 } else { group_size(&mut random) };
        let mut members = pick_members(size.min(users as usize), &popular, users, &mut random);
        // Two people have one conversation: for a repeated pair, a third member joins.
        if let [one, other] = members[..]
            && !pairs.insert((one.min(other), one.max(other)))
        {
            members.extend((0..users).find(|user| !members.contains(user)));
        }
        Chat { talkers: members.len().min(TALKERS_MAX), members }
    };
    (0..count).map(|_| chat()).collect()
}

fn group_size(random: &mut SmallRng) -> usize {
    let share: f64 = random.random();
    let size = GROUP_MEMBERS_MIN as f64 * (1.0 - share).powf(-1.0 / GROUP_TAIL);
    (size as usize).min(GROUP_MEMBERS_MAX)
}

/// One popular user, and others.
fn pick_members(size: usize, popular: &Uneven, users: u32, random: &mut SmallRng) -> Vec<u32> {
    let mut members = vec![popular.pick(random) as u32];
    while members.len() < size {
        let other = random.random_range(0..users);
        if !members.contains(&other) {
            members.push(other);
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_numbers_are_picked_often() {
        let (uneven, mut random) = (Uneven::of(100), SmallRng::seed_from_u64(1));
        let mut counts = vec![0; 100];
        (0..10_000).for_each(|_| counts[uneven.pick(&mut random)] += 1);
        assert!(counts[0] > 1_500 && counts[0] < 2_400, "{counts:?}");
        assert!(counts[50..].iter().sum::<i32>() < 2_000, "{counts:?}");
    }

    #[test]
    fn chats_are_of_all_sizes_and_the_same_for_the_same_seed() {
        let planned = chats(2_000, 1_000, 7);
        assert_eq!(planned, chats(2_000, 1_000, 7));
        assert_ne!(planned, chats(2_000, 1_000, 8));
        let sizes: Vec<usize> = planned.iter().map(|chat| chat.members.len()).collect();
        let pairs = sizes.iter().filter(|size| **size == 2).count();
        assert!((550..800).contains(&pairs), "{pairs} pairs");
        assert!(sizes.iter().any(|size| *size > 50) && sizes.iter().all(|size| *size <= GROUP_MEMBERS_MAX));
        for Chat { members, talkers } in &planned {
            assert_eq!(members.iter().collect::<BTreeSet<_>>().len(), members.len(), "nobody is in it twice");
            assert!((2..=TALKERS_MAX).contains(talkers));
        }
    }

    #[test]
    fn no_two_pairs_are_the_same_even_among_few() {
        let planned = chats(3, 20, 7);
        let pairs = planned.iter().filter(|chat| chat.members.len() == 2).count();
        assert!(planned.len() == 20 && pairs <= 3, "{planned:?}");
    }

    #[test]
    fn the_rate_falls_at_night() {
        let day = Day { peak: 100.0, length_ns: 1_000 };
        let rates = [0, 250, 500, 1_000, 1_500].map(|at_ns| day.rate(at_ns).round());
        assert_eq!(rates, [10.0, 55.0, 100.0, 10.0, 100.0]);
        let mut random = SmallRng::seed_from_u64(1);
        let pauses: u64 = (0..10_000).map(|_| day.pause_ns(500, &mut random)).sum();
        let per_second = 10_000.0 / (pauses as f64 / 1e9);
        assert!((95.0..105.0).contains(&per_second), "{per_second}");
    }
}
