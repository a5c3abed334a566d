//! Results of kernels, and what makes two of them the same.

use telar_algo::bfs::UNREACHED;

/// Largest difference between two floating-point numbers that count as the same, as a share of
/// them: sums over lists in another order differ in their last bits.
const TOLERANCE: f64 = 1e-9;

/// Result of a kernel.
#[derive(Debug)]
pub(super) enum Answer {
    /// A number per vertex.
    Scores(Vec<f64>),
    /// A whole number per vertex.
    Numbers(Vec<u32>),
    /// One whole number.
    Count(u64),
    /// One number.
    Total(f64),
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs())
}

impl Answer {
    /// Fails where this is not `expected`; the text says where.
    pub(super) fn require(&self, expected: &Self) -> Result<(), String> {
        let wrong = match (self, expected) {
            (Self::Scores(a), Self::Scores(b)) if a.len() == b.len() => {
                let differ = |(_, (a, b)): &(usize, (&f64, &f64))| !same(**a, **b);
                let found = a.iter().zip(b).enumerate().find(differ);
                found.map(|(v, (a, b))| format!("vertex {v} has {a}, not {b}"))
            }
            (Self::Numbers(a), Self::Numbers(b)) if a.len() == b.len() => {
                let found = a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b);
                found.map(|(v, (a, b))| format!("vertex {v} has {a}, not {b}"))
            }
            (Self::Count(a), Self::Count(b)) => (a != b).then(|| format!("{a}, not {b}")),
            (Self::Total(a), Self::Total(b)) => (!same(*a, *b)).then(|| format!("{a}, not {b}")),
            _ => Some("an answer of another kind or size".to_owned()),
        };
        wrong.map_or(Ok(()), Err)
    }

    /// The sum that statements compute: of the squares of scores, of the numbers of what was
    /// reached.
    pub(super) fn sum(&self) -> f64 {
        match self {
            Self::Scores(scores) => scores.iter().map(|score| score * score).sum(),
            Self::Numbers(numbers) => {
                let reached = numbers.iter().filter(|number| **number != UNREACHED);
                reached.map(|number| f64::from(*number)).sum()
            }
            Self::Count(count) => *count as f64,
            Self::Total(total) => *total,
        }
    }
}

#[test]
fn answers_that_differ_are_told_apart() {
    let scores = |last| Answer::Scores(vec![f64::INFINITY, 1.0, last]);
    assert_eq!(scores(2.0 + 1e-12).require(&scores(2.0)), Ok(()));
    let said = scores(2.1).require(&scores(2.0)).unwrap_err();
    assert_eq!(said, "vertex 2 has 2.1, not 2");
    assert!(Answer::Numbers(vec![1, 2]).require(&Answer::Numbers(vec![1, 3])).is_err());
    assert!(Answer::Numbers(vec![1]).require(&Answer::Numbers(vec![1, 3])).is_err());
    assert!(Answer::Count(1).require(&Answer::Count(2)).is_err());
    assert!(Answer::Total(1.0).require(&Answer::Count(1)).is_err());
    assert!(Answer::Total(f64::NAN).require(&Answer::Total(1.0)).is_err());
    assert_eq!(Answer::Numbers(vec![3, UNREACHED, 4]).sum(), 7.0);
}
