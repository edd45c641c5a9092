//! Who loses what waits for them, when all of it together is too much.

use std::collections::BinaryHeap;

/// What waits for one reader.
#[derive(Debug)]
pub struct Waiting<O, R> {
    /// Whose reader it is. Readers of one owner count together.
    pub owner: O,
    pub bytes: usize,
    pub reader: R,
}

/// Chooses readers until `excess` bytes are freed: again and again the largest one of the owner who holds most, and of equal
/// owners the last. Many small readers of one owner go before the large one of another, so nobody gets others disconnected
/// by holding much in small pieces.
pub fn heaviest<O: Ord, R>(mut waiting: Vec<Waiting<O, R>>, mut excess: usize) -> Vec<R> {
    waiting.sort_by(|one, other| (&one.owner, one.bytes).cmp(&(&other.owner, other.bytes)));
    let mut owners: Vec<Vec<(usize, R)>> = Vec::new();
    let mut last = None;
    for Waiting { owner, bytes, reader } in waiting {
        match owners.last_mut() {
            Some(readers) if last.as_ref() == Some(&owner) => readers.push((bytes, reader)),
            _ => owners.push(vec![(bytes, reader)]),
        }
        last = Some(owner);
    }
    let sum = |readers: &[(usize, R)]| readers.iter().map(|(bytes, _)| bytes).sum::<usize>();
    let mut heap: BinaryHeap<(usize, usize)> =
        owners.iter().enumerate().map(|(index, readers)| (sum(readers), index)).collect();
    let mut chosen = Vec::new();
    while excess > 0
        && let Some((held, index)) = heap.pop()
    {
        let Some((bytes, reader)) = owners[index].pop() else { continue };
        chosen.push(reader);
        heap.push((held - bytes, index));
        excess = excess.saturating_sub(bytes);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(waiting: &[(u64, usize)], excess: usize) -> Vec<usize> {
        let readers = waiting.iter().enumerate();
        let waiting = readers.map(|(reader, &(owner, bytes))| Waiting { owner, bytes, reader });
        heaviest(waiting.collect(), excess)
    }

    #[test]
    fn readers_of_one_owner_count_together() {
        let waiting = [(1, 260), (2, 200), (2, 210), (3, 250), (2, 190)];
        assert_eq!(chosen(&waiting, 0), [] as [usize; 0]);
        assert_eq!(chosen(&waiting, 1), [2], "the largest one of the owner with most");
        assert_eq!(chosen(&waiting, 300), [2, 1]);
        // The second owner now has as little as the others.
        assert_eq!(chosen(&waiting, 500), [2, 1, 0]);
        assert_eq!(chosen(&waiting, 10_000), [2, 1, 0, 3, 4], "all there are");
    }

    #[test]
    fn of_equal_owners_the_last_one_goes_first() {
        assert_eq!(chosen(&[(1, 10), (3, 10), (2, 10)], 15), [1, 2]);
    }
}
