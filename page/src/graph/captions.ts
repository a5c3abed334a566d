// Which nodes have captions: none over another, and none over the middle of a node that is connected as well.

import type { Box } from './geometry'
import type { Point } from './placement'

// A node with a caption below it, in pixels.
export interface Captioned extends Point {
  id: string
  radius: number
  // Width of the caption.
  width: number
  // Of two that are in each other's way the higher one has its caption; at `ALWAYS` nothing is in the way.
  rank: number
  degree: number
}

export const ALWAYS = 2

const FONT = '12px system-ui, sans-serif'
const MARGIN = 3
const HEIGHT = 15

// Smaller nodes have none.
const RADIUS_MIN = 2

export function captionBox ({ x, y, radius, width }: Captioned): Box {
  const top = y + radius + MARGIN
  return { left: x - width / 2, right: x + width / 2, top, bottom: top + HEIGHT }
}

const CELL = 64

// Boxes and points by the cells that they touch.
class Grid<T> {
  private readonly cells = new Map<string, T[]>()

  add (box: Box, item: T): void {
    for (const key of keys(box)) {
      const cell = this.cells.get(key)
      if (cell) cell.push(item)
      else this.cells.set(key, [item])
    }
  }

  some (box: Box, test: (item: T) => boolean): boolean {
    for (const key of keys(box)) if (this.cells.get(key)?.some(test)) return true
    return false
  }
}

function * keys ({ left, right, top, bottom }: Box): Iterable<string> {
  for (let x = Math.floor(left / CELL); x <= Math.floor(right / CELL); x++) {
    for (let y = Math.floor(top / CELL); y <= Math.floor(bottom / CELL); y++) yield `${x} ${y}`
  }
}

// The nodes whose captions are drawn. *Cost*: that of sorting, where few are at one place.
export function captions (nodes: readonly Captioned[]): Set<string> {
  const middles = new Grid<Captioned>()
  for (const node of nodes) middles.add({ left: node.x, right: node.x, top: node.y, bottom: node.y }, node)
  const taken = new Grid<Box>()
  const chosen = new Set<string>()
  const sorted = [...nodes].sort((a, b) => b.rank - a.rank || b.radius - a.radius || b.degree - a.degree)
  for (const node of sorted) {
    if (node.width === 0) continue
    const box = captionBox(node)
    const isFree = node.rank >= ALWAYS || node.radius >= RADIUS_MIN && !taken.some(box, other => overlap(box, other)) &&
      !middles.some(box, other => other !== node && other.degree >= node.degree && covers(box, other))
    if (!isFree) continue
    chosen.add(node.id)
    taken.add(box, box)
  }
  return chosen
}

export const overlap = (a: Box, b: Box): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom

const covers = (box: Box, { x, y }: Point): boolean =>
  box.left < x && x < box.right && box.top < y && y < box.bottom

// The width of a text as captions have it.
export function ruler (): (text: string) => number {
  const context = document.createElement('canvas').getContext('2d')!
  context.font = FONT
  const known = new Map<string, number>()
  return text => {
    let width = known.get(text)
    if (width === undefined) known.set(text, width = text === '' ? 0 : context.measureText(text).width + 4)
    return width
  }
}
