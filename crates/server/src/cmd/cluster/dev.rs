//! `telar cluster dev`: several servers on this machine over a store in a folder, to try things.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::ui::Screen;

/// Most nodes: they are named by letters.
const NODES_MAX: i64 = 26;

/// Time between two looks for nodes that have ended.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Start a cluster of several servers on this machine
///
/// The nodes are called a, b, c..., share a store in FOLDER and keep their copies there. They
/// listen on the loopback alone, and nobody has to log in unless --auth is given. Kill one and see
/// that another takes over; Ctrl-C ends all of them. The same FOLDER starts the same cluster again.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  telar cluster dev
  telar cluster dev /tmp/trial --nodes 2 --bolt-port 17687 --http-port 17474")]
pub(crate) struct Options {
    /// Where everything is kept; made if there is nothing
    #[arg(default_value = "telar-cluster")]
    folder: PathBuf,
    /// How many nodes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=NODES_MAX))]
    nodes: u16,
    /// Port of the first node's Bolt; those of the others follow
    #[arg(long, default_value_t = 7687, value_name = "PORT")]
    bolt_port: u16,
    /// Port of the first node's HTTP; those of the others follow
    #[arg(long, default_value_t = 7474, value_name = "PORT")]
    http_port: u16,
    /// Let clients log in, at first as neo4j with the password neo4j
    #[arg(long)]
    auth: bool,
}

/// A node that runs.
struct Node {
    name: String,
    bolt: String,
    child: Child,
}

impl Node {
    fn start(options: &Options, number: u16, screen: &Arc<Screen>) -> anyhow::Result<Self> {
        let name = char::from(b'a' + number as u8).to_string();
        let port = |first: u16| first.checked_add(number).context("there is no port above 65535");
        let bolt = format!("127.0.0.1:{}", port(options.bolt_port)?);
        let http = format!("127.0.0.1:{}", port(options.http_port)?);
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg(options.folder.join(&name));
        command.arg("--cluster").arg(format!("dir:{}", options.folder.join("store").display()));
        command.args(["--node", &name, "--bolt", &bolt, "--http", &http]);
        if !options.auth {
            command.arg("--no-auth");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start the node {name}"))?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        out.into_iter().for_each(|out| follow(&name, out, screen));
        err.into_iter().for_each(|err| follow(&name, err, screen));
        Ok(Self { name, bolt, child })
    }

    /// Tells it to end, and waits until it has.
    fn end(&mut self) {
        if let Some(process) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// Prints what a node says, with its name before each line.
fn follow(name: &str, from: impl std::io::Read + Send + 'static, screen: &Arc<Screen>) {
    let (name, screen) = (name.to_owned(), Arc::clone(screen));
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // Whoever reads may be gone; the nodes go on.
            let _ = screen.line(format!("{name} | {line}"));
        }
    });
}

/// Runs `telar cluster dev`.
pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(&options.folder)
        .with_context(|| format!("cannot make {}", options.folder.display()))?;
    let screen = Arc::new(Screen::new());
    let signals = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Before the first node starts, so that no signal ends this process alone.
    let mut told = signals.block_on(async { Told::new() })?;
    let mut nodes = Vec::new();
    for number in 0..options.nodes {
        match Node::start(options, number, &screen) {
            Ok(node) => nodes.push(node),
            Err(error) => {
                nodes.iter_mut().for_each(Node::end);
                return Err(error);
            }
        }
    }
    let first = nodes.first().map(|node| node.bolt.clone()).unwrap_or_default();
    screen.line(format!(
        "Drivers: neo4j://{first}; state: telar cluster status dir:{}; Ctrl-C ends all nodes",
        options.folder.join("store").display()
    ))?;
    let all_ended = signals.block_on(until_told(&mut told, &mut nodes, &screen))?;
    nodes.iter_mut().for_each(Node::end);
    if all_ended {
        bail!("all nodes have ended");
    }
    Ok(ExitCode::SUCCESS)
}

/// The signals that end all nodes.
struct Told {
    interrupt: Signal,
    terminate: Signal,
}

impl Told {
    fn new() -> std::io::Result<Self> {
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }
}

/// Waits for a signal, or until no node is left: then true.
async fn until_told(
    told: &mut Told,
    nodes: &mut Vec<Node>,
    screen: &Screen,
) -> anyhow::Result<bool> {
    loop {
        tokio::select! {
            _ = told.interrupt.recv() => return Ok(false),
            _ = told.terminate.recv() => return Ok(false),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        for node in nodes.iter_mut() {
            if let Some(status) = node.child.try_wait()? {
                screen.line(format!("{} | ended: {status}", node.name))?;
            }
        }
        nodes.retain_mut(|node| matches!(node.child.try_wait(), Ok(None)));
        if nodes.is_empty() {
            return Ok(true);
        }
    }
}
