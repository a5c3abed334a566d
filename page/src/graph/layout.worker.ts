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
const SETTLED = 0.0002
const SETTLED_ROUNDS = 5
const ROUNDS_MIN = 40

// A graph that swings for ever has had enough rounds. Large ones hardly change after the first hundred.
const ROUNDS_MAX = 1200
const ROUNDS_MAX_LARGE = 200
const LARGE = 1000

// Time that a layout has even if the worker was late.
const MILLISECONDS_MIN = 800

interface Run {
  number: number
  nodes: Float32Array
  // The nodes of the round before.
  before: Float32Array
  edges: Float32Array
  settings: object
  end: number
  rounds: number
  most: number
  calm: number
}

let run: Run | undefined

// Whether the page has drawn what was sent last.
let isDrawn = true

const post = (message: FromLayout, transfer: Transferable[] = []): void => {
  self.postMessage(message, { transfer })
}

self.onmessage = ({ data }: MessageEvent<ToLayout>) => {
  switch (data.kind) {
    case 'start': begin(data); break
    case 'stop':
      if (run) finish(run)
      break
    case 'drawn': isDrawn = true; break
    case 'move':
      if (run && run.number === data.run) {
        const at = data.index * NODE
        run.nodes[at] = data.x / SCALE
        run.nodes[at + 1] = data.y / SCALE
        run.nodes[at + FIXED] = data.isFixed ? 1 : 0
      }
  }
}

function begin ({ run: number, positions, fixed, edges: pairs, end }: ToLayout & { kind: 'start' }): void {
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
    before: new Float32Array(nodes.length),
    edges,
    settings: {
      linLogMode: false,
      outboundAttractionDistribution: false,
      adjustSizes: false,
      edgeWeightInfluence: 1,
      scalingRatio: 8,
      strongGravityMode: true,
      gravity: order > LARGE ? 0.02 : 0.06,
      slowDown: 1 + Math.log(Math.max(1, order)) / 2,
      barnesHutOptimize: order > 600,
      // Coarser is three times as fast for thousands of nodes, and ends as well.
      barnesHutTheta: order > LARGE ? 1.3 : 0.6
    },
    end: Math.max(end - performance.timeOrigin, performance.now() + MILLISECONDS_MIN),
    rounds: 0,
    most: order > LARGE ? ROUNDS_MAX_LARGE : ROUNDS_MAX,
    calm: 0
  }
  isDrawn = true
  step(run)
}

function step (current: Run): void {
  if (run !== current) return
  const sliceEnd = Math.min(current.end, performance.now() + SLICE_MILLISECONDS)
  do {
    round(current)
  } while (performance.now() < sliceEnd && !isOver(current))
  if (isOver(current)) finish(current)
  else {
    if (isDrawn) send(current, false)
    // Messages come in between.
    setTimeout(step, 0, current)
  }
}

function round (current: Run): void {
  const { nodes, before } = current
  before.set(nodes)
  iterate(current.settings, nodes, current.edges)
  current.rounds++
  let moved = 0
  let left = Infinity
  let right = -Infinity
  for (let at = 0; at < nodes.length; at += NODE) {
    moved += Math.abs(nodes[at]! - before[at]!) + Math.abs(nodes[at + 1]! - before[at + 1]!)
    left = Math.min(left, nodes[at]!)
    right = Math.max(right, nodes[at]!)
  }
  const share = moved / (nodes.length / NODE) / Math.max(1, right - left)
  current.calm = current.rounds > ROUNDS_MIN && share < SETTLED ? current.calm + 1 : 0
}

function isOver (current: Run): boolean {
  return performance.now() >= current.end || current.calm >= SETTLED_ROUNDS || current.rounds >= current.most
}

function finish (current: Run): void {
  run = undefined
  send(current, true)
}

function send ({ nodes, number }: Run, isLast: boolean): void {
  const positions = new Float32Array(nodes.length / NODE * 2)
  for (let index = 0; index < nodes.length / NODE; index++) {
    positions[2 * index] = nodes[index * NODE]! * SCALE
    positions[2 * index + 1] = nodes[index * NODE + 1]! * SCALE
  }
  isDrawn = false
  post({ run: number, positions, isLast }, [positions.buffer])
}
