//! The running server's side: commands come in at the Unix socket.

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

/// Commands that run at once. Further ones wait for their turn.
const CONNECTIONS_MAX: usize = 8;
const BACKLOG: u32 = 64;
/// How long a connection may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// How long to wait when no connection can be accepted.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// The socket. It is removed when this is dropped.
#[derive(Debug)]
pub struct AdminServer {
    listener: UnixListener,
    path: PathBuf,
    /// The folder, locked. The lock goes with it, also when the process is killed.
    _folder: File,
}

impl AdminServer {
    /// Takes the socket of a data folder that no other server uses. A socket that is there was left behind by a process
    /// that has gone.
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
        // Before it has a name, so that there is no moment at which others could connect.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        socket.bind(ShortPath::of(data_folder)?.path)?;
        Ok(Self { listener: socket.listen(BACKLOG)?, path, _folder: folder })
    }

    /// Answers commands until the future is dropped.
    pub async fn run(&self, operated: Operated) {
        let operated = Arc::new(operated);
        let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            // An error would mean that the semaphore was closed, which nobody does.
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
                    tracing::warn!(%error, "no admin connection can be accepted now");
                    sleep(ACCEPT_BACKOFF).await;
                }
            }
        }
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the admin socket was not removed");
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

/// Who looks how a move goes does so all the time.
fn log(command: &AdminCommand) {
    match command {
        AdminCommand::MoveStatus => tracing::debug!(?command, "an admin command"),
        _ => tracing::info!(?command, "an admin command"),
    }
}
