declare module 'graphology-layout-forceatlas2/iterate' {
  // One round of the layout over matrices of nodes and edges, in place.
  export default function iterate (settings: object, nodes: Float32Array, edges: Float32Array): object
}
