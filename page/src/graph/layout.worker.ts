// The layout, away from the thread that draws: ForceAtlas2, streamed while it runs.

import iterate from 'graphology-layout-forceatlas2/iterate'
import type { FromLayout, ToLayout } from './layout'

// Fields of a node and of an edge in the matrices of ForceAtlas2.
const NODE = 10
const EDGE = 3
const FIXED = 9

// Units of the stage for one of the layout.
const SCALE = 11

// Time between two messages.
const SLICE_MILLISECONDS = 16

// Movement of an average node, as a share of the extent, below which the layout has settled.
const SETTLED = 0.0004
const SETTLED_ROUNDS = 4
const ROUNDS_MIN = 40

interface Run {
  number: number
  nodes: Float32Array
  edges: Float32Array
  settings: object
  end: number
  rounds: number
  calm: number
}

let run: Run | undefined

const post = (message: FromLayout, transfer: Transferable[] = []): void => {
  self.postMessage(message, { transfer })
}

self.onmessage = ({ data }: MessageEvent<ToLayout>) => {
  switch (data.kind) {
    case 'start': begin(data); break
    case 'stop':
      if (run) finish(run)
      break
    case 'move':
      if (run && run.number === data.run) {
        const at = data.index * NODE
        run.nodes[at] = data.x / SCALE
        run.nodes[at + 1] = data.y / SCALE
        run.nodes[at + FIXED] = data.isFixed ? 1 : 0
      }
  }
}

function begin ({ run: number, positions, fixed, edges: pairs, milliseconds }: ToLayout & { kind: 'start' }): void {
  const order = fixed.length
  const nodes = new Float32Array(order * NODE)
  for (let index = 0; index < order; index++) {
    const at = index * NODE
    nodes[at] = positions[2 * index]! / SCALE
    nodes[at + 1] = positions[2 * index + 1]! / SCALE
    // Mass, which grows with the degree, convergence and size.
    nodes[at + 6] = 1
    nodes[at + 7] = 1
    nodes[at + 8] = 1
    nodes[at + FIXED] = fixed[index]!
  }
  const edges = new Float32Array(pairs.length / 2 * EDGE)
  for (let index = 0; index < pairs.length / 2; index++) {
    const source = pairs[2 * index]! * NODE
    const target = pairs[2 * index + 1]! * NODE
    edges[index * EDGE] = source
    edges[index * EDGE + 1] = target
    edges[index * EDGE + 2] = 1
    nodes[source + 6]! += 1
    nodes[target + 6]! += 1
  }
  run = {
    number,
    nodes,
    edges,
    settings: {
      linLogMode: false,
      outboundAttractionDistribution: false,
      adjustSizes: false,
      edgeWeightInfluence: 1,
      scalingRatio: 8,
      strongGravityMode: true,
      gravity: order > 1000 ? 0.02 : 0.06,
      slowDown: 1 + Math.log(Math.max(1, order)) / 2,
      barnesHutOptimize: order > 600,
      barnesHutTheta: order > 5000 ? 0.9 : 0.6
    },
    end: performance.now() + milliseconds,
    rounds: 0,
    calm: 0
  }
  step(run)
}

function step (current: Run): void {
  if (run !== current) return
  const sliceEnd = Math.min(current.end, performance.now() + SLICE_MILLISECONDS)
  do {
    round(current)
  } while (performance.now() < sliceEnd && current.calm < SETTLED_ROUNDS)
  if (performance.now() >= current.end || current.calm >= SETTLED_ROUNDS) finish(current)
  else {
    send(current, false)
    // Messages come in between.
    setTimeout(step, 0, current)
  }
}

function round (current: Run): void {
  const { nodes } = current
  iterate(current.settings, nodes, current.edges)
  current.rounds++
  let moved = 0
  let left = Infinity
  let right = -Infinity
  for (let at = 0; at < nodes.length; at += NODE) {
    // Forces of this round and what a node followed of them.
    moved += Math.min(10, Math.hypot(nodes[at + 2]!, nodes[at + 3]!)) * nodes[at + 7]!
    left = Math.min(left, nodes[at]!)
    right = Math.max(right, nodes[at]!)
  }
  const share = moved / (nodes.length / NODE) / Math.max(1, right - left) / 10
  current.calm = current.rounds > ROUNDS_MIN && share < SETTLED ? current.calm + 1 : 0
}

function finish (current: Run): void {
  run = undefined
  send(current, true)
}

function send ({ nodes, number, rounds }: Run, isLast: boolean): void {
  const positions = new Float32Array(nodes.length / NODE * 2)
  for (let index = 0; index < nodes.length / NODE; index++) {
    positions[2 * index] = nodes[index * NODE]! * SCALE
    positions[2 * index + 1] = nodes[index * NODE + 1]! * SCALE
  }
  post({ run: number, positions, rounds, isLast }, [positions.buffer])
}
