//! Shortest paths, traversals, cycles, spanning trees, flows and walks.
//!
//! | module | answers | needs |
//! |---|---|---|
//! | [`sssp`] | weighted distances from one vertex (delta-stepping) | out-neighbours |
//! | [`bfs`] | hops from one vertex (direction-optimising) | out- and in-neighbours |
//! | [`dfs`] | the order of a depth-first search | out-neighbours |
//! | [`shortest_path`] | one path, by weight or hops | out- and in-neighbours |
//! | [`astar`] | one path between two positions on the earth (A*) | out-neighbours, positions |
//! | [`yens`] | the k shortest paths between two vertices (Yen) | out-neighbours |
//! | [`bellman_ford`] | distances where weights may be negative | out-neighbours |
//! | [`all_pairs`] | distances between all pairs, or from some sources | out-neighbours |
//! | [`topological`] | an order along the edges, or a cycle | out-neighbours |
//! | [`longest_path`] | longest paths in a graph without cycles | out-neighbours |
//! | [`cycles`] | simple cycles, with conditions on times and amounts | out- and in-neighbours |
//! | [`spanning_tree`] | minimum or maximum spanning trees (Borůvka) | undirected adjacency |
//! | [`bridges`] | bridges, articulation points, biconnected components | undirected adjacency |
//! | [`max_flow`] | maximum flow and minimum cut (Dinic) | out- and in-neighbours |
//! | [`random_walk`] | random walks of second order (node2vec) | out-neighbours |

pub mod all_pairs;
pub mod astar;
pub mod bellman_ford;
pub mod bfs;
pub mod bridges;
pub mod cycles;
pub mod dfs;
pub mod longest_path;
pub mod max_flow;
pub mod path;
pub mod random_walk;
pub mod shortest_path;
pub mod spanning_tree;
pub mod sssp;
pub mod topological;
pub mod yens;
