//! The whole configuration as a file, without its secrets.

use super::Config;

/// What stands in the place of a secret.
const HIDDEN: &str = "…";

/// As TOML, with every default, in the form in which it could be a file. Secrets of their own type hide themselves, and so
/// does the place of a store; passwords inside of other URLs are hidden here.
pub fn print(config: &Config) -> Result<String, toml::ser::Error> {
    let mut config = config.clone();
    config.server.data = Some(config.data_folder().to_owned());
    config.store.url = Some(config.store_location());
    config.delivery.redis_url = config.delivery.redis_url.map(|url| without_password(&url).unwrap_or(url));
    toml::to_string_pretty(&config)
}

/// `None` when the text is not a URL with a password.
fn without_password(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let (login, place) = rest.split_once('@')?;
    let (user, _) = login.split_once(':')?;
    Some(format!("{scheme}://{user}:{HIDDEN}@{place}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Secret;

    #[test]
    fn what_is_printed_can_be_read_again() {
        let printed = print(&Config::default()).unwrap();
        let read: Config = toml::from_str(&printed).unwrap();
        assert_eq!(print(&read).unwrap(), printed);
        assert!(printed.contains("listen = \"127.0.0.1:8080\""), "{printed}");
        assert!(printed.contains("url = \"embedded:./data\""), "{printed}");
    }

    #[test]
    fn passwords_are_hidden() {
        let mut config = Config::default();
        config.store.url = Some("cassandra://godwit:hunter2@localhost/chat".parse().unwrap());
        config.store.cassandra.password = Some(Secret::new("hunter2"));
        config.delivery.redis_url = Some("redis://godwit:hunter2@localhost:6379".into());
        let printed = print(&config).unwrap();
        assert!(printed.contains("redis://godwit:…@localhost:6379"), "{printed}");
        assert!(printed.contains("cassandra://godwit:…@localhost/chat"), "{printed}");
        assert!(!printed.contains("hunter2"));
    }
}
