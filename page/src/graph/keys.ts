// Keys of the stage.

import type { Actions } from './actions'
import { nearest, type Direction } from './geometry'
import type { Point } from './placement'
import type { View } from './view'

// What keys do with the stage.
export interface Sight {
  camera: { zoom: (factor: number) => void, pan: (x: number, y: number) => void }
  fit: (ids?: Iterable<string>) => void
  isSeen: (id: string) => boolean
  center: (id: string) => void
}

const ARROWS: Record<string, Direction> = {
  ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down'
}

const PAN_PIXELS = 80

// Does what a key says; returns whether it says something.
export function press (event: KeyboardEvent, view: View, actions: Actions, stage: Sight): boolean {
  const direction = ARROWS[event.key]
  if (direction) {
    if (event.altKey) pan(direction, stage)
    else walk(direction, view, stage, event.shiftKey)
    return true
  }
  const selected = view.selectedNodes()
  switch (event.key) {
    case '+': case '=': stage.camera.zoom(1.4); return true
    case '-': stage.camera.zoom(1 / 1.4); return true
    case '0': stage.fit(); return true
    case 'Enter':
      if (selected.length > 0) void actions.expand(selected.at(-1)!)
      return true
    case 'Delete': case 'Backspace': view.hide(selected); return true
    case 'Escape': view.select([]); return true
    case 'p': case 'P':
      if (event.ctrlKey || event.metaKey) return false
      view.pin(selected, !selected.every(id => view.pinned.value.has(id)))
      return true
    case 'a':
      if (!event.ctrlKey && !event.metaKey) return false
      view.selectAll()
      return true
    default: return false
  }
}

function pan (direction: Direction, stage: Sight): void {
  const x = { left: -PAN_PIXELS, right: PAN_PIXELS, up: 0, down: 0 }[direction]
  const y = { left: 0, right: 0, up: -PAN_PIXELS, down: PAN_PIXELS }[direction]
  stage.camera.pan(x, y)
}

// Goes to the nearest node in a direction, and at first to any.
function walk (direction: Direction, view: View, stage: Sight, isAdded: boolean): void {
  const { nodes } = view.scene.value
  const points: [string, Point][] = [...nodes.keys()].flatMap(id => {
    const point = view.positions.get(id)
    return point ? [[id, point] as [string, Point]] : []
  })
  const from = view.current.value === undefined ? undefined : view.positions.get(view.current.value)
  const next = from ? nearest(from, points, direction) : points[0]?.[0]
  if (next === undefined) return
  if (isAdded) view.select(new Set([...view.selection.value, next]))
  else view.select([next])
  if (!stage.isSeen(next)) stage.center(next)
}
