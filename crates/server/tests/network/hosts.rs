//! Network namespaces, and the servers in them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::Process;

/// Variable that tells the process in the hub's namespace which one it is.
pub(crate) const HUB_VARIABLE: &str = "TELAR_NETWORK_HUB";

/// Names and addresses of the nodes.
pub(crate) const NODES: [(&str, &str); 3] =
    [("a", "10.77.0.1"), ("b", "10.77.0.2"), ("c", "10.77.0.3")];

/// Name and address of the store.
pub(crate) const STORE: (&str, &str) = ("s", "10.77.0.9");

/// Runs a program that has to succeed.
#[track_caller]
pub(crate) fn run(program: &str, arguments: &str) {
    let done = Command::new(program).args(arguments.split_whitespace()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments}: {said}");
}

/// Requirement that this machine does not meet, if there is one.
pub(crate) fn missing() -> Option<String> {
    for (program, argument) in [("ip", "-V"), ("nft", "-v"), ("etcd", "--version")] {
        if Command::new(program).arg(argument).output().is_err() {
            return Some(format!("{program} on the path"));
        }
    }
    // Who may make a namespace, and filter in it, may do everything that is needed.
    let name = format!("telar-try-{}", std::process::id());
    let may = |arguments: &[&str]| {
        let done = Command::new("ip").args(arguments).output();
        done.is_ok_and(|done| done.status.success())
    };
    let can = may(&["netns", "add", &name])
        && may(&["netns", "exec", &name, "nft", "add", "table", "bridge", "try"]);
    may(&["netns", "del", &name]);
    (!can).then(|| "root's right to make network namespaces, and nftables in the kernel".to_owned())
}

/// The namespaces of this process; they go when it is dropped.
#[derive(Debug)]
pub(crate) struct Hosts {
    hub: String,
}

impl Hosts {
    pub(crate) fn new() -> Self {
        let hub = format!("telar-{}", std::process::id());
        let hosts = Self { hub: hub.clone() };
        run("ip", &format!("netns add {hub}"));
        run("ip", &format!("-n {hub} link set lo up"));
        run("ip", &format!("-n {hub} link add name bridge type bridge"));
        run("ip", &format!("-n {hub} addr add 10.77.0.254/24 dev bridge"));
        run("ip", &format!("-n {hub} link set bridge up"));
        for (name, address) in all() {
            let space = space(&hub, name);
            run("ip", &format!("netns add {space}"));
            run("ip", &format!("-n {space} link set lo up"));
            run(
                "ip",
                &format!("-n {hub} link add name {name} type veth peer name eth0 netns {space}"),
            );
            run("ip", &format!("-n {hub} link set dev {name} master bridge up"));
            run("ip", &format!("-n {space} addr add {address}/24 dev eth0"));
            run("ip", &format!("-n {space} link set eth0 up"));
        }
        hosts
    }

    /// Name of the namespace with the bridge.
    pub(crate) fn hub(&self) -> String {
        self.hub.clone()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let spaces = all().map(|(name, _)| space(&self.hub, name));
        for space in spaces.chain([self.hub.clone()]) {
            // One that was not made is none to remove.
            drop(Command::new("ip").args(["netns", "del", &space]).output());
        }
    }
}

fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    NODES.into_iter().chain([STORE])
}

fn space(hub: &str, name: &str) -> String {
    format!("{hub}-{name}")
}

fn within(hub: &str, name: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &space(hub, name), program]);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// etcd and the nodes in their namespaces; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Servers {
    hub: String,
    folder: PathBuf,
    store: Process,
    /// By number; none while it is not there.
    nodes: [Option<Process>; 3],
}

impl Servers {
    pub(crate) fn start(hub: &str, folder: &Path) -> Self {
        let (name, address) = STORE;
        let client = format!("http://{address}:2379");
        let mut etcd = within(hub, name, "etcd");
        etcd.arg("--data-dir").arg(folder.join("etcd")).stdout(Stdio::null());
        etcd.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        let store = Process::start(&mut etcd).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect((address, 2379)).is_err() {
            assert!(Instant::now() < end, "etcd does not answer");
            thread::sleep(Duration::from_millis(100));
        }
        let (hub, folder) = (hub.to_owned(), folder.to_owned());
        let mut servers = Self { hub, folder, store, nodes: [const { None }; 3] };
        (0..NODES.len()).for_each(|node| servers.start_again(node));
        servers
    }

    /// Number of the process of the store.
    pub(crate) fn store_id(&self) -> u32 {
        self.store.id()
    }

    /// Number of the process of a node that is there.
    pub(crate) fn node_id(&self, node: usize) -> u32 {
        self.nodes[node].as_ref().unwrap().id()
    }

    /// Kills a node.
    pub(crate) fn kill(&mut self, node: usize) {
        drop(self.nodes[node].take());
    }

    /// Starts a node that is not there, and waits until it can be asked.
    pub(crate) fn start_again(&mut self, number: usize) {
        let (node, address) = NODES[number];
        let (hub, folder) = (&self.hub, &self.folder);
        let mut command = within(hub, node, env!("CARGO_BIN_EXE_telar"));
        command.arg("serve").arg(folder.join(node)).args(["--no-auth", "--node", node]);
        command.args(["--bolt", &format!("{address}:7687"), "--http", &format!("{address}:7474")]);
        command.args(["--cluster", &format!("etcd://{}", STORE.1)]);
        command.args(["--set", "cluster.follower_reads=latest"]);
        command.args(["--set", "auth.allow_remote_without=true"]);
        let log = folder.join(format!("{node}.log"));
        let to_log = File::options().create(true).append(true).open(&log).unwrap();
        command.stdout(Stdio::piped()).stderr(to_log);
        let mut server = Process::start(&mut command).unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let ready = lines.any(|line| line.unwrap().starts_with("Bolt at "));
        let log = || std::fs::read_to_string(&log).unwrap();
        assert!(ready, "the node {node} does not start: {}", log());
        thread::spawn(move || lines.for_each(drop));
        self.nodes[number] = Some(server);
    }
}
