//! Parts that the programs `telar` and `telar-bench` share: allocator, output, exit codes.
//!
//! Results go to standard output ([`Screen`]); progress and errors go to standard error.

pub mod allocator;
mod exit;
pub mod number;
mod screen;

pub use exit::exit_code;
pub use screen::Screen;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of the process so far in seconds, all threads, time in the kernel included.
pub fn process_cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}
