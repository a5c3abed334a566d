//! Ctrl-C: ends the statement that runs, or else the shell.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// What a shell says that was ended by a signal.
const EXIT_CODE: i32 = 130;

/// What Ctrl-C does at the moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt {
    /// Set to give up what runs.
    wanted: Arc<AtomicBool>,
    /// Whether anything runs that can be given up.
    running: Arc<AtomicBool>,
    /// Whether it is for another program.
    elsewhere: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens to the signal from now on. At the prompt the terminal sends none: there Ctrl-C is a
    /// key.
    pub(crate) fn listen() -> io::Result<Self> {
        let heard = Self::default();
        let own = heard.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
        std::thread::Builder::new().name("interrupt".into()).spawn(move || {
            while runtime.block_on(signals.recv()).is_some() {
                // ORDERING: relaxed, as nothing else is read because of the flags.
                if own.elsewhere.load(Ordering::Relaxed) {
                    continue;
                }
                let running = own.running.load(Ordering::Relaxed);
                if !running || own.wanted.swap(true, Ordering::Relaxed) {
                    std::process::exit(EXIT_CODE);
                }
            }
        })?;
        Ok(heard)
    }

    /// Set while what runs is to be given up.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wanted)
    }

    /// Does something that Ctrl-C ends, and not the shell.
    pub(crate) fn during<R>(&self, run: impl FnOnce() -> R) -> R {
        // ORDERING: relaxed, as nothing else is read because of the flags.
        self.wanted.store(false, Ordering::Relaxed);
        self.running.store(true, Ordering::Relaxed);
        let done = run();
        self.running.store(false, Ordering::Relaxed);
        done
    }

    /// Does something with another program, which hears Ctrl-C, too.
    pub(crate) fn elsewhere<R>(&self, run: impl FnOnce() -> R) -> R {
        // ORDERING: relaxed, as above.
        self.elsewhere.store(true, Ordering::Relaxed);
        let done = run();
        self.elsewhere.store(false, Ordering::Relaxed);
        done
    }
}
