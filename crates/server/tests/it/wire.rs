//! A relay between clients and a server whose connections can be cut, and which can switch to another server.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

const CHUNK_BYTES: usize = 4 * 1024;
/// The capacity of a connection that nobody reads. The default would be several megabytes.
const CAPACITY_BYTES: u32 = 64 * 1024;

/// Clients connect to [`Wire::url`], which stays the same when the server's address changes.
pub(crate) struct Wire {
    pub(crate) url: String,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

struct Shared {
    server: watch::Sender<SocketAddr>,
    /// How often all connections were cut. Each connection watches it.
    cut: watch::Sender<usize>,
    stalled: watch::Sender<bool>,
    wear: Mutex<Option<Wear>>,
    worn_out: AtomicUsize,
}

/// Random failures of a wire: each connection breaks after some number of bytes from the server, possibly inside a frame.
struct Wear {
    random: StdRng,
    bytes: Range<u64>,
    /// Connections that are still to break.
    left: usize,
}

impl Wire {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            server: watch::Sender::new(server),
            cut: watch::Sender::new(0),
            stalled: watch::Sender::new(false),
            wear: Mutex::new(None),
            worn_out: AtomicUsize::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone())).abort_handle();
        Self { url, shared, accepting }
    }

    /// Leads new connections to where the server is now.
    pub(crate) fn lead_to(&self, server: SocketAddr) {
        self.shared.server.send_replace(server);
    }

    /// Breaks every connection in the middle of whatever it carries.
    pub(crate) fn cut_all(&self) {
        self.shared.cut.send_modify(|cuts| *cuts += 1);
    }

    /// Stops or resumes the flow of data from the server. Data from clients passes.
    pub(crate) fn stall(&self, stalled: bool) {
        self.shared.stalled.send_replace(stalled);
    }

    /// From now on connections break after a random number of bytes, until this many have.
    pub(crate) fn wear(&self, seed: u64, bytes: Range<u64>, connections: usize) {
        let wear = Wear { random: StdRng::seed_from_u64(seed), bytes, left: connections };
        *self.shared.wear.lock().unwrap() = Some(wear);
    }

    /// How many have broken by wear.
    pub(crate) fn worn_out(&self) -> usize {
        self.shared.worn_out.load(Ordering::Relaxed)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut_all();
    }
}

impl Shared {
    /// How many bytes the next connection lasts.
    fn bytes_left(&self) -> u64 {
        match &mut *self.wear.lock().unwrap() {
            Some(wear) if wear.left > 0 => wear.random.random_range(wear.bytes.clone()),
            _ => u64::MAX,
        }
    }

    fn wears_out(&self) {
        self.worn_out.fetch_add(1, Ordering::Relaxed);
        if let Some(wear) = &mut *self.wear.lock().unwrap() {
            wear.left = wear.left.saturating_sub(1);
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        tokio::spawn(carry(client, shared.clone()));
    }
}

/// Copies bytes in both directions until one side closes, the wire is cut, or worn out. A cut resets both connections, so
/// data in flight is lost.
async fn carry(mut client: TcpStream, shared: Arc<Shared>) {
    let mut cut = shared.cut.subscribe();
    let address = *shared.server.borrow();
    // The server may be away: the client finds its connection closed, as it would without the wire.
    let Ok(mut server) = connect(address).await else { return };
    for stream in [&client, &server] {
        // It only makes the wire quicker.
        let _ = stream.set_nodelay(true);
    }
    let intact = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        tokio::select! {
            carried = async { tokio::try_join!(down(&shared, from_server, to_client), up(from_client, to_server)) } => {
                carried.is_ok()
            }
            _ = cut.changed() => false,
        }
    };
    if !intact {
        for stream in [&client, &server] {
            // One of them may be closed already.
            let _ = stream.set_zero_linger();
        }
    }
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(CAPACITY_BYTES)?;
    socket.connect(address).await
}

async fn up(mut from_client: ReadHalf<'_>, mut to_server: WriteHalf<'_>) -> io::Result<()> {
    copy(&mut from_client, &mut to_server).await?;
    to_server.shutdown().await
}

async fn down(
    shared: &Shared,
    mut from_server: ReadHalf<'_>,
    mut to_client: WriteHalf<'_>,
) -> io::Result<()> {
    let mut stalled = shared.stalled.subscribe();
    let mut bytes_left = shared.bytes_left();
    let mut buffer = [0; CHUNK_BYTES];
    while bytes_left > 0 {
        // The sender lives as long as the wire does.
        let _ = stalled.wait_for(|stalled| !stalled).await;
        let room = bytes_left.min(CHUNK_BYTES as u64) as usize;
        let read = from_server.read(&mut buffer[..room]).await?;
        if read == 0 {
            return to_client.shutdown().await;
        }
        to_client.write_all(&buffer[..read]).await?;
        bytes_left -= read as u64;
    }
    shared.wears_out();
    Err(io::ErrorKind::ConnectionReset.into())
}
