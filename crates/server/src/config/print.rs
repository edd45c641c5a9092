//! The whole configuration as a file, without its secrets.

use super::Config;

/// As TOML, with every default, in the form in which it could be a file. Secrets hide themselves, and so do the
/// passwords in addresses.
pub fn print(config: &Config) -> Result<String, toml::ser::Error> {
    let mut config = config.clone();
    config.server.data = Some(config.data_folder().to_owned());
    config.store.url = Some(config.store_location());
    toml::to_string_pretty(&config)
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
        config.cluster.redis_url = Some("redis://godwit:hunter2@localhost:6379".parse().unwrap());
        config.cluster.secret = Some(Secret::new("hunter2 and more of it"));
        let printed = print(&config).unwrap();
        assert!(printed.contains("redis://godwit:…@localhost:6379"), "{printed}");
        assert!(printed.contains("cassandra://godwit:…@localhost/chat"), "{printed}");
        assert!(!printed.contains("hunter2"));
    }
}
