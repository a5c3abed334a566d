//! `telar cluster dev`: three nodes by one command, which end with it.

use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

use super::*;

/// Nodes of a cluster.
const NODES: [&str; 3] = ["a", "b", "c"];

/// The command, with its nodes; both end when it is dropped.
struct Dev {
    child: Process,
    /// Bolt of each node, as `telar shell` takes it.
    bolts: [String; 3],
}

/// The first of six ports in a row at which nobody listens.
fn six_ports() -> u16 {
    // Below those that the system gives to connections; each process of tests begins elsewhere.
    let first = |step: u32| 10_000 + (std::process::id() + 6 * step) % 20_000;
    let mut firsts = (0..1000).map(|step| u16::try_from(first(step)).unwrap());
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    firsts.find(|first| (*first..first + 6).all(is_free)).expect("six free ports")
}

impl Dev {
    /// Starts it; again, if somebody else was faster at one of the ports.
    #[track_caller]
    fn start(folder: &Path) -> Self {
        eventually("three nodes", || Self::try_start(folder))
    }

    fn try_start(folder: &Path) -> Result<Self, String> {
        let first = six_ports();
        let mut command = telar();
        command.args(["cluster", "dev"]).arg(folder).args(["--bolt-port", &first.to_string()]);
        command.args(["--http-port", &(first + 3).to_string()]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::start(&mut command).unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (send, said) = mpsc::channel();
        // To the end: nodes that nobody listens to would wait. Later lines are of no interest.
        thread::spawn(move || lines.for_each(|line| _ = send.send(line)));
        let bolts = [0, 1, 2].map(|node| format!("bolt://127.0.0.1:{}", first + node));
        let mut wanted = vec![format!("Drivers: neo4j://127.0.0.1:{first};")];
        let at = NODES.iter().zip(&bolts);
        wanted.extend(at.map(|(node, bolt)| format!("{node} | Bolt at {bolt}")));
        let dev = Self { child, bolts };
        while !wanted.is_empty() {
            let line = said.recv_timeout(PATIENCE).map_err(|e| format!("{wanted:?}: {e}"))?;
            if line.contains(" | ended: ") {
                return Err(line);
            }
            wanted.retain(|begin| !line.starts_with(&**begin));
        }
        Ok(dev)
    }

    /// Writes at the node that leads.
    #[track_caller]
    fn write(&self, name: &str) {
        let text = format!("MERGE (:Thing {{name: '{name}'}}) RETURN 'made' AS done");
        eventually("a commit", || {
            let mut all = String::new();
            for bolt in &self.bolts {
                let said = run(bolt, "telar", &text);
                if said.contains("made") {
                    return Ok(());
                }
                all += &said;
            }
            Err(all)
        });
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        // It may have ended by itself.
        let _ = Command::new("kill").args([signal, &id]).status();
    }

    /// Tells it to end, and waits until it has; its nodes are gone by then.
    #[track_caller]
    fn end(mut self, signal: &str) {
        self.signal(signal);
        let status = eventually("its end", || {
            self.child.try_wait().unwrap().ok_or_else(|| "it goes on".to_owned())
        });
        assert!(status.success(), "{signal}: {status}");
        for bolt in &self.bolts {
            let address = bolt.trim_start_matches("bolt://");
            assert!(TcpStream::connect(address).is_err(), "the node at {bolt} goes on");
        }
    }
}

impl Drop for Dev {
    /// A kill would leave its nodes behind, by a test that fails as well.
    fn drop(&mut self) {
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < PATIENCE {
            self.signal("-TERM");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn three_nodes_start_by_one_command_and_end_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trial");
    // The second start has what was written after the first one.
    for (name, known, signal) in [("loom", 1, "-INT"), ("warp", 2, "-TERM")] {
        let dev = Dev::start(&path);
        dev.write(name);
        let count = "MATCH (t:Thing) RETURN 'things: ' + toString(count(t)) AS found";
        for bolt in &dev.bolts {
            eventually("reads at each node", || {
                let said = run(bolt, "telar", count);
                if said.contains(&format!("things: {known}")) { Ok(()) } else { Err(said) }
            });
        }
        dev.end(signal);
    }
}
