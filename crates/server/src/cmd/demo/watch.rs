//! Starting the worker, listening to it, killing it.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::dataset::Graph;
use super::protocol::{Commit, Message, Rank};
use super::{Options, Row};
use crate::ui::{Screen, number};

/// Time between two lines on the screen.
const TICK: Duration = Duration::from_secs(1);
/// How long the kill is put off at most until a transaction and an analysis have been seen: ample
/// for the largest graphs on slow disks.
const PATIENCE: Duration = Duration::from_secs(300);

/// What the worker did, as far as it was heard.
#[derive(Debug)]
pub(super) struct Run {
    /// Per writer, how many transactions were acknowledged.
    pub(super) acknowledged: Vec<u64>,
    /// All acknowledged timestamps, in the order they were heard.
    pub(super) timestamps: Vec<u64>,
    /// Differences between analyses of live snapshots and of frozen copies.
    pub(super) differences: Vec<f64>,
    /// What was heard and makes no sense.
    pub(super) nonsense: u64,
    conflicts: u64,
    ranks: u64,
    rank_seconds: f64,
    last_rank: Option<Rank>,
}

/// The worker process; killed when dropped, so that no error path leaves one behind.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        // Fails only where the worker has ended and been waited for.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Lets a worker change and analyse the graph, and kills it.
pub(super) fn watch(
    options: &Options,
    path: &Path,
    graph: &Graph,
    screen: Screen,
    rows: &mut Vec<Row>,
) -> anyhow::Result<Run> {
    let (mut worker, lines) = start(options, path, graph)?;
    let mut run = Run::heard(vec![0; graph.writers.len()], Vec::new(), Vec::new());
    let open_s = match lines.recv() {
        Ok(Some(Message::Ready { seconds })) => seconds,
        _ => bail!("the worker did not start"),
    };
    screen.line(format!(
        "{} process {} opened it in {}: {}, each commit on disk before it counts",
        screen.bold(format!("{:<10}", "Change")),
        worker.0.id(),
        number::seconds(open_s),
        number::counted(graph.writers.len() as u64, "writer", "writers"),
    ))?;
    let begun = Instant::now();
    run.listen(&lines, options.seconds, graph, screen)?;
    let heard = run.timestamps.len() as u64;
    worker.0.kill().context("cannot kill the worker")?;
    let seconds = begun.elapsed().as_secs_f64();
    let status = worker.0.wait().context("cannot wait for the worker")?;
    if status.signal().is_none() {
        bail!("the worker ended by itself ({status})");
    }
    // What it had said before it died is in the pipe.
    while let Ok(message) = lines.recv() {
        run.hear(message);
    }
    let commits = run.timestamps.len() as u64;
    screen.line(format!(
        "{} process {}: {status}, {}",
        screen.bold(format!("{:<10}", "Kill")),
        worker.0.id(),
        number::counted(commits - heard, "more commit in the pipe", "more commits in the pipe"),
    ))?;
    let amount = format!(
        "{} by {}, {}",
        number::counted(commits, "durable commit", "durable commits"),
        number::counted(graph.writers.len() as u64, "writer", "writers"),
        number::counted(run.conflicts, "conflict retried", "conflicts retried"),
    );
    rows.push(Row::new("Change", amount, seconds, number::rate(commits, seconds, "commits")));
    let amount = format!(
        "{} on live snapshots beside them",
        number::counted(run.ranks, "PageRank", "PageRanks")
    );
    let mean = run.rank_seconds / run.ranks.max(1) as f64;
    let each = format!("{} each", number::seconds(mean));
    rows.push(Row::new("Analyse", amount, run.rank_seconds, each));
    Ok(run)
}

fn start(
    options: &Options,
    path: &Path,
    graph: &Graph,
) -> anyhow::Result<(Worker, Receiver<Option<Message>>)> {
    let program = std::env::current_exe().context("cannot find this program's file")?;
    let mut command = Command::new(program);
    command.arg("demo-worker").arg(path);
    command.args(["--seed", &options.seed.to_string()]);
    command.args(["--label", graph.label, "--edge-type", graph.edge_type]);
    if graph.facts.undirected {
        command.arg("--undirected");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut worker = Worker(command.spawn().context("cannot start the worker")?);
    let pipe = worker.0.stdout.take().context("the worker has no output")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || forward(pipe, &sender));
    Ok((worker, receiver))
}

