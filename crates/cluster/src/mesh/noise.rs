//! Encrypted and authenticated connections between nodes.
//!
//! The Noise protocol with a pre-shared key. Messages of any length are split into packets of the length that
//! Noise allows.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use snow::{Builder, HandshakeState, StatelessTransportState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use crate::node::{NodeId, PROTOCOL};

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"godwit nodes";
const PACKET_BYTES_MAX: usize = 65_535;
const TAG_BYTES: usize = 16;
const CONTENT_BYTES_MAX: usize = PACKET_BYTES_MAX - TAG_BYTES;
/// Messages that claim to be longer are rejected.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(2);

/// The pre-shared key.
#[derive(Clone)]
pub(crate) struct SharedKey([u8; 32]);

impl SharedKey {
    /// Derives the key from the installation's signing key and from the operator's secret.
    pub(crate) fn new(signing_key: &[u8; 32], secret: &str) -> Self {
        let digest = Sha256::new()
            .chain_update(b"godwit nodes")
            .chain_update(signing_key)
            .chain_update(secret.as_bytes())
            .finalize();
        Self(digest.into())
    }
}

impl std::fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedKey")
    }
}

/// The first message of each side.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    node: NodeId,
    protocol: u32,
}

/// Opens a connection to a node, and fails if another node answers.
pub(super) async fn connect(
    stream: TcpStream,
    key: &SharedKey,
    me: NodeId,
    other: NodeId,
) -> io::Result<(Reader, Writer)> {
    let mut noise = builder(key)?.build_initiator().map_err(broken)?;
    within(async {
        let (mut reading, mut writing) = stream.into_split();
        write_greeting(&mut noise, &mut writing, me).await?;
        let greeting = read_greeting(&mut noise, &mut reading).await?;
        if greeting.node != other {
            return Err(io::Error::other("another node is at this address"));
        }
        finish(noise, reading, writing)
    })
    .await
}

/// Accepts a connection, and returns the node that opened it.
pub(super) async fn accept(
    stream: TcpStream,
    key: &SharedKey,
    me: NodeId,
) -> io::Result<(Reader, Writer, NodeId)> {
    let mut noise = builder(key)?.build_responder().map_err(broken)?;
    within(async {
        let (mut reading, mut writing) = stream.into_split();
        let greeting = read_greeting(&mut noise, &mut reading).await?;
        write_greeting(&mut noise, &mut writing, me).await?;
        let (reader, writer) = finish(noise, reading, writing)?;
        Ok((reader, writer, greeting.node))
    })
    .await
}

async fn within<T>(handshake: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(HANDSHAKE_TIMEOUT, handshake).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

fn builder(key: &SharedKey) -> io::Result<Builder<'_>> {
    let parameters = PATTERN.parse().map_err(broken)?;
    Builder::new(parameters).prologue(PROLOGUE).and_then(|builder| builder.psk(0, &key.0)).map_err(broken)
}

async fn write_greeting(
    noise: &mut HandshakeState,
    writing: &mut OwnedWriteHalf,
    me: NodeId,
) -> io::Result<()> {
    let greeting =
        postcard::to_stdvec(&Greeting { node: me, protocol: PROTOCOL }).map_err(io::Error::other)?;
    let mut packet = vec![0; PACKET_BYTES_MAX];
    let length = noise.write_message(&greeting, &mut packet).map_err(broken)?;
    write_packet(writing, &packet[..length]).await
}

async fn read_greeting(noise: &mut HandshakeState, reading: &mut OwnedReadHalf) -> io::Result<Greeting> {
    let packet = read_packet(reading).await?;
    let mut content = vec![0; PACKET_BYTES_MAX];
    let length = noise.read_message(&packet, &mut content).map_err(broken)?;
    let greeting: Greeting = postcard::from_bytes(&content[..length]).map_err(io::Error::other)?;
    if greeting.protocol == PROTOCOL {
        Ok(greeting)
    } else {
        Err(io::Error::other("the other node speaks another version"))
    }
}

fn finish(
    noise: HandshakeState,
    reading: OwnedReadHalf,
    writing: OwnedWriteHalf,
) -> io::Result<(Reader, Writer)> {
    let noise = Arc::new(noise.into_stateless_transport_mode().map_err(broken)?);
    let reader = Reader { noise: noise.clone(), stream: reading, packets: 0, content: Vec::new() };
    Ok((reader, Writer { noise, stream: writing, packets: 0 }))
}

async fn write_packet(stream: &mut OwnedWriteHalf, packet: &[u8]) -> io::Result<()> {
    let length = u16::try_from(packet.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), packet].concat()).await
}

