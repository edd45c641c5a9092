//! Signatures of everything that goes through Redis.
//!
//! Write access to Redis must not be enough to impersonate a server, because frames reach sockets and change what
//! nodes know of conversations. So frames and registry entries are signed with keys that only servers of the
//! installation can derive, one per purpose. A signature covers the receiver of a frame, so the frame cannot be
//! replayed in another channel. The frame itself contains its sender and a serial number, so it cannot be
//! replayed in the same channel.
//!
//! The signature is a keyed BLAKE2b, truncated to 128 bits. On processors without SHA-256 instructions it is
//! four times as fast as HMAC-SHA-256. Signed data is not encrypted.

use blake2::Blake2bMac512;
use blake2::digest::{KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::node::NodeId;

pub(crate) const TAG_BYTES: usize = 16;

pub(crate) type Tag = [u8; TAG_BYTES];

#[derive(Clone)]
pub(crate) struct Seal {
    frames: Blake2bMac512,
    nodes: Blake2bMac512,
}

impl Seal {
    /// Derives the keys from the installation's signing key and from the operator's secret.
    pub(crate) fn new(signing_key: &[u8; 32], secret: &str) -> Self {
        let shared = Sha256::new()
            .chain_update(b"godwit redis")
            .chain_update(signing_key)
            .chain_update(secret.as_bytes())
            .finalize();
        Self { frames: derived(&shared, b"frames"), nodes: derived(&shared, b"nodes") }
    }

    /// The signature of a frame to a node.
    pub(crate) fn of_frame(&self, to: NodeId, frame: &[u8]) -> Tag {
        tag(&self.frames, to, frame)
    }

    pub(crate) fn is_of_frame(&self, tag: &[u8], to: NodeId, frame: &[u8]) -> bool {
        is_tag(tag, &self.frames, to, frame)
    }

    /// The signature of a node's registry entry.
    pub(crate) fn of_node(&self, node: NodeId, entry: &[u8]) -> Tag {
        tag(&self.nodes, node, entry)
    }

    pub(crate) fn is_of_node(&self, tag: &[u8], node: NodeId, entry: &[u8]) -> bool {
        is_tag(tag, &self.nodes, node, entry)
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

fn derived(shared: &[u8], purpose: &[u8]) -> Blake2bMac512 {
    keyed(&Mac::chain_update(keyed(shared), purpose).finalize().into_bytes())
}

fn keyed(key: &[u8]) -> Blake2bMac512 {
    Blake2bMac512::new_from_slice(key).expect("BLAKE2b takes keys of up to 64 bytes")
}

fn begun(key: &Blake2bMac512, node: NodeId, bytes: &[u8]) -> Blake2bMac512 {
    Mac::chain_update(Mac::chain_update(key.clone(), node.get().to_le_bytes()), bytes)
}

fn tag(key: &Blake2bMac512, node: NodeId, bytes: &[u8]) -> Tag {
    let mut tag = Tag::default();
    tag.copy_from_slice(&begun(key, node, bytes).finalize().into_bytes()[..TAG_BYTES]);
    tag
}

fn is_tag(tag: &[u8], key: &Blake2bMac512, node: NodeId, bytes: &[u8]) -> bool {
    tag.len() == TAG_BYTES && begun(key, node, bytes).verify_truncated_left(tag).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_covers_key_purpose_node_and_text() {
        let (seal, node) = (Seal::new(&[7; 32], "secret"), NodeId::random());
        let tag = seal.of_frame(node, b"words");
        assert!(seal.is_of_frame(&tag, node, b"words"));
        assert!(!seal.is_of_frame(&tag, NodeId::random(), b"words"), "another channel");
        assert!(!seal.is_of_frame(&tag, node, b"Words"), "another text");
        assert!(!seal.is_of_node(&tag, node, b"words"), "another purpose");
        assert!(!seal.is_of_frame(&tag[..8], node, b"words") && !seal.is_of_frame(b"", node, b"words"));
        for other in [Seal::new(&[8; 32], "secret"), Seal::new(&[7; 32], "Secret"), Seal::new(&[7; 32], "")] {
            assert!(!other.is_of_frame(&tag, node, b"words"), "another key");
        }
    }

    /// Prints measurements: `cargo test --release -p godwit-cluster -- --ignored --nocapture signing`.
    #[test]
    #[ignore = "it measures, and says nothing in a debug build"]
    fn cost_of_signing() {
        let (seal, node) = (Seal::new(&[7; 32], "secret"), NodeId::random());
        for bytes in [256, 1_024, 16 * 1_024, 256 * 1_024] {
            let frame = vec![7; bytes];
            let rounds = (64 * 1_024 * 1_024 / bytes).min(200_000);
            let began = std::time::Instant::now();
            for _ in 0..rounds {
                std::hint::black_box(seal.of_frame(node, std::hint::black_box(&frame)));
            }
            let each = began.elapsed() / u32::try_from(rounds).unwrap();
            let rate = bytes as f64 / each.as_secs_f64() / 1e6;
            eprintln!("{bytes:>7} bytes: {each:?} each, {rate:.0} MB/s");
        }
    }
}
