//! `telar demo-worker`: the process that gets killed.
//!
//! Opens the database and works until its end: every writer on a thread of its own, the analyst on
//! the main one.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use telar_db::{Database, Direction, EdgeTypeId, Isolation, PropertyKeyId, Transaction, Value};
use telar_generate::csr::Csr;

use super::edges;
use super::facts::{
    DONE_KEY, Facts, LIKES_KEY, SINCE_KEY, WRITER_LABEL, id_of, number_of, numbers_of,
};
use super::protocol::{Commit, Message, Rank};
use super::rank;
use super::script::{Op, Plan};

/// Every how many analyses one is repeated on a frozen copy of its snapshot, the first included.
const FROZEN_EVERY: u64 = 3;
/// Vertices named per analysis.
const TOP: usize = 3;

/// What the worker is told.
#[derive(Debug, Args)]
pub(crate) struct WorkerOptions {
    /// Directory of the database
    pub(super) db: PathBuf,
    #[arg(long)]
    pub(super) seed: u64,
    #[arg(long)]
    pub(super) label: String,
    #[arg(long)]
    pub(super) edge_type: String,
    #[arg(long)]
    pub(super) undirected: bool,
}

/// Runs `telar demo-worker`; ends only by an error or a signal.
pub(crate) fn run(options: &WorkerOptions) -> anyhow::Result<ExitCode> {
    thread::spawn(end_with_parent);
    let begun = Instant::now();
    let db = telar_db::open(&options.db)?;
    let seconds = begun.elapsed().as_secs_f64();
    let key = |name| db.find_property_key(name).context("a property key is missing");
    let label = db.find_label(&options.label).context("the label is missing")?;
    let ty = db.find_edge_type(&options.edge_type).context("the edge type is missing")?;
    let writer_label = db.find_label(WRITER_LABEL).context("the writers are missing")?;
    let writers = numbers_of(&db.reader()?, writer_label)?;
    let facts = Facts::read(&db, label, ty, options.undirected)?;
    let plan = Plan::new(options.seed, writers.len(), &facts);
    let desk = Desk {
        db: &db,
        ty,
        simple: facts.simple,
        done: key(DONE_KEY)?,
        likes: key(LIKES_KEY)?,
        since: key(SINCE_KEY)?,
    };
    say(&Message::Ready { seconds })?;
    thread::scope(|scope| {
        for (writer, vertex) in writers.iter().enumerate() {
            let (desk, plan) = (&desk, &plan);
            scope.spawn(move || end_after(desk.write(writer, *vertex, plan)));
        }
        end_after(analyse(&db, ty, facts.undirected));
    });
    Ok(ExitCode::FAILURE)
}

/// Nobody reads what a worker without a parent says.
fn end_with_parent() {
    // Nothing is ever written to this pipe: a read ends when the parent does.
    drop(io::stdin().read_to_end(&mut Vec::new()));
    std::process::exit(1);
}

/// No thread of a worker ends before the process does, other than by an error.
fn end_after(result: anyhow::Result<()>) {
    if let Err(error) = result {
        eprintln!("error: demo worker: {error:#}");
        std::process::exit(1);
    }
}

fn say(message: &Message) -> io::Result<()> {
    let line = format!("{message}\n");
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}

/// What every writer uses.
struct Desk<'d> {
    db: &'d Database,
    ty: EdgeTypeId,
    simple: bool,
    done: PropertyKeyId,
    likes: PropertyKeyId,
    since: PropertyKeyId,
}

impl Desk<'_> {
    /// Plays a writer's script, acknowledging every transaction. The transaction also counts itself
    /// in the writer's vertex: so what was on disk but not yet acknowledged can be told, too.
    fn write(&self, writer: usize, vertex: u32, plan: &Plan<'_>) -> anyhow::Result<()> {
        let mut script = plan.script(writer);
        for step in 1.. {
            let op = script.next();
            let mut attempts = 0;
            let ((), committed) = self.db.write(Isolation::Snapshot, |txn| {
                attempts += 1;
                self.apply(op, txn)?;
                txn.set_vertex_property(id_of(vertex), self.done, Value::Int(step as i64))
            })?;
            say(&Message::Commit(Commit { writer, step, ts: committed.ts.get(), attempts }))?;
        }
        Ok(())
    }

    fn apply(&self, op: Op, txn: &mut Transaction<'_>) -> Result<(), telar_db::Error> {
        match op {
            Op::Connect { src, dst, .. } if self.simple => {
                txn.upsert_edge(self.ty, id_of(src), id_of(dst))
            }
            Op::Connect { src, dst, since } => {
                let properties = [(self.since, Value::Int(since))];
                txn.create_edge(self.ty, id_of(src), id_of(dst), &properties).map(drop)
            }
            Op::Disconnect { src, dst } if self.simple => {
                txn.remove_edge(self.ty, id_of(src), id_of(dst))
            }
            Op::Disconnect { src, dst } => {
                let mut edges = txn.edges(id_of(src), self.ty, Direction::Out)?;
                match edges.find(|edge| edge.dst == id_of(dst)) {
                    Some(edge) => txn.delete_edge(edge),
                    // The comparison after recovery finds one edge too many.
                    None => Ok(()),
                }
            }
            Op::Like { vertex } => {
                let likes = match txn.vertex_property(id_of(vertex), self.likes)? {
                    Value::Int(likes) => likes,
                    _ => 0,
                };
                txn.set_vertex_property(id_of(vertex), self.likes, Value::Int(likes + 1))
            }
        }
    }
}

/// PageRank on one live snapshot after the other.
fn analyse(db: &Database, ty: EdgeTypeId, undirected: bool) -> anyhow::Result<()> {
    for round in 0.. {
        let snapshot = db.snapshot()?;
        let reader = snapshot.reader();
        let begun = Instant::now();
        let out = reader.adjacency(ty, Direction::Out)?;
        let inward = reader.adjacency(ty, Direction::In)?;
        let scores = rank::scores(&out, &inward, undirected);
        let seconds = begun.elapsed().as_secs_f64();
        let ts = snapshot.read_ts().get();
        let behind = db.published().get() - ts;
        // The copy is taken after the analysis, when the snapshot is thousands of commits old.
        let difference = (round % FROZEN_EVERY == 0).then(|| {
            let edges = edges::list(&out);
            let n = number_of(reader.vertex_bound());
            let copies = (Csr::<u32>::outgoing(n, &edges), Csr::<u32>::incoming(n, &edges));
            rank::difference(&scores, &rank::scores(&copies.0, &copies.1, undirected))
        });
        let top = rank::top(&scores, TOP);
        say(&Message::Rank(Rank { ts, seconds, behind, difference, top }))?;
    }
    Ok(())
}
