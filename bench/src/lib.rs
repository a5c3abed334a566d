//! Generators, baselines and measurements.
//!
//! A storage layout is worth what it costs next to others, so everything here compares: the same
//! edges go into several [`container`]s, the same kernels run over each, and every answer is
//! checked against a flat CSR before anything is timed.
//!
//! | module | holds |
//! |---|---|
//! | [`generate`] | seeded edge lists: RMAT, uniform, star; the social network of the demo |
//! | [`csr`] | the flat CSR all read ratios are relative to |
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
//! | [`kv`] | next to the graph over key-value stores: `telar bench kv` |
//! | [`report`], [`machine`], [`plot`] | tables, JSON, the machine's description, SVG charts |
//!
//! `telar bench kernel` runs the comparison; docs/benchmarks.md says how to read it.

pub mod backup;
pub mod commits;
pub mod container;
pub mod csr;
pub mod cypher;
pub mod figures;
pub mod generate;
pub mod histogram;
pub mod history;
pub mod import;
pub mod index;
pub mod kernel;
pub mod kv;
pub mod machine;
pub mod measure;
pub mod mem;
pub mod memory;
pub mod plot;
pub mod report;
pub mod rng;
pub mod snb;
pub mod soak;
pub mod workload;
