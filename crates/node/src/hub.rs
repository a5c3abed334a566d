//! Results of threads, on their way to the JavaScript thread that asked for them.
//!
//! ```text
//!  JavaScript: number n ──► job ──► thread ──► Ticket(n).done(outcome)
//!       ▲                                              │ queue
//!       └── take() ◄── wake() ◄── threadsafe function ─┘
//! ```
//!
//! A finished job waits in a queue that belongs to the hub, and the event loop is told once per
//! burst. The event loop itself carries nothing: at the end of an environment Node.js drops what it
//! carries without a word, and transactions must not stay open because of that.

use std::collections::VecDeque;
use std::sync::Arc;

use napi::bindgen_prelude::{Buffer, Either4, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use napi_derive::napi;
use parking_lot::Mutex;

use crate::database::{Database, Environment};
use crate::error::Failure;
use crate::held::Held;
use crate::load::Report;
use crate::pool::{self, Admission};

/// The result of a job that went well, as JavaScript gets it.
pub(crate) type Value = Either4<Held, Database, Buffer, Report>;

/// The end of a job.
pub(crate) enum Outcome {
    Nothing,
    /// A commit timestamp.
    At(u64),
    Held(Box<Held>),
    Database(Database),
    Bytes(Vec<u8>),
    Report(Report),
}

/// The function that tells JavaScript to come and take what is finished. It keeps no process alive.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true>;

/// Finished jobs.
pub(crate) struct Queue {
    finished: Mutex<VecDeque<(u32, Result<Outcome, Failure>)>>,
    wake: Wake,
}

impl Queue {
    fn push(&self, number: u32, outcome: Result<Outcome, Failure>) {
        let mut finished = self.finished.lock();
        finished.push_back((number, outcome));
        let first = finished.len() == 1;
        drop(finished);
        if first {
            // Refused at the end of the environment, when nobody waits any more.
            let _: Status = self.wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

/// The promise that somebody waits for. Whoever drops it without [`done`](Self::done), after a
/// panic for example, has failed.
pub(crate) struct Ticket {
    queue: Arc<Queue>,
    number: Option<u32>,
}

impl Ticket {
    /// Hands over what was waited for.
    pub(crate) fn done(mut self, outcome: Result<Outcome, Failure>) {
        if let Some(number) = self.number.take() {
            self.queue.push(number, outcome);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            self.queue.push(number, Err(Failure::internal("the statement has died")));
        }
    }
}

/// Something finished, for JavaScript: under its number a value, or why there is none.
#[napi(object, object_from_js = false)]
pub struct Finished {
    /// The number that was given to the job.
    pub number: u32,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// Its result.
    pub value: Option<Value>,
    /// A commit timestamp.
    pub at: Option<i64>,
}

/// The meeting point of one JavaScript thread and the threads that work for it.
#[napi]
pub struct Hub {
    queue: Arc<Queue>,
    /// The databases of this JavaScript thread.
    pub(crate) environment: Arc<Environment>,
}

#[napi]
impl Hub {
    /// A hub that calls `wake` when there is something to [`take`](Self::take).
    #[napi(constructor)]
    pub fn new(env: Env, wake: Function<'_, (), ()>) -> napi::Result<Self> {
        let wake = wake.build_threadsafe_function::<()>().weak::<true>().build()?;
        let queue = Arc::new(Queue { finished: Mutex::default(), wake });
        let environment = Arc::<Environment>::default();
        // A worker that is terminated runs no JavaScript any more.
        env.add_env_cleanup_hook(Arc::clone(&environment), |environment| environment.quit())?;
        Ok(Self { queue, environment })
    }

    /// Ends what runs and closes what is open: the end of the program.
    #[napi]
    pub fn quit(&self) {
        self.environment.quit();
    }

    /// The next thing that is finished.
    #[napi]
    pub fn take(&self, env: Env) -> napi::Result<Option<Finished>> {
        let next = self.queue.finished.lock().pop_front();
        let Some((number, outcome)) = next else { return Ok(None) };
        let mut finished = Finished { number, failure: None, value: None, at: None };
        match outcome {
            Err(failure) => finished.failure = Some(failure),
            Ok(Outcome::Nothing) => {}
            Ok(Outcome::At(at)) => finished.at = Some(at.cast_signed()),
            Ok(Outcome::Held(held)) => {
                held.tell(&env)?;
                finished.value = Some(Either4::A(*held));
            }
            Ok(Outcome::Database(database)) => finished.value = Some(Either4::B(database)),
            Ok(Outcome::Bytes(bytes)) => finished.value = Some(Either4::C(bytes.into())),
            Ok(Outcome::Report(report)) => finished.value = Some(Either4::D(report)),
        }
        Ok(Some(finished))
    }
}

impl Hub {
    /// A ticket under a number of JavaScript's.
    pub(crate) fn ticket(&self, number: u32) -> Ticket {
        Ticket { queue: Arc::clone(&self.queue), number: Some(number) }
    }

    /// Runs `work` on a thread and hands over what it returns.
    pub(crate) fn run(
        &self,
        number: u32,
        admission: Admission,
        work: impl FnOnce() -> Result<Outcome, Failure> + Send + 'static,
    ) {
        let ticket = self.ticket(number);
        pool::spawn(admission, move || ticket.done(work()));
    }
}
