//! The Python package `telar`: the embedded database for Python programs and notebooks.
//!
//! ```text
//!  python/telar/__init__.py   what users see: names, `open`
//!  python/telar/_frames.py    results as frames, arrays and graphs of other libraries
//!  python/telar/_programs.py  vertex programs, and _topology.py the graph that they run on
//!  database · session · transaction      what a statement runs in
//!      runner                            sessions of the engine: settings, interrupts, forks
//!  result · stream · row                 what it returns
//!      value · entity · temporal · point · duration     cells, both ways
//!      frame                             Arrow, both ways
//!  load                                  tables that become nodes and relationships
//!  function                              functions of Python that statements call
//!  error                                 exceptions
//!  interrupt · fork                      Ctrl-C, and children of this process
//! ```
//!
//! Python is not held while a statement runs: other threads go on. Whatever a class holds is behind
//! a lock of its own or never changes, so that the module also serves Python without a global lock.

mod database;
mod duration;
mod entity;
mod error;
mod fork;
mod frame;
mod function;
mod interrupt;
mod layout;
mod load;
mod point;
mod result;
mod row;
mod runner;
mod session;
mod settings;
mod stream;
mod temporal;
mod transaction;
mod value;
mod vector;

use pyo3::prelude::*;

/// The database itself. Use it as `telar`.
#[pymodule(gil_used = false)]
fn _telar(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(database::open, module)?)?;
    module.add_function(wrap_pyfunction!(database::close_all, module)?)?;
    module.add_function(wrap_pyfunction!(fork::forking, module)?)?;
    module.add_function(wrap_pyfunction!(fork::went_on, module)?)?;
    module.add_function(wrap_pyfunction!(fork::forked, module)?)?;
    module.add_function(wrap_pyfunction!(frame::table, module)?)?;
    module.add_function(wrap_pyfunction!(layout::layout, module)?)?;
    module.add_class::<database::Database>()?;
    module.add_class::<duration::Duration>()?;
    module.add_class::<entity::Node>()?;
    module.add_class::<entity::Path>()?;
    module.add_class::<entity::Relationship>()?;
    module.add_class::<interrupt::Token>()?;
    module.add_class::<load::Load>()?;
    module.add_class::<point::Point>()?;
    module.add_class::<vector::Vector>()?;
    module.add_class::<result::Result>()?;
    module.add_class::<row::Row>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<stream::Stream>()?;
    module.add_class::<temporal::Temporal>()?;
    module.add_class::<transaction::Transaction>()?;
    error::add(module)
}
