//! Every form of a record turns a value back into itself.

#[derive(Debug, Clone, PartialEq)]
struct Pin {
    message: u64,
    by: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Change {
    Pinned(Box<Pin>),
    Unpinned { message: u64 },
    Moved(u64, Direction),
    Listed(Vec<(u64, Pin)>),
    Left,
    Sent(u64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Direction {
    Up,
    Down,
}

records! {
    struct PinRecord for Pin {
        message: u64,
        by: Option<Box<str>>,
    }

    struct KeyedPinRecord<'a> for Pin, into_pin(message: u64) {
        by: Option<&'a str>,
    }

    struct PinTuple for Pin (message: u64, by: Option<Box<str>>);

    enum ChangeRecord for Change except Sent(_) {
        Pinned(pin: Box<PinRecord>),
        Off { message: u64 } = Unpinned { message },
        MovedUp(places: u64) = Moved(places, Direction::Up),
        MovedDown(places: u64) = Moved(places, Direction::Down),
        Listed(pins: Vec<(u64, PinTuple)>),
        Left,
    }

    enum KeyedChangeRecord<'a> for Choice, into_choice(message: u64) {
        #[serde(borrow)]
        One(pin: KeyedPinRecord<'a> => pin.into_pin(message)),
        None,
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Choice {
    One(Pin),
    None,
}

fn pin() -> Pin {
    Pin { message: 7, by: Some("ada".into()) }
}

#[test]
fn structs() {
    let pin = pin();
    assert_eq!(Pin::from(PinRecord::from(&pin)), pin);
    assert_eq!(Pin::from(PinTuple::from(&pin)), pin);
    let keyed = KeyedPinRecord::from(&pin);
    assert_eq!(keyed.by, Some("ada"));
    assert_eq!(keyed.into_pin(7), pin);
}

#[test]
fn enums() {
    let changes = [
        Change::Pinned(Box::new(pin())),
        Change::Unpinned { message: 7 },
        Change::Moved(2, Direction::Up),
        Change::Moved(2, Direction::Down),
        Change::Listed(vec![(1, pin())]),
        Change::Left,
    ];
    for change in changes {
        assert_eq!(Change::from(ChangeRecord::from(&change)), change);
    }
    for choice in [Choice::One(pin()), Choice::None] {
        assert_eq!(KeyedChangeRecord::from(&choice).into_choice(7), choice);
    }
}

#[test]
#[should_panic(expected = "it has a record of its own")]
fn an_excepted_variant_is_not_stored() {
    let _ = ChangeRecord::from(&Change::Sent(7));
}
