//! Baselines and measurements.
//!
//! A storage layout is worth what it costs next to others, so everything here compares: the same
//! edges go into several [`container`]s, the same kernels run over each, and every answer is
//! checked against a flat CSR before anything is timed.
//!
//! | module | holds |
//! |---|---|
//! | [`container`] | what a graph store must do to be measured; `AdjLst` and `Tel` as baselines |
//! | [`workload`] | loads, updates, scans, searches, kernels |
//! | [`measure`], [`histogram`] | clocks, medians, interleaved runs, latencies |
//! | [`kernel`] | all of it together: the benchmark behind `telar bench kernel` |
//! | [`import`] | text to a durable database: the benchmark behind `telar bench import` |
//! | [`backup`] | bytes and time of backups, writers beside them: `telar bench backup` |
//! | [`soak`] | a long run of everything, which fails if something grows: `telar bench soak` |
//! | [`history`] | the past beside the present: the benchmark behind `telar bench history` |
//! | [`index`] | property indexes: the benchmark behind `telar bench index` |
//! | [`memory`] | graphs larger than memory: the benchmark behind `telar bench memory` |
//! | [`cypher`] | queries, for comparison with other engines: `telar bench cypher` |
//! | [`snb`] | LDBC's social network, its reads and a mixed run: `telar bench snb` |
//! | [`commits`] | large transactions: `telar bench commits` |
//! | [`cluster`] | a replicated database, its stores: `telar bench cluster`, `telar bench stores` |
//! | [`algorithms`] | graph kernels in place, beside writers, scaling: `telar bench algorithms` |
//! | [`order`] | orders of the vertices, shuffled ids against each: `telar bench order` |
//! | [`arrow`] | results as record batches: `telar bench arrow` |
//! | [`kv`] | next to the graph over key-value stores: `telar bench kv` |
//! | [`report`], [`machine`], [`plot`] | tables, JSON, the machine's description, SVG charts |
//!
//! Graphs, random numbers and the flat CSR that all read ratios are relative to are those of
//! `telar_generate`. The program `telar-bench` (`src/main.rs`) runs the benchmarks; `telar bench`
//! runs that program. docs/benchmarks.md says how to read what it prints.

pub mod algorithms;
pub mod arrow;
pub mod backup;
pub mod cluster;
pub mod commits;
pub mod container;
pub mod cypher;
pub mod figures;
pub mod histogram;
pub mod history;
pub mod import;
pub mod index;
pub mod kernel;
pub mod kv;
pub mod live;
pub mod machine;
pub mod measure;
pub mod mem;
pub mod memory;
pub mod order;
pub mod plot;
pub mod report;
pub mod snb;
pub mod soak;
pub mod workload;
