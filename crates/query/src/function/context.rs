//! What functions read besides their arguments: clocks, the default time zone, random numbers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::temporal::Zone;

/// A moment, as the time since 1970-01-01T00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// Seconds, rounded down.
    pub seconds: i64,
    /// Nanoseconds after them, in 0..=999,999,999.
    pub nanos: u32,
}

impl Moment {
    /// 1970-01-01T00:00Z.
    pub const EPOCH: Self = Self { seconds: 0, nanos: 0 };

    /// What the system's clock shows.
    #[must_use]
    pub fn now() -> Self {
        let (seconds, nanos) = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
            Err(before) => {
                // A clock before 1970 counts back: round down.
                let before = before.duration();
                let nanos = before.subsec_nanos();
                let borrow = i64::from(nanos > 0);
                (-(before.as_secs() as i64) - borrow, (1_000_000_000 - nanos) % 1_000_000_000)
            }
        };
        Self { seconds, nanos }
    }

    /// Milliseconds since 1970-01-01T00:00Z, rounded down.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.seconds.saturating_mul(1_000).saturating_add((self.nanos / 1_000_000) as i64)
    }
}

/// A clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// That of the system.
    #[default]
    System,
    /// One that stands.
    At(Moment),
}

impl Clock {
    /// What it shows.
    #[must_use]
    pub fn now(self) -> Moment {
        match self {
            Self::System => Moment::now(),
            Self::At(moment) => moment,
        }
    }
}

/// What a function may read besides its arguments. One per statement; threads share it.
#[derive(Debug)]
pub struct Context {
    /// When the statement began: `datetime()`, `datetime.statement()`.
    pub statement: Moment,
    /// When its transaction began: `datetime.transaction()`.
    pub transaction: Moment,
    /// The clock of `datetime.realtime()`.
    pub clock: Clock,
    /// The time zone of temporal values that name none.
    pub zone: Zone,
    /// Source of `rand()` and `randomUUID()`.
    pub random: Random,
}

impl Context {
    /// A statement that begins now, in a transaction that began at `transaction`, in UTC.
    #[must_use]
    pub fn new(transaction: Moment) -> Self {
        Self { transaction, ..Self::alone(Moment::now()) }
    }

    /// A statement that is a transaction of its own and begins at this moment, in UTC.
    #[must_use]
    pub fn alone(began: Moment) -> Self {
        Self {
            statement: began,
            transaction: began,
            clock: Clock::System,
            zone: Zone::UTC,
            random: Random::from_system(),
        }
    }

    /// A context in which nothing varies: every clock stands at `moment` and random numbers come
    /// from `seed`. For tests and simulations.
    #[must_use]
    pub fn fixed(moment: Moment, seed: u64) -> Self {
        Self {
            statement: moment,
            transaction: moment,
            clock: Clock::At(moment),
            zone: Zone::UTC,
            random: Random::seeded(seed),
        }
    }
}

/// Source of random numbers.
///
/// Numbers come from SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014), whose state is a counter, so that threads share it without a lock.
/// Identifiers come from the system, which no seed can make repeat; with a seed they do.
#[derive(Debug)]
pub struct Random {
    state: AtomicU64,
    seeded: bool,
}

impl Random {
    /// Numbers that differ from statement to statement and from run to run.
    #[must_use]
    pub fn from_system() -> Self {
        // The system is asked once: a call per statement would cost as much as a lookup.
        static SEEDS: OnceLock<Random> = OnceLock::new();
        let seeds = SEEDS.get_or_init(|| {
            // Without randomness from the system the clock has to do; nothing secret depends on it.
            let seed = getrandom::u64().unwrap_or_else(|_| {
                let now = Moment::now();
                now.seconds.unsigned_abs().rotate_left(32) ^ u64::from(now.nanos)
            });
            Self::seeded(seed)
        });
        Self { state: AtomicU64::new(seeds.next_u64()), seeded: false }
    }

    /// The same numbers for the same seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed), seeded: true }
    }

    /// The next number.
    pub fn next_u64(&self) -> u64 {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        // Only the counter itself is shared, so no order with other memory is needed.
        let mut z = self.state.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A float in 0.0..1.0, each of the 2^53 multiples of 2^-53 alike.
    pub fn next_unit(&self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 128 random bits for an identifier.
    pub fn next_u128(&self) -> u128 {
        let mut bytes = [0; 16];
        if self.seeded || getrandom::fill(&mut bytes).is_err() {
            return u128::from(self.next_u64()) << 64 | u128::from(self.next_u64());
        }
        u128::from_le_bytes(bytes)
    }
}
