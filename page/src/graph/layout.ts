// The layout as the page sees it: a worker that gets a graph and sends positions.

import { WHOLE_NODES_MIN } from './forces'
import type { Point } from './placement'

export type ToLayout = {
  kind: 'start'
  run: number
  // x and y of each node.
  positions: Float32Array
  fixed: Uint8Array
  // Numbers of the nodes of each edge.
  edges: Uint32Array
  // When it is over, in milliseconds of the epoch: the page and its worker have different clocks.
  end: number
} | {
  kind: 'move'
  run: number
  index: number
  x: number
  y: number
  isFixed: boolean
} | { kind: 'stop' | 'drawn' }

export interface FromLayout {
  run: number
  positions: Float32Array
  isLast: boolean
  // How many rounds it took, and whether the graphics card computed the last ones.
  rounds: number
  isGpu: boolean
}

const LAYOUT_MILLISECONDS = 3000
const WHOLE_MILLISECONDS = 15_000

export class Layout {
  private readonly worker: Worker
  private run = 0
  private index = new Map<string, number>()
  private isRunning = false

  // Of the layout that ran last, for tests and measurements.
  rounds = 0
  isGpu = false

  // `onPositions` gets the nodes of the graph in the order in which they were given.
  constructor (private readonly onPositions: (positions: Float32Array, isLast: boolean) => void) {
    // While the first result is on its way.
    this.worker = this.open()
  }

  // Begins with a graph; a layout that runs ends.
  start (
    places: ReadonlyMap<string, Point>, edges: readonly { source: string, target: string }[],
    pinned: ReadonlySet<string>,
    milliseconds = places.size < WHOLE_NODES_MIN ? LAYOUT_MILLISECONDS : WHOLE_MILLISECONDS
  ): void {
    this.index = new Map()
    const positions = new Float32Array(places.size * 2)
    const fixed = new Uint8Array(places.size)
    let count = 0
    for (const [id, { x, y }] of places) {
      positions[2 * count] = x
      positions[2 * count + 1] = y
      fixed[count] = pinned.has(id) ? 1 : 0
      this.index.set(id, count++)
    }
    const pairs: number[] = []
    for (const { source, target } of edges) {
      const from = this.index.get(source)
      const to = this.index.get(target)
      if (from !== undefined && to !== undefined && from !== to) pairs.push(from, to)
    }
    const message: ToLayout = {
      kind: 'start',
      run: ++this.run,
      positions,
      fixed,
      edges: Uint32Array.from(pairs),
      end: performance.timeOrigin + performance.now() + milliseconds
    }
    this.isRunning = true
    this.worker.postMessage(message, [positions.buffer, fixed.buffer, message.edges.buffer])
  }

  // Moves a node while the layout runs.
  move (id: string, { x, y }: Point, isFixed: boolean): void {
    const index = this.index.get(id)
    if (!this.isRunning || index === undefined) return
    this.worker.postMessage({ kind: 'move', run: this.run, index, x, y, isFixed } satisfies ToLayout)
  }

  stop (): void {
    this.worker.postMessage({ kind: 'stop' } satisfies ToLayout)
  }

  kill (): void {
    this.worker.terminate()
  }

  private open (): Worker {
    const worker = new Worker(LAYOUT_WORKER, { type: 'module' })
    worker.onmessage = ({ data }: MessageEvent<FromLayout>) => {
      // What an earlier graph still sends is of other nodes.
      if (data.run !== this.run) return
      if (data.isLast) this.isRunning = false
      this.rounds = data.rounds
      this.isGpu = data.isGpu
      this.onPositions(data.positions, data.isLast)
      // The next positions come when these can be seen: not faster than frames are drawn.
      requestAnimationFrame(() => this.worker.postMessage({ kind: 'drawn' } satisfies ToLayout))
    }
    return worker
  }
}