/// Parses lines until the pipe ends. `None` stands for a line that is no message.
fn forward(pipe: ChildStdout, sender: &Sender<Option<Message>>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = String::new();
    loop {
        line.clear();
        match pipe.read_line(&mut line) {
            // A line without an end was cut off by the kill.
            Ok(_) if !line.ends_with('\n') => return,
            Err(_) => return,
            Ok(_) => {}
        }
        if sender.send(Message::parse(&line)).is_err() {
            return;
        }
    }
}

impl Run {
    /// A run of which so much was heard.
    pub(super) fn heard(
        acknowledged: Vec<u64>,
        timestamps: Vec<u64>,
        differences: Vec<f64>,
    ) -> Self {
        Self {
            acknowledged,
            timestamps,
            differences,
            nonsense: 0,
            conflicts: 0,
            ranks: 0,
            rank_seconds: 0.0,
            last_rank: None,
        }
    }

    /// Listens for `seconds`, and on until there is something to check.
    fn listen(
        &mut self,
        lines: &Receiver<Option<Message>>,
        seconds: f64,
        graph: &Graph,
        screen: Screen,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        let end = Duration::from_secs_f64(seconds);
        let heading = "     time   commits/s     commits   PageRank   at commit   most central";
        screen.line(screen.dim(heading))?;
        let (mut next, mut shown) = (TICK, 0);
        loop {
            let now = begun.elapsed();
            let complete = !self.timestamps.is_empty() && !self.differences.is_empty();
            if now >= end && complete {
                let passed = now.saturating_sub(next - TICK);
                if passed * 2 > TICK {
                    self.show(
                        now,
                        self.commits_since(shown) / passed.as_secs_f64(),
                        graph,
                        screen,
                    )?;
                }
                return Ok(());
            }
            if now >= end + PATIENCE {
                bail!("the worker has done nothing for {} s", now.as_secs());
            }
            let target = if complete { next.min(end) } else { next };
            match lines.recv_timeout(target.saturating_sub(now)) {
                Ok(message) => self.hear(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => bail!("the worker ended by itself"),
            }
            let now = begun.elapsed();
            if now >= next {
                let passed = (now - next + TICK).as_secs_f64();
                self.show(now, self.commits_since(shown) / passed, graph, screen)?;
                shown = self.timestamps.len();
                next = now + TICK;
            }
        }
    }

    fn commits_since(&self, shown: usize) -> f64 {
        (self.timestamps.len() - shown) as f64
    }

    fn show(&self, now: Duration, rate: f64, graph: &Graph, screen: Screen) -> std::io::Result<()> {
        let (time, ts, top) = match &self.last_rank {
            None => ("-".to_owned(), "-".to_owned(), String::new()),
            Some(rank) => {
                let top: Vec<String> = rank.top.iter().map(|v| graph.name(*v)).collect();
                (number::seconds(rank.seconds), number::count(rank.ts), top.join(", "))
            }
        };
        screen.line(format!(
            "  {:>5.0} s {:>11} {:>11} {time:>10} {ts:>11}   {top}",
            now.as_secs_f64(),
            number::count(rate.round() as u64),
            number::count(self.timestamps.len() as u64),
        ))
    }

    fn hear(&mut self, message: Option<Message>) {
        match message {
            Some(Message::Commit(Commit { writer, step, ts, attempts })) => {
                match self.acknowledged.get_mut(writer) {
                    Some(last) if *last + 1 == step => *last = step,
                    _ => self.nonsense += 1,
                }
                self.timestamps.push(ts);
                self.conflicts += attempts.saturating_sub(1);
            }
            Some(Message::Rank(rank)) => {
                self.ranks += 1;
                self.rank_seconds += rank.seconds;
                self.differences.extend(rank.difference);
                self.last_rank = Some(rank);
            }
            Some(Message::Ready { .. }) | None => self.nonsense += 1,
        }
    }
}
