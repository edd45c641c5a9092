//! Requests on a blocking connection, for the parts that are not measured.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::http;

const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const READ_BYTES: usize = 16 * 1024;

#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    server: SocketAddr,
}

impl Client {
    pub(crate) fn connect(server: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect_timeout(&server, ANSWER_WITHIN)
            .with_context(|| format!("cannot connect to {server}"))?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, server })
    }

    /// The answer must be a success.
    pub(crate) fn post(&mut self, path: &str, body: &Value) -> anyhow::Result<()> {
        let asking = || format!("cannot request {path}");
        let mut request = Vec::new();
        http::post(&mut request, self.server, path, body.to_string().as_bytes());
        self.stream.write_all(&request).with_context(asking)?;
        let (mut came, mut part) = (Vec::new(), [0; READ_BYTES]);
        loop {
            let bytes = self.stream.read(&mut part).with_context(asking)?;
            ensure!(bytes > 0, "no answer to {path}");
            came.extend_from_slice(&part[..bytes]);
            if let Some(answer) = http::parse(&came).with_context(asking)? {
                let said = String::from_utf8_lossy(&answer.body);
                ensure!(answer.status == 200, "{path} is answered with {}: {said}", answer.status);
                return Ok(());
            }
        }
    }
}
