//! The client side, for the command line: sends commands to a running server.

use std::io::{self, ErrorKind};
use std::path::Path;

use tokio::net::UnixStream;

use super::socket::{Lines, ShortPath, path};
use super::{AdminCommand, AdminReply};

/// A connection to the server that has the data folder open.
pub struct AdminClient {
    lines: Lines,
}

impl std::fmt::Debug for AdminClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminClient").finish_non_exhaustive()
    }
}

impl AdminClient {
    /// `None` if no server listens there.
    pub async fn connect(data_folder: &Path) -> io::Result<Option<Self>> {
        if !path(data_folder).exists() {
            return Ok(None);
        }
        match UnixStream::connect(ShortPath::of(data_folder)?.path).await {
            Ok(stream) => Ok(Some(Self { lines: Lines::new(stream) })),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub async fn ask(&mut self, command: &AdminCommand) -> io::Result<AdminReply> {
        self.lines.write(command).await?;
        self.lines.read().await?.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }
}
