//! The web client (`web/app`) as it was built, in the binary: files by their paths, as they are and compressed. Without Node.js
//! at build time there are none.
//!
//! Deliberately absent: HTTP. Which of them is sent, and with which headers, is said in `server/src/http/web.rs`.

/// A file of the web client.
#[derive(Debug)]
pub struct Asset {
    /// Without a slash at its beginning.
    pub path: &'static str,
    pub content_type: &'static str,
    /// Another one for other content: an HTTP entity tag, with its quotes.
    pub tag: &'static str,
    /// What is under this path never changes.
    pub is_immutable: bool,
    pub plain: &'static [u8],
    pub gzip: Option<&'static [u8]>,
    pub brotli: Option<&'static [u8]>,
}

/// All of them.
pub static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The page itself, if the web client was built.
pub const INDEX: &str = "index.html";
