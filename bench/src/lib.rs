//! Generators, baselines and measurements.
