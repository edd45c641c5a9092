//! The schemas of every event.

use godwit_protocol::people::User;
use godwit_protocol::socket::{
    CatchUp, CursorEvent, EntryEvent, EntryOmitted, Hello, PresenceEvent, Reconnect, TypingEvent,
};
use godwit_protocol::socket_events;
use godwit_protocol::sync::AccountEntry;

use super::{Event, Schemas};

macro_rules! describe {
    ($($name:ident: $variant:ident($body:ident), $summary:literal;)+) => {
        pub(super) fn all(schemas: &mut Schemas) -> Vec<Event> {
            vec![$(Event::new::<$body>(schemas, stringify!($name), $summary)),+]
        }
    };
}

socket_events!(describe);
