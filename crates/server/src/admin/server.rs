//! The server side: accepts commands on the Unix socket.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Mode, fchmod};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::socket::{Lines, ShortPath, path};
use super::{AdminCommand, AdminReply, Operated, execute};

/// Concurrent commands. Further ones wait.
const CONNECTIONS_MAX: usize = 8;
const BACKLOG: u32 = 64;
/// The time limit for silence on a connection.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// The wait after a failed accept.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// The Unix socket. Dropping this removes it.
#[derive(Debug)]
pub struct AdminServer {
    listener: UnixListener,
    path: PathBuf,
    /// The locked folder. The lock ends with the process, even if it is killed.
    _folder: File,
}

impl AdminServer {
    /// Creates the socket of a data folder that no other server uses. An existing socket is a leftover of a process that has
    /// ended.
    pub fn bind(data_folder: &Path) -> io::Result<Self> {
        let folder = File::open(data_folder)?;
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let reason = "another server uses this folder; choose another one with --data";
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, reason));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let path = path(data_folder);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixSocket::new_stream()?;
        // Sets permissions before the socket has a name, so that no other user can ever connect.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        socket.bind(ShortPath::of(data_folder)?.path)?;
        Ok(Self { listener: socket.listen(BACKLOG)?, path, _folder: folder })
    }

    /// Executes commands until the future is dropped.
    pub async fn run(&self, operated: Operated) {
        let operated = Arc::new(operated);
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            // Fails only if the semaphore is closed, and no code does that.
            let Ok(permit) = permits.clone().acquire_owned().await else { return };
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let operated = operated.clone();
                    tokio::spawn(async move {
                        if let Err(error) = answer(stream, &operated).await {
                            tracing::debug!(%error, "an admin connection ended early");
                        }
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept admin connections now");
                    sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "could not remove the admin socket");
        }
    }
}

async fn answer(stream: UnixStream, operated: &Operated) -> io::Result<()> {
    let mut lines = Lines::new(stream);
    loop {
        let reply = match timeout(SILENCE_MAX, lines.read()).await? {
            Ok(None) => return Ok(()),
            Ok(Some(command)) => {
                log(&command);
                execute(operated, command).await
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => AdminReply::Refused(
                "the server does not know this command; it may be of another version".into(),
            ),
            Err(error) => return Err(error),
        };
        lines.write(&reply).await?;
    }
}

/// The commands that watch a transfer are not logged, because they repeat constantly.
fn log(command: &AdminCommand) {
    match command {
        AdminCommand::TransferStatus => tracing::debug!(?command, "an admin command"),
        _ => tracing::info!(?command, "an admin command"),
    }
}
