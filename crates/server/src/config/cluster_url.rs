//! `cassandra://[user:password@]host[:port],…[/keyspace]`

use std::fmt;
use std::str::FromStr;

use crate::auth::Secret;

const SCHEME: &str = "cassandra://";
const PORT: u16 = 9042;
/// The default keyspace.
const KEYSPACE: &str = "godwit";
const KEYSPACE_CHARS_MAX: usize = 48;

/// The location of a Cassandra cluster. Its text does not show the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterUrl {
    pub login: Option<Login>,
    /// At least one `host:port`.
    pub contact_points: Vec<String>,
    /// In lower case, as Cassandra stores it.
    pub keyspace: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub username: String,
    pub password: Secret,
}

impl ClusterUrl {
    /// The URL with the password.
    pub fn reveal(&self) -> String {
        self.write(Secret::reveal)
    }

    fn write(&self, password: impl Fn(&Secret) -> &str) -> String {
        let login = self
            .login
            .as_ref()
            .map(|login| format!("{}:{}@", escape(&login.username), escape(password(&login.password))));
        let points: Vec<&str> = self.contact_points.iter().map(|point| without_usual_port(point)).collect();
        format!("{SCHEME}{}{}/{}", login.unwrap_or_default(), points.join(","), self.keyspace)
    }
}

impl FromStr for ClusterUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Never shows the whole text, which may contain a password.
        let Some(rest) = text.strip_prefix(SCHEME) else {
            return Err(format!("write a Cassandra cluster as {SCHEME}HOST,HOST/KEYSPACE"));
        };
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(parse_login(login)?), place),
            None => (None, rest),
        };
        let (hosts, keyspace) = place.split_once('/').unwrap_or((place, ""));
        let keyspace = if keyspace.is_empty() { KEYSPACE } else { keyspace };
        Ok(Self {
            login,
            contact_points: hosts.split(',').map(parse_contact_point).collect::<Result<_, _>>()?,
            keyspace: parse_keyspace(keyspace)?,
        })
    }
}

impl fmt::Display for ClusterUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.write(|_| "…"))
    }
}

fn parse_login(text: &str) -> Result<Login, String> {
    let parts =
        text.split_once(':').and_then(|(user, password)| Some((unescape(user)?, unescape(password)?)));
    match parts {
        Some((username, password)) if !username.is_empty() => {
            Ok(Login { username, password: Secret::new(password) })
        }
        _ => Err(
            "write USER:PASSWORD before the @, or remove it and set store.cassandra.username and .password"
                .into(),
        ),
    }
}

fn parse_contact_point(text: &str) -> Result<String, String> {
    let wrong =
        || format!("`{text}` is not a host with an optional port, such as db1, 10.0.0.1:9042 or [::1]:9042");
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
        _ => (text, PORT),
    };
    let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_plain = |c: char| c.is_alphanumeric() || ".-_".contains(c);
    let is_host = match name {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(is_plain),
    };
    if is_host && port != 0 { Ok(format!("{host}:{port}")) } else { Err(wrong()) }
}

fn parse_keyspace(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    if !begins || text.len() > KEYSPACE_CHARS_MAX || !text.chars().all(is_plain) {
        return Err(format!(
            "`{text}` is not a valid keyspace name: use a letter, then letters, digits and _, at most {KEYSPACE_CHARS_MAX} characters"
        ));
    }
    Ok(text.to_ascii_lowercase())
}

fn without_usual_port(point: &str) -> &str {
    point.strip_suffix(&format!(":{PORT}")).unwrap_or(point)
}

/// Escapes characters that have a meaning in a URL.
fn escape(text: &str) -> String {
    text.chars()
        .map(|c| if "%:@/, ".contains(c) { format!("%{:02X}", u32::from(c)) } else { c.to_string() })
        .collect()
}

/// `None` if a percent sign is not followed by two hex digits, or if the result is not UTF-8.
fn unescape(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ClusterUrl {
        text.parse().unwrap()
    }

    #[test]
    fn only_the_host_is_required() {
        let url = parse("cassandra://db1");
        assert_eq!(url.contact_points, ["db1:9042"]);
        assert_eq!((url.keyspace.as_str(), url.login.is_none()), ("godwit", true));
        assert_eq!(url.to_string(), "cassandra://db1/godwit");

        let url = parse("cassandra://chat:s%40cret@db1,10.0.0.2:9043,[::1],[::1]:9044/Chat_2");
        assert_eq!(url.contact_points, ["db1:9042", "10.0.0.2:9043", "[::1]:9042", "[::1]:9044"]);
        assert_eq!(url.keyspace, "chat_2");
        let login = url.login.clone().unwrap();
        assert_eq!((login.username.as_str(), login.password.reveal()), ("chat", "s@cret"));
        assert_eq!(parse(&url.reveal()), url);
    }

    #[test]
    fn the_password_is_never_shown() {
        let url = parse("cassandra://chat:hunter2@db1/chat");
        assert_eq!(url.to_string(), "cassandra://chat:…@db1/chat");
        assert!(!format!("{url:?}").contains("hunter2"));
        for wrong in
            ["cassandra://chat:hunter2@", "cassandra://chat:hunter2@db1/1", "cassandra://:hunter2@db1"]
        {
            let error = wrong.parse::<ClusterUrl>().unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn invalid_urls_are_refused() {
        for wrong in [
            "cassandra:db1",
            "cassandra://",
            "cassandra:///godwit",
            "cassandra://db1,/godwit",
            "cassandra://db1:0/godwit",
            "cassandra://db1:port/godwit",
            "cassandra://::1/godwit",
            "cassandra://user@db1/godwit",
            "cassandra://user:50%@db1/godwit",
            "cassandra://db1/1st",
            "cassandra://db1/chat;drop",
            "cassandra://db1/a/b",
            "cassandra://db 1/godwit",
        ] {
            assert!(wrong.parse::<ClusterUrl>().is_err(), "{wrong} was taken for a cluster");
        }
    }
}
