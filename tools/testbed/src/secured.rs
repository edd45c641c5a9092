//! One node that requires a password and TLS of its clients.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::config::Security;
use crate::error::{Doing as _, TestbedError};
use crate::leash::Leash;
use crate::net::Reservation;
use crate::nodes::{Nodes, Plan, Purpose};
use crate::software::Software;
use crate::tools;

const KEYSTORE_PASSWORD: &str = "only-for-tests";

/// A single node with password authentication and TLS. It ends with this process.
#[derive(Debug)]
pub struct Secured {
    nodes: Nodes,
    ca_certificate: PathBuf,
    _leash: Leash,
    _reservation: Reservation,
}

impl Secured {
    pub(super) fn start() -> Result<Self, TestbedError> {
        let software = Software::get()?;
        let leash = Leash::on_new_folder("godwit-secured-")?;
        let reservation = Reservation::any()?;
        let keys = Keys::make(leash.folder(), &reservation.net.address(1).to_string())?;
        let security = Security { keystore: &keys.keystore, keystore_password: KEYSTORE_PASSWORD };
        let plan = Plan { size: 1, purpose: Purpose::Test, security: Some(security), software };
        let nodes = Nodes::prepare(leash.folder(), reservation.net, &plan)?;
        nodes.start_all()?;
        nodes.node(1).wait_for_log("ready for the first login", "Created default superuser role")?;
        Ok(Self { nodes, ca_certificate: keys.ca_certificate, _leash: leash, _reservation: reservation })
    }

    /// The address for clients. The certificate is for this address.
    pub fn contact_point(&self) -> String {
        self.nodes.node(1).contact_point()
    }

    pub fn user(&self) -> &'static str {
        "cassandra"
    }

    pub fn password(&self) -> &'static str {
        "cassandra"
    }

    /// The certificate, as PEM, of the authority that signs for the node.
    pub fn ca_certificate(&self) -> &Path {
        &self.ca_certificate
    }
}

/// An authority of its own, and a keystore with the node's certificate.
struct Keys {
    keystore: PathBuf,
    ca_certificate: PathBuf,
}

impl Keys {
    fn make(folder: &Path, address: &str) -> Result<Self, TestbedError> {
        let keytool = Keytool { program: tools::keytool()?, folder };
        let key = ["-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "365"];
        let name = format!("CN={address}");
        let for_address = format!("san=ip:{address}");

        keytool.run(
            "ca.p12",
            &[&key[..], &["-alias", "ca", "-dname", "CN=test authority", "-ext", "bc:c"]].concat(),
        )?;
        keytool.run("ca.p12", &["-exportcert", "-rfc", "-alias", "ca", "-file", "ca.pem"])?;
        keytool.run("node.p12", &[&key[..], &["-alias", "node", "-dname", &name]].concat())?;
        keytool.run("node.p12", &["-certreq", "-alias", "node", "-file", "node.csr"])?;
        let sign = [
            "-gencert",
            "-rfc",
            "-alias",
            "ca",
            "-infile",
            "node.csr",
            "-outfile",
            "node.pem",
            "-validity",
            "365",
        ];
        keytool.run("ca.p12", &[&sign[..], &["-ext", &for_address]].concat())?;
        keytool.run("node.p12", &["-importcert", "-noprompt", "-alias", "ca", "-file", "ca.pem"])?;
        keytool.run("node.p12", &["-importcert", "-noprompt", "-alias", "node", "-file", "node.pem"])?;
        Ok(Self { keystore: folder.join("node.p12"), ca_certificate: folder.join("ca.pem") })
    }
}

struct Keytool<'a> {
    program: PathBuf,
    folder: &'a Path,
}

impl Keytool<'_> {
    fn run(&self, keystore: &str, arguments: &[&str]) -> Result<(), TestbedError> {
        let output = Command::new(&self.program)
            .args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"])
            .args(arguments)
            .args(["-keystore", keystore, "-storetype", "PKCS12", "-storepass", KEYSTORE_PASSWORD])
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .output()
            .doing(|| "run keytool".to_owned())?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        let what = format!("failed at {}", arguments.first().unwrap_or(&""));
        let log = String::from_utf8_lossy(&said).into_owned();
        Err(TestbedError::Process { who: "keytool".to_owned(), what, log })
    }
}
