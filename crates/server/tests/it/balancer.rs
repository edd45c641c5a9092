//! A load balancer: forwards each connection to a server that accepts it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use rand::seq::SliceRandom;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Balancer {
    address: SocketAddr,
    servers: Mutex<Vec<SocketAddr>>,
    _task: JoinSet<()>,
}

impl Balancer {
    pub(crate) async fn start(servers: impl Iterator<Item = SocketAddr>) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Arc::new_cyclic(|balancer: &std::sync::Weak<Self>| {
            let balancer = balancer.clone();
            let mut task = JoinSet::new();
            task.spawn(async move {
                while let Ok((client, _)) = listener.accept().await {
                    let Some(balancer) = balancer.upgrade() else { return };
                    tokio::spawn(async move { balancer.hand_over(client).await });
                }
            });
            Self { address, servers: Mutex::new(servers.collect()), _task: task }
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A server has a new address.
    pub(crate) fn moved(&self, number: usize, address: SocketAddr) {
        self.servers.lock().unwrap()[number] = address;
    }

    /// Replaces the servers.
    pub(crate) fn hand_over_to(&self, servers: impl Iterator<Item = SocketAddr>) {
        *self.servers.lock().unwrap() = servers.collect();
    }

    async fn hand_over(&self, mut client: TcpStream) {
        let mut servers = self.servers.lock().unwrap().clone();
        servers.shuffle(&mut rand::rng());
        for server in servers {
            if let Ok(mut server) = TcpStream::connect(server).await {
                // Ends when either side ends.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                return;
            }
        }
    }
}
