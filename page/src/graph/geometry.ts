// Plane geometry of the stage.

import type { Point } from './placement'

// Whether `point` is inside of `polygon` (even-odd rule).
export function isInside (point: Point, polygon: readonly Point[]): boolean {
  let inside = false
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const a = polygon[i]!
    const b = polygon[j]!
    if (a.y > point.y !== b.y > point.y && point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x) {
      inside = !inside
    }
  }
  return inside
}

export type Direction = 'left' | 'right' | 'up' | 'down'

const VECTORS: Record<Direction, Point> = {
  left: { x: -1, y: 0 },
  right: { x: 1, y: 0 },
  // Graphs have their y axis upwards.
  up: { x: 0, y: 1 },
  down: { x: 0, y: -1 }
}

// The nearest point in a direction: distance counts, and more so what is off the axis.
export function nearest (
  from: Point, points: Iterable<[string, Point]>, direction: Direction
): string | undefined {
  const vector = VECTORS[direction]
  let best: string | undefined
  let least = Infinity
  for (const [id, point] of points) {
    const dx = point.x - from.x
    const dy = point.y - from.y
    const along = dx * vector.x + dy * vector.y
    const across = Math.abs(dx * vector.y) + Math.abs(dy * vector.x)
    if (along <= 0 || across > along * 2) continue
    const cost = along + across * 2
    if (cost < least) {
      least = cost
      best = id
    }
  }
  return best
}

// The control point of the curve from `a` to `b`.
export function control (a: Point, b: Point, curvature: number): Point {
  const dx = b.x - a.x
  const dy = b.y - a.y
  return { x: (a.x + b.x) / 2 - dy * curvature, y: (a.y + b.y) / 2 + dx * curvature }
}

export interface Box {
  left: number
  right: number
  bottom: number
  top: number
}

// The smallest box around `points`; undefined if there are none.
export function boxOf (points: Iterable<Point>): Box | undefined {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity }
  for (const { x, y } of points) {
    box.left = Math.min(box.left, x)
    box.right = Math.max(box.right, x)
    box.bottom = Math.min(box.bottom, y)
    box.top = Math.max(box.top, y)
  }
  return box.left === Infinity ? undefined : box
}
