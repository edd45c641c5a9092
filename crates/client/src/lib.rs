//! The Rust client of Godwit.
//!
//! Three layers, each usable without the ones below it in this list:
//!
//! - [`Http`]: one method per route; stores the tokens and refreshes them
//! - [`Socket`]: one WebSocket connection; typed commands, many in flight, a bounded queue of events. It does not reconnect:
//!   a program with thousands of sockets decides that itself
//! - [`Live`]: a session that reconnects and resumes on its own; one ordered stream of [`Update`]s with every log entry of
//!   every conversation exactly once and without gaps, and sends that survive disconnects
//!
//! In addition: [`Draft`], a message to send, [`History`], which part of a history to read, and [`Error`].
//!
//! ```no_run
//! use godwit_client::protocol::accounts::SignIn;
//! use godwit_client::{Draft, Http, Live, LiveConfig, Update};
//!
//! # async fn example(peer: godwit_client::protocol::UserId) -> Result<(), godwit_client::Error> {
//! let http = Http::new("http://127.0.0.1:8080")?;
//! let sign_in = SignIn { handle: "ada".into(), password: "correct horse".into(), device_name: None, device_proof: None };
//! http.sign_in(&sign_in).await?;
//! let conversation = http.direct(peer).await?;
//! let (live, mut updates) = Live::start(http, LiveConfig::default());
//! live.send(conversation.id, Draft::text("hello")).await?;
//! while let Some(update) = updates.next().await {
//!     if let Update::Entry(event) = update {
//!         // Own messages arrive too. Store `updates.state()` together with the results of the entry.
//!         println!("{}: {:?}", event.conversation_id, event.entry);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//! The crate uses `godwit-protocol` and contains no rules of the server: the server decides what is allowed. It stores
//! nothing on disk. [`ResumeState`] contains everything that must outlive the process, and the application stores it where
//! it likes.

mod draft;
mod error;
mod history;
pub mod http;
pub mod live;
pub mod socket;

pub use draft::Draft;
pub use error::Error;
pub use history::History;
pub use http::{Http, HttpConfig};

pub use live::{Live, LiveConfig, ResumeState, Update, Updates};
pub use socket::{Closed, Events, Socket, SocketConfig};

pub use godwit_protocol as protocol;
