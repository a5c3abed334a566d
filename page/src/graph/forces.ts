// What moves nodes in a layout: the model of ForceAtlas2, which the processor or the graphics card computes.

// From this size on, a graph is whole: the graphics card lays it out where it can, and it may take longer.
export const WHOLE_NODES_MIN = 20_000

// A graph as it is laid out: x and y of each node, in units of the layout, whether it is fixed, and the numbers
// of the nodes of each edge.
export interface Placed {
  positions: Float32Array
  fixed: Uint8Array
  edges: Uint32Array
}

export interface Settings {
  // Repulsion of two nodes of mass 1 at distance 1.
  scaling: number
  gravity: number
  slowDown: number
}

// A layout that runs. A node's mass is its degree and one more.
export interface Forces {
  // Moves all nodes by this many rounds.
  advance: (rounds: number) => void
  // Writes x and y of each node. False if they are lost: browsers take graphics cards away.
  read: (positions: Float32Array) => boolean
  // Moves one node, and says whether it stays there.
  place: (index: number, x: number, y: number, isFixed: boolean) => void
  end: () => void
}

// From this size on, a graph hardly changes after the first hundreds of rounds.
export const LARGE = 1000

export function settingsFor (order: number): Settings {
  return {
    scaling: 8,
    gravity: order > LARGE ? 0.02 : 0.06,
    slowDown: 1 + Math.log(Math.max(1, order)) / 2
  }
}

// The mass of each node.
export function masses (order: number, edges: Uint32Array): Float32Array {
  const masses = new Float32Array(order).fill(1)
  for (const end of edges) masses[end]! += 1
  return masses
}
