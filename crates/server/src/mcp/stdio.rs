//! The stdio transport: messages are lines of standard input and output.
//!
//! A thread reads lines, a call has a thread of its own, and whoever has an answer writes it whole.
//! The log goes to standard error.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::Value as Json;

use super::Graph;
use super::rpc::{self, RpcError};
use super::server::{Server, Session, Step};

/// Bytes of one line.
const LINE_MAX: usize = 16 << 20;
/// Time that running calls have to finish after the end of the input.
const GRACE: Duration = Duration::from_secs(2);
/// Longest wait for calls that were cancelled.
const END: Duration = Duration::from_secs(5);

/// Reason for the end of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The input has ended: the client is done.
    Input,
    /// The output cannot be written: the client is gone.
    Output,
    /// A signal asked for it.
    Signal,
}

/// A client that speaks by lines.
pub struct Connection {
    session: Arc<Session>,
    working: Working,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Calls whose answers are not written yet.
#[derive(Debug, Clone, Default)]
struct Working(Arc<AtomicUsize>);

impl Working {
    fn begin(&self) -> Self {
        // ORDERING: relaxed, as nothing else is read because of the count.
        self.0.fetch_add(1, Ordering::Relaxed);
        self.clone()
    }

    fn end(self) {
        // ORDERING: relaxed, as above.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits until there are none, as long as that.
    fn wait(&self, longest: Duration) {
        let until = Instant::now() + longest;
        // ORDERING: relaxed, as above.
        while self.0.load(Ordering::Relaxed) > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Writer of answers.
struct Output<W> {
    writer: Mutex<W>,
    ended: Sender<Ended>,
}

impl<W: Write> Output<W> {
    fn write(&self, message: &Json) {
        let line = format!("{message}\n");
        let mut writer = self.writer.lock();
        if writer.write_all(line.as_bytes()).and_then(|()| writer.flush()).is_err() {
            // An error says that nobody waits for the end any more.
            let _ = self.ended.send(Ended::Output);
        }
    }
}

impl Connection {
    /// Reads messages from `input` on a thread of its own, and writes answers from `graph` to
    /// `output`. Its end goes to `ended`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        server: &Arc<Server>,
        graph: &Arc<Graph>,
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        ended: Sender<Ended>,
    ) -> io::Result<Self> {
        let (session, working) = (Session::new(server), Working::default());
        let output = Output { writer: Mutex::new(output), ended: ended.clone() };
        let reader = Reader {
            session: Arc::clone(&session),
            graph: Arc::clone(graph),
            output: Arc::new(output),
            calls: working.clone(),
        };
        thread::Builder::new().name("mcp-input".into()).spawn(move || {
            if let Err(error) = reader.read(input) {
                tracing::warn!(%error, "standard input cannot be read");
            }
            let _ = ended.send(Ended::Input);
        })?;
        Ok(Self { session, working })
    }

    /// Lets calls that run end, or ends them.
    pub fn finish(&self, ended: Ended) {
        if ended == Ended::Input {
            self.working.wait(GRACE);
        }
        self.session.cancel_all();
        self.working.wait(END);
    }
}

/// Reader of lines.
struct Reader<W> {
    session: Arc<Session>,
    graph: Arc<Graph>,
    output: Arc<Output<W>>,
    calls: Working,
}

impl<W: Write + Send + 'static> Reader<W> {
    /// Reads lines until there are no more.
    fn read(&self, mut input: impl BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let limit = LINE_MAX as u64 + 1;
            if (&mut input).take(limit).read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if line.len() > LINE_MAX && !line.ends_with(b"\n") {
                skip_line(&mut input)?;
                let error = RpcError::request(format!("a message has at most {LINE_MAX} bytes"));
                self.output.write(&rpc::error(None, &error));
            } else if !line.trim_ascii().is_empty() {
                self.take(&line)?;
            }
        }
    }

    /// Answers one line, or begins to.
    fn take(&self, line: &[u8]) -> io::Result<()> {
        let step = match rpc::parse(line) {
            Ok(json) => self.session.receive(json),
            Err(answer) => Step::Done(Some(answer)),
        };
        match step {
            Step::Done(None) => {}
            Step::Done(Some(answer)) => self.output.write(&answer),
            Step::Run(pending) => {
                let (output, working) = (Arc::clone(&self.output), self.calls.begin());
                let graph = Arc::clone(&self.graph);
                let work = move || {
                    let notify = |message: Json| output.write(&message);
                    if let Some(answer) = pending.run(&graph, &notify) {
                        output.write(&answer);
                    }
                    // Whoever waits for the last call may close the graph.
                    drop(graph);
                    working.end();
                };
                thread::Builder::new().name("mcp-call".into()).spawn(work)?;
            }
        }
        Ok(())
    }
}

/// Reads what is left of a line.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        let (read, is_end) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        input.consume(read);
        if is_end {
            return Ok(());
        }
    }
}
