//! The schemas of every command and its reply.

use godwit_protocol::socket::bodies;
use godwit_protocol::socket_commands;

use super::{Command, Schemas};

macro_rules! describe {
    ($($name:ident: $variant:ident($body:ident) -> $reply:ident, $kind:ident, $when:ident, $summary:literal;)+) => {
        pub(super) fn all(schemas: &mut Schemas) -> Vec<Command> {
            vec![$(Command::new::<bodies::$body, bodies::$reply>(schemas, stringify!($name), $summary)),+]
        }
    };
}

socket_commands!(describe);
