//! Progress of an import: a bar with rate and time left on a terminal, else a line now and then.

use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use telar_cli::number;
use telar_db::import::{ImportProgress, ImportStage};

/// Time between two lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(2);

/// Shows an import's progress on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    terminal: bool,
    stage: RefCell<Option<Stage>>,
    /// When the last stage ended: the first report of the next comes after its first piece of work.
    ended: Cell<Instant>,
}

#[derive(Debug)]
struct Stage {
    stage: ImportStage,
    begun: Instant,
    last_line: Instant,
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let terminal = io::stderr().is_terminal();
        Self { terminal, stage: RefCell::new(None), ended: Cell::new(Instant::now()) }
    }

    /// Shows `progress`.
    pub(crate) fn update(&self, progress: ImportProgress) {
        let mut slot = self.stage.borrow_mut();
        if slot.as_ref().is_none_or(|stage| stage.stage != progress.stage) {
            if let Some(ended) = slot.take() {
                ended.bar.finish_and_clear();
            }
            *slot = Some(Stage::begin(progress, self.terminal, self.ended.get()));
        }
        self.ended.set(Instant::now());
        if let Some(stage) = slot.as_mut() {
            stage.bar.set_position(progress.done);
            if !self.terminal {
                stage.line(progress);
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(ended) = self.stage.borrow_mut().take() {
            ended.bar.finish_and_clear();
        }
    }
}

fn name(stage: ImportStage) -> &'static str {
    match stage {
        ImportStage::Reading => "reading",
        ImportStage::Ordering => "ordering",
        ImportStage::Indexing => "indexing",
        ImportStage::Verifying => "verifying",
        ImportStage::Vertices => "vertices",
        ImportStage::Sorting => "sorting",
        ImportStage::Storing => "storing",
        _ => "edges",
    }
}

/// What a stage is counted in.
fn unit(stage: ImportStage) -> &'static str {
    match stage {
        ImportStage::Vertices | ImportStage::Ordering | ImportStage::Verifying => "vertices",
        ImportStage::Storing => "segments",
        ImportStage::Indexing => "indexes",
        _ => "edges",
    }
}

impl Stage {
    fn begin(progress: ImportProgress, terminal: bool, begun: Instant) -> Self {
        let target = match terminal {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(progress.total), target);
        let template = match progress.stage {
            ImportStage::Reading => {
                "   {msg:9} {bar:32} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
            }
            _ => "   {msg:9} {bar:32} {human_pos} of {human_len}, {per_sec:0}, {eta} left",
        };
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(name(progress.stage));
        Self { stage: progress.stage, begun, last_line: Instant::now(), bar }
    }

    /// A line if one is due: now and then, and at the end.
    fn line(&mut self, progress: ImportProgress) {
        let ImportProgress { stage, done, total } = progress;
        if done < total && self.last_line.elapsed() < LINE_INTERVAL {
            return;
        }
        self.last_line = Instant::now();
        let seconds = self.begun.elapsed().as_secs_f64();
        let (amount, rate) = match stage {
            ImportStage::Reading => {
                let amount = format!("{} of {}", number::bytes(done), number::bytes(total));
                (amount, format!("{}/s", number::bytes((done as f64 / seconds.max(1e-3)) as u64)))
            }
            _ => {
                let amount = format!("{} of {}", number::count(done), number::count(total));
                (amount, number::rate(done, seconds, unit(stage)))
            }
        };
        let left = match done {
            done if done < total && done > 0 => {
                let left = seconds / done as f64 * (total - done) as f64;
                format!(", {} left", number::seconds(left))
            }
            _ => String::new(),
        };
        eprintln!("   {:9} {amount}, {rate}{left}", name(stage));
    }
}
