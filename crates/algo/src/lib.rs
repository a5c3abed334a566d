//! Graph kernels over any Topology.
