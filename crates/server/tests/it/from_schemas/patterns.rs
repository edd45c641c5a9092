//! Regular expressions: generates texts that match, and tests texts.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use rand::RngExt;
use rand::rngs::StdRng;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// The printable ASCII characters.
const PLAIN: std::ops::RangeInclusive<char> = ' '..='~';

/// Cached: there are few patterns and many texts.
pub(super) fn parse(pattern: &str) -> Arc<Hir> {
    static PARSED: LazyLock<Mutex<HashMap<String, Arc<Hir>>>> = LazyLock::new(Mutex::default);
    let mut parsed = PARSED.lock().unwrap();
    let read = || regex_syntax::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    parsed.entry(pattern.to_owned()).or_insert_with(|| Arc::new(read())).clone()
}

/// A matching text with this many characters, or a shorter or longer one if the pattern does not allow it.
pub(super) fn sample(hir: &Hir, chars: usize, random: &mut StdRng) -> String {
    let mut spare = chars.saturating_sub(shortest(hir));
    let mut text = String::new();
    write(hir, &mut spare, random, &mut text);
    text
}

/// True if the pattern matches the whole text. Patterns without anchors match anywhere.
pub(super) fn matches(hir: &Hir, text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let anywhere = vec![true; chars.len() + 1];
    ends(hir, &chars, anywhere).contains(&true)
}

fn shortest(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => String::from_utf8_lossy(&literal.0).chars().count(),
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => repetition.min as usize * shortest(&repetition.sub),
        HirKind::Capture(capture) => shortest(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(shortest).sum(),
        HirKind::Alternation(choices) => choices.iter().map(shortest).min().unwrap_or(0),
    }
}

/// `spare` is the number of characters beyond the shortest text; the first repetition takes all it can.
fn write(hir: &Hir, spare: &mut usize, random: &mut StdRng, text: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.push(any_of(class, random)),
        HirKind::Repetition(Repetition { min, max, sub, .. }) => {
            let each = shortest(sub).max(1);
            let more = (*spare / each).min(max.map_or(usize::MAX, |max| (max - min) as usize));
            // Usually takes everything, so that limits are reached; sometimes less, so that later parts get a share.
            let more = if random.random_bool(0.7) { more } else { random.random_range(0..=more) };
            *spare -= more * each;
            for _ in 0..*min as usize + more {
                write(sub, &mut 0, random, text);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, spare, random, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, spare, random, text)),
        HirKind::Alternation(choices) => {
            write(&choices[random.random_range(0..choices.len())], spare, random, text);
        }
    }
}

fn any_of(class: &Class, random: &mut StdRng) -> char {
    let Class::Unicode(class) = class else { panic!("a class of bytes: {class:?}") };
    let contains = |c: char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&c));
    if random.random_bool(0.8) {
        let plain: Vec<char> = PLAIN.filter(|c| contains(*c)).collect();
        if !plain.is_empty() {
            return plain[random.random_range(0..plain.len())];
        }
    }
    let range = class.ranges()[random.random_range(0..class.ranges().len())];
    let (start, end) = (u32::from(range.start()), u32::from(range.end()));
    // Surrogates are not characters.
    (0..100).find_map(|_| char::from_u32(random.random_range(start..=end))).unwrap_or(range.start())
}

/// The possible ends of matches that start at one of the positions.
fn ends(hir: &Hir, chars: &[char], starts: Vec<bool>) -> Vec<bool> {
    match hir.kind() {
        HirKind::Empty => starts,
        HirKind::Look(look) => {
            let is_start = format!("{look:?}").starts_with("Start");
            let only = if is_start { 0 } else { chars.len() };
            starts.iter().enumerate().map(|(place, begun)| *begun && place == only).collect()
        }
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0).into_owned();
            text.chars().fold(starts, |places, c| step(chars, &places, |other| other == c))
        }
        HirKind::Class(class) => {
            let Class::Unicode(class) = class else { panic!("a class of bytes: {class:?}") };
            let ranges = class.ranges();
            step(chars, &starts, |c| ranges.iter().any(|range| (range.start()..=range.end()).contains(&c)))
        }
        HirKind::Repetition(repetition) => repeated(repetition, chars, starts),
        HirKind::Capture(capture) => ends(&capture.sub, chars, starts),
        HirKind::Concat(parts) => parts.iter().fold(starts, |places, part| ends(part, chars, places)),
        HirKind::Alternation(choices) => {
            let mut all = vec![false; starts.len()];
            for choice in choices {
                merge(&mut all, &ends(choice, chars, starts.clone()));
            }
            all
        }
    }
}

fn repeated(Repetition { min, max, sub, .. }: &Repetition, chars: &[char], starts: Vec<bool>) -> Vec<bool> {
    let mut places = starts;
    for _ in 0..*min {
        places = ends(sub, chars, places);
    }
    if let (None, HirKind::Class(Class::Unicode(class))) = (max, sub.kind()) {
        // One pass is enough, which matters for long texts.
        for place in 0..chars.len() {
            let goes_on = class.ranges().iter().any(|r| (r.start()..=r.end()).contains(&chars[place]));
            places[place + 1] |= places[place] && goes_on;
        }
        return places;
    }
    let mut newest = places.clone();
    for _ in 0..max.map_or(usize::MAX, |max| (max - min) as usize) {
        newest = ends(sub, chars, newest);
        if !merge(&mut places, &newest) {
            break;
        }
    }
    places
}

fn step(chars: &[char], places: &[bool], is_right: impl Fn(char) -> bool) -> Vec<bool> {
    let mut next = vec![false; places.len()];
    for (place, c) in chars.iter().enumerate() {
        next[place + 1] = places[place] && is_right(*c);
    }
    next
}

/// Returns whether `more` had new positions.
fn merge(all: &mut [bool], more: &[bool]) -> bool {
    let mut is_new = false;
    for (one, other) in all.iter_mut().zip(more) {
        is_new |= *other && !*one;
        *one |= *other;
    }
    is_new
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn generated_texts_match_their_pattern_and_others_do_not() {
        let mut random = StdRng::seed_from_u64(7);
        for (pattern, wrong) in [
            (r"^[^\u0000-\u001f]*[^\s\u0000-\u001f][^\u0000-\u001f]*$", &["", "  ", "a\u{7}"][..]),
            (r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$", &["", ".a", "a.", "a..b", "a b"]),
            (r"^app(\.[a-z0-9_]+)+$", &["app", "app.", "app.A", "xapp.a"]),
            ("^([1-9][0-9]{0,17}|[1-8][0-9]{18})$", &["0", "9000000000000000000", "1x"]),
            ("^(19[7-9][0-9]|[2-9][0-9]{3})-", &["1969-01-01", "x"]),
        ] {
            let hir = parse(pattern);
            for chars in [0, 1, 3, 50, 500] {
                let text = sample(&hir, chars, &mut random);
                assert!(matches(&hir, &text), "{pattern}: {text:?}");
            }
            for text in wrong {
                assert!(!matches(&hir, text), "{pattern}: {text:?}");
            }
        }
    }
}
