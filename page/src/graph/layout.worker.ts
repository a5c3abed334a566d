// The layout, away from the thread that draws, streamed while it runs: by the processor, or, for large graphs, by
// the graphics card.

import { ForceAtlas2 } from './forceatlas2'
import { LARGE, WHOLE_NODES_MIN, type Forces, type Placed } from './forces'
import type { FromLayout, ToLayout } from './layout'

// Units of the stage for one of the layout.
const SCALE = 11

// Time between two messages.
const SLICE_MILLISECONDS = 16

// Rounds that a graphics card may be given at once.
const ROUNDS_AT_ONCE_MAX = 16

// To draw a whole graph takes about as long as a round, often of the same card: that is done once in so many.
const ROUNDS_SENT = 6

// Movement of an average node in a round, as a share of the extent, below which the layout has settled.
const SETTLED = 0.0002
const SETTLED_TIMES = 5
const ROUNDS_MIN = 40

// A graph that swings for ever has had enough rounds. Large ones hardly change after the first hundreds.
const ROUNDS_MAX = 1200
const ROUNDS_MAX_LARGE = 200
const ROUNDS_MAX_GPU = 500

// Time that a layout has even if the worker was late.
const MILLISECONDS_MIN = 800

interface Run {
  number: number
  forces: Forces
  isGpu: boolean
  fixed: Uint8Array
  edges: Uint32Array
  positions: Float32Array
  // The positions before the last rounds.
  before: Float32Array
  end: number
  rounds: number
  // Rounds until positions are read again.
  atOnce: number
  calm: number
  // How long a round takes, and when positions were sent last.
  took: number
  sent: number
}

let run: Run | undefined

// The run that was asked for last, and its graph while the code for the graphics card is on its way.
let wanted = 0
let pending: Placed | undefined
let isStopped = false

// Whether the page has drawn what was sent last.
let isDrawn = true

const post = (message: FromLayout, transfer: Transferable[] = []): void => {
  self.postMessage(message, { transfer })
}

self.onmessage = ({ data }: MessageEvent<ToLayout>) => {
  switch (data.kind) {
    case 'start':
      wanted = data.run
      if (run) leave(run)
      void begin(data)
      break
    case 'stop':
      if (run) finish(run)
      else isStopped = true
      break
    case 'drawn': isDrawn = true; break
    case 'move':
      if (data.run === wanted) place(data)
  }
}

function place ({ index, x, y, isFixed }: ToLayout & { kind: 'move' }): void {
  const placed = run ?? pending
  if (!placed) return
  placed.fixed[index] = isFixed ? 1 : 0
  placed.positions.set([x / SCALE, y / SCALE], 2 * index)
  run?.forces.place(index, x / SCALE, y / SCALE, isFixed)
}

async function begin ({ run: number, positions, fixed, edges, end }: ToLayout & { kind: 'start' }): Promise<void> {
  const placed: Placed = { positions: positions.map(each => each / SCALE), fixed, edges }
  isStopped = false
  pending = placed
  const gpu = fixed.length < WHOLE_NODES_MIN ? undefined : await onCard(placed)
  // Another graph may have come meanwhile.
  if (wanted !== number) {
    gpu?.end()
    return
  }
  pending = undefined
  isDrawn = true
  run = {
    number,
    forces: gpu ?? new ForceAtlas2(placed),
    isGpu: gpu !== undefined,
    fixed,
    edges,
    positions: placed.positions,
    before: placed.positions.slice(),
    end: Math.max(end - performance.timeOrigin, performance.now() + MILLISECONDS_MIN),
    rounds: 0,
    atOnce: 1,
    calm: 0,
    took: 0,
    sent: 0
  }
  if (isStopped) finish(run)
  else step(run)
}

// Forces by the graphics card, or nothing where it cannot. The code for it is loaded the first time.
async function onCard (placed: Placed): Promise<Forces | undefined> {
  try {
    return (await import('./gpu')).Gpu.of(placed)
  } catch (error) {
    console.warn(`the processor lays the graph out: ${String(error)}`)
    return undefined
  }
}

function step (current: Run): void {
  if (run !== current) return
  const sliceEnd = Math.min(current.end, performance.now() + SLICE_MILLISECONDS)
  do {
    advance(current)
  } while (performance.now() < sliceEnd && !isOver(current))
  if (isOver(current)) finish(current)
  else {
    if (isDrawn && isDue(current)) send(current, false)
    // Messages come in between.
    setTimeout(step, 0, current)
  }
}

function isDue ({ fixed, took, sent }: Run): boolean {
  return fixed.length < WHOLE_NODES_MIN || performance.now() - sent >= took * ROUNDS_SENT
}

function advance (current: Run): void {
  const { forces, positions, before, atOnce } = current
  const begun = performance.now()
  before.set(positions)
  forces.advance(atOnce)
  if (!forces.read(positions)) {
    positions.set(before)
    current.forces = new ForceAtlas2(current)
    current.isGpu = false
    current.atOnce = 1
    return
  }
  const took = performance.now() - begun
  current.took = took / atOnce
  current.rounds += atOnce
  const share = movedShare(positions, before) / atOnce
  current.calm = current.rounds > ROUNDS_MIN && share < SETTLED ? current.calm + 1 : 0
  // To read is to wait: a card that is fast is given more at once.
  if (current.isGpu && took < SLICE_MILLISECONDS / 2) {
    current.atOnce = Math.min(ROUNDS_AT_ONCE_MAX, 2 * atOnce)
  }
}

// How far an average node has moved, as a share of the extent.
function movedShare (positions: Float32Array, before: Float32Array): number {
  let moved = 0
  let left = Infinity
  let right = -Infinity
  for (let at = 0; at < positions.length; at += 2) {
    const x = positions[at]!
    moved += Math.abs(x - before[at]!) + Math.abs(positions[at + 1]! - before[at + 1]!)
    left = Math.min(left, x)
    right = Math.max(right, x)
  }
  return moved / (positions.length / 2) / Math.max(1, right - left)
}

function isOver ({ end, calm, rounds, fixed, isGpu }: Run): boolean {
  const most = isGpu ? ROUNDS_MAX_GPU : fixed.length > LARGE ? ROUNDS_MAX_LARGE : ROUNDS_MAX
  return performance.now() >= end || calm >= SETTLED_TIMES || rounds >= most
}

function finish (current: Run): void {
  send(current, true)
  leave(current)
}

function leave (current: Run): void {
  run = undefined
  current.forces.end()
}

function send (current: Run, isLast: boolean): void {
  const { number, isGpu, rounds } = current
  const positions = current.positions.map(each => each * SCALE)
  isDrawn = false
  current.sent = performance.now()
  post({ run: number, positions, isLast, rounds, isGpu }, [positions.buffer])
}
