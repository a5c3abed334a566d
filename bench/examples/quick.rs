//! Scratch.
#![allow(clippy::all, clippy::print_stdout, clippy::unwrap_used, missing_docs, reason = "scratch")]
use std::time::Instant;
use telar_bench::container::*;
use telar_bench::generate::{Rmat, edges, rmat};
use telar_bench::workload::*;
use telar_bench::csr::Csr;
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;
fn main() {
    let mut a = std::env::args().skip(1);
    let scale: u32 = a.next().map_or(18, |t| t.parse().unwrap());
    let p = Rmat { scale, edge_factor: 16, seed: 42 };
    let mut all = rmat(&p);
    edges::dedup_undirected(&mut all);
    edges::shuffle(&mut all, 43);
    let n = p.vertices();
    println!("{} edges", all.len());
    let out = Csr::<u32>::outgoing(n, &all); let inc = Csr::<u32>::incoming(n, &all);
    for batch in [1usize, 64] {
        let t = Telar::in_memory();
        t.writer().insert_vertices(n);
        let mut w = t.writer();
        let start = Instant::now();
        let tenth = all.len() / 10;
        let mut peak = 0f64;
        for (i, chunk) in all.chunks(tenth).enumerate() {
            let s = Instant::now();
            let mut added = 0;
            if batch == 1 { for &(u, v) in chunk { added += u64::from(w.insert_edge(u, v)); } }
            else { for b in chunk.chunks(batch) { added += w.insert_batch(b); } }
            assert_eq!(added, chunk.len() as u64);
            let entries = 2.0 * (i + 1) as f64 * tenth as f64;
            let b = t.memory_bytes() as f64 / entries;
            if i >= 4 { peak = peak.max(b); }
            if i % 3 == 0 || i == 9 { println!("b{batch} {}0%: {:.2} M entries/s, {:.2} B/entry", i + 1, 2e-6 * chunk.len() as f64 / s.elapsed().as_secs_f64(), b); }
        }
        println!("batch {batch}: {:.2} M entries/s, peak {peak:.2}", 2e-6 * all.len() as f64 / start.elapsed().as_secs_f64());
        let st = t.engine().settle_state(t.edge_type()).unwrap();
        println!("{st:?} unsettled {:.3}", st.unsettled as f64 / (st.settled + st.unsettled) as f64);
        for phase in ["fresh", "settled"] {
            if phase == "settled" { let s = Instant::now(); t.settle(); println!("settle {:?}", s.elapsed()); println!("{:.2} B/entry", t.memory_bytes() as f64 / (2 * all.len()) as f64); }
            let snap = t.snapshot();
            let (o, i) = (snap.out(), snap.in_());
            let mut subjects = [Subject::new("CSR", &out, &inc), Subject::new("T", &o, &i)];
            let plan = ReadPlan::new(&out, &inc, &ReadOptions::default());
            for k in Kernel::DIRECTED {
                let r = run_reads(&plan, k, &mut subjects, 5).unwrap();
                println!("{phase} {:12} CSR {:8.1} M/s  ratio {:.3}", k.name(), r[0].millions_per_s(), r[1].speed_ratio(&r[0]));
            }
        }
        if batch == 1 {
            let s = Instant::now(); let k = all.len() / 5;
            for &(u, v) in &all[..k] { assert!(!w.upsert_edge(u, v)); }
            println!("upsert {:.2} M entries/s", 2e-6 * k as f64 / s.elapsed().as_secs_f64());
            let k = all.len() * 8 / 100; let s = Instant::now();
            for &(u, v) in &all[..k] { assert!(w.delete_edge(u, v)); }
            println!("delete {:.2} M entries/s", 2e-6 * k as f64 / s.elapsed().as_secs_f64());
            let out = Csr::<u32>::outgoing(n, &all[k..]); let inc = Csr::<u32>::incoming(n, &all[k..]);
            let snap = t.snapshot();
            let st = t.engine().settle_state(t.edge_type()).unwrap(); println!("{st:?}");
            let (o, i) = (snap.out(), snap.in_());
            let mut subjects = [Subject::new("CSR", &out, &inc), Subject::new("T", &o, &i)];
            let plan = ReadPlan::new(&out, &inc, &ReadOptions::default());
            let r = run_reads(&plan, Kernel::Scan, &mut subjects, 5).unwrap();
            println!("deleted scan ratio {:.3}", r[1].speed_ratio(&r[0]));
        }
    }
}