async fn read_packet(stream: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let length = stream.read_u16().await?;
    let mut packet = vec![0; length.into()];
    stream.read_exact(&mut packet).await?;
    Ok(packet)
}

pub(super) struct Reader {
    noise: Arc<StatelessTransportState>,
    stream: OwnedReadHalf,
    packets: u64,
    /// Received bytes of messages that are not complete.
    content: Vec<u8>,
}

impl Reader {
    pub(super) async fn receive(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(message);
            }
            let packet = read_packet(&mut self.stream).await?;
            let mut content = vec![0; packet.len()];
            let length = self.noise.read_message(self.packets, &packet, &mut content).map_err(broken)?;
            self.packets += 1;
            self.content.extend_from_slice(&content[..length]);
        }
    }

    fn take_message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((length, rest)) = self.content.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MESSAGE_BYTES_MAX {
            return Err(io::Error::other("the message is too long"));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let message = rest[..length].to_vec();
        self.content.drain(..4 + length);
        Ok(Some(message))
    }
}

pub(super) struct Writer {
    noise: Arc<StatelessTransportState>,
    stream: OwnedWriteHalf,
    packets: u64,
}

impl Writer {
    /// Messages sent together share packets.
    pub(super) async fn send(&mut self, messages: &[Vec<u8>]) -> io::Result<()> {
        let mut content = Vec::new();
        for message in messages {
            let length = u32::try_from(message.len()).map_err(io::Error::other)?;
            content.extend_from_slice(&length.to_be_bytes());
            content.extend_from_slice(message);
        }
        let mut packets = Vec::with_capacity(content.len() + 64);
        for content in content.chunks(CONTENT_BYTES_MAX) {
            let start = packets.len();
            packets.resize(start + 2 + content.len() + TAG_BYTES, 0);
            let length =
                self.noise.write_message(self.packets, content, &mut packets[start + 2..]).map_err(broken)?;
            self.packets += 1;
            packets[start..start + 2].copy_from_slice(&(length as u16).to_be_bytes());
        }
        self.stream.write_all(&packets).await
    }
}

fn broken(error: snow::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (one, other) = tokio::join!(TcpStream::connect(address), listener.accept());
        (one.unwrap(), other.unwrap().0)
    }

    #[tokio::test]
    async fn messages_of_any_length_survive_a_round_trip() {
        let (key, ada, bob) = (SharedKey::new(&[7; 32], ""), NodeId::random(), NodeId::random());
        let (one, other) = pair().await;
        let (from, to) = tokio::join!(connect(one, &key, ada, bob), accept(other, &key, bob));
        let ((_, mut writer), (mut reader, _, who)) = (from.unwrap(), to.unwrap());
        assert_eq!(who, ada);
        let messages: Vec<Vec<u8>> =
            [0, 1, 70_000, CONTENT_BYTES_MAX - 4, 500_000].into_iter().map(|size| vec![7; size]).collect();
        let sending = async { writer.send(&messages).await.unwrap() };
        let receiving = async {
            for message in &messages {
                assert_eq!(&reader.receive().await.unwrap(), message);
            }
        };
        tokio::join!(sending, receiving);
    }

    #[tokio::test]
    async fn a_peer_without_the_key_is_refused() {
        let (ada, bob) = (NodeId::random(), NodeId::random());
        for (key, other_key) in [(&[7; 32], ""), (&[8; 32], "secret"), (&[7; 32], "Secret")]
            .map(|(key, secret)| (SharedKey::new(key, secret), SharedKey::new(&[7; 32], "secret")))
        {
            let (one, other) = pair().await;
            let (from, to) = tokio::join!(connect(one, &key, ada, bob), accept(other, &other_key, bob));
            assert!(from.is_err() && to.is_err());
        }
    }

    #[tokio::test]
    async fn another_node_than_the_expected_one_is_refused() {
        let (key, ada, bob) = (SharedKey::new(&[7; 32], ""), NodeId::random(), NodeId::random());
        let (one, other) = pair().await;
        let (from, _) = tokio::join!(connect(one, &key, ada, NodeId::random()), accept(other, &key, bob));
        assert!(from.is_err());
    }

    #[tokio::test]
    async fn connections_that_do_not_speak_the_protocol_are_refused() {
        for rubbish in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 40], &[0xff; 70_000]] {
            let (mut one, other) = pair().await;
            let key = SharedKey::new(&[7; 32], "");
            let write = async { one.write_all(rubbish).await };
            let (_, accepted) = tokio::join!(write, accept(other, &key, NodeId::random()));
            assert!(accepted.is_err());
        }
    }
}
