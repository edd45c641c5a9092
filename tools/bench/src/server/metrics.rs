//! The server's metrics at its `metrics.listen` address.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::wire::http;

const FSYNCS: &str = "godwit_store_fsyncs_total";
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// The number of fsyncs of the server; `None` if it does not report it.
pub(crate) fn fsyncs(server: SocketAddr) -> anyhow::Result<Option<u64>> {
    Ok(value(&fetch(server, "/metrics")?, FSYNCS).map(|value| value as u64))
}

/// A page of the server, over a separate connection.
pub(crate) fn fetch(server: SocketAddr, path: &str) -> anyhow::Result<String> {
    let asking = || format!("{path} cannot be read from the server");
    let mut stream = TcpStream::connect_timeout(&server, ANSWER_WITHIN).with_context(asking)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN))?;
    let mut request = Vec::new();
    http::get(&mut request, server, path, "connection: close\r\n");
    stream.write_all(&request).with_context(asking)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).with_context(asking)?;
    let answer = http::parse(&answer).with_context(asking)?.with_context(asking)?;
    ensure!(answer.status == 200, "{path} is answered with {}", answer.status);
    Ok(String::from_utf8_lossy(&answer.body).into_owned())
}

/// The sum over all labels.
fn value(page: &str, name: &str) -> Option<f64> {
    let values = page.lines().filter_map(|line| {
        let (labelled, value) = line.strip_prefix(name)?.rsplit_once(' ')?;
        (labelled.is_empty() || labelled.starts_with('{')).then(|| value.parse::<f64>().ok())?
    });
    values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_and_summed_over_their_labels() {
        let page = "# TYPE a counter\na 7\na_b 1\nb{x=\"1 2\"} 2\nb{x=\"3\"} 3.5\n";
        assert_eq!([value(page, "a"), value(page, "b"), value(page, "c")], [Some(7.0), Some(5.5), None]);
    }
}
