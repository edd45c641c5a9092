//! The Unix socket in the data folder, and the lines on it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

const SOCKET_FILE: &str = "admin.sock";
/// The size limit of a line, in bytes. A full reply needs less than half of it.
const LINE_BYTES_MAX: u64 = 512 * 1024;
/// The length limit of socket paths, which is 104 bytes on some systems and 108 on others.
const SOCKET_PATH_BYTES_MAX: usize = 100;

/// The path of the socket in a data folder.
pub(super) fn path(data_folder: &Path) -> PathBuf {
    data_folder.join(SOCKET_FILE)
}

/// A short name for the socket, valid while the folder is held open.
pub(super) struct ShortPath {
    pub(super) path: PathBuf,
    _folder: Option<File>,
}

impl ShortPath {
    pub(super) fn of(data_folder: &Path) -> io::Result<Self> {
        let path = path(data_folder);
        if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
            return Ok(Self { path, _folder: None });
        }
        let folder = File::open(data_folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(SOCKET_FILE);
        Ok(Self { path, _folder: Some(folder) })
    }
}

/// Lines of JSON in both directions.
pub(super) struct Lines {
    stream: BufReader<UnixStream>,
}

impl Lines {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    pub(super) async fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.stream.write_all(&line).await?;
        self.stream.flush().await
    }

    /// `None` at the end of the stream.
    pub(super) async fn read<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        (&mut self.stream).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
        match line.last() {
            None => Ok(None),
            Some(b'\n') => serde_json::from_slice(&line)
                .map(Some)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Some(_) => Err(io::Error::new(io::ErrorKind::FileTooLarge, "a line without an end")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_survive_a_round_trip_and_are_bounded() {
        let (near, far) = UnixStream::pair().unwrap();
        let (mut near, mut far) = (Lines::new(near), Lines::new(far));
        near.write(&["a", "b"]).await.unwrap();
        assert_eq!(far.read::<[String; 2]>().await.unwrap().unwrap(), ["a", "b"]);

        near.stream.write_all(b"nonsense\n").await.unwrap();
        near.stream.flush().await.unwrap();
        assert_eq!(far.read::<String>().await.unwrap_err().kind(), io::ErrorKind::InvalidData);

        let endless = tokio::spawn(async move { near.write(&"x".repeat(LINE_BYTES_MAX as usize)).await });
        assert_eq!(far.read::<String>().await.unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        drop(far);
        let _ = endless.await.unwrap();
    }

    #[tokio::test]
    async fn the_end_of_the_stream_is_not_an_error() {
        let (near, far) = UnixStream::pair().unwrap();
        drop(near);
        assert!(Lines::new(far).read::<String>().await.unwrap().is_none());
    }
}
