// What the pointer does on a stage: it points, clicks, drags nodes, and draws lassos.

import type Sigma from 'sigma'
import type { MouseCoords } from 'sigma/types'

import type { EdgeAttributes, NodeAttributes } from './drawing'
import { isInside } from './geometry'
import type { Point } from './placement'

// How far from a node of a cloud the pointer may be, in pixels.
const REACH_PIXELS = 8

export interface PointerEvents {
  click: (id: string, isAdded: boolean) => void
  clickStage: () => void
  open: (id: string) => void
  hover: (key: string | undefined) => void
  drag: (ids: readonly string[], phase: 'move' | 'end') => void
  lasso: (ids: string[], isAdded: boolean) => void
}

// The stage as the pointer finds it.
export interface Board {
  // Whether dragging the stage draws a lasso without Shift.
  readonly isLassoTool: boolean
  readonly isMoving: boolean
  // Whether Sigma does not know where most nodes are.
  readonly isCloud: boolean
  // The node of a cloud near a point, within so many units.
  hit: (point: Point, reach: number) => string | undefined
  // Nodes that move together with a dragged one.
  companions: (id: string) => readonly string[]
  setMoving: (isMoving: boolean) => void
  shift: (ids: readonly string[], by: Point) => void
  // The nodes have come to rest.
  rest: (ids: readonly string[]) => void
  // Where all nodes are drawn, in pixels.
  places: () => Iterable<[id: string, place: Point]>
}

export class Pointer {
  hovered: string | undefined
  private dragged: { ids: readonly string[], last: Point, isMoved: boolean } | undefined
  private lassoed: { points: Point[], isAdded: boolean } | undefined

  constructor (
    private readonly sigma: Sigma<NodeAttributes, EdgeAttributes>, private readonly board: Board,
    private readonly container: HTMLElement,
    // The line of the lasso.
    private readonly overlay: SVGSVGElement,
    private readonly events: PointerEvents
  ) {
    this.bindClicks()
    sigma.on('enterNode', ({ node }) => this.hover(node))
    sigma.on('enterEdge', ({ edge }) => this.hover(edge))
    sigma.on('leaveNode', () => this.hover(undefined))
    sigma.on('leaveEdge', () => this.hover(undefined))
    sigma.on('downNode', ({ node, event }) => this.down(node, event))
    sigma.on('downStage', ({ event }) => this.down(this.hit(event), event))
    sigma.on('moveBody', ({ event }) => {
      if (this.dragged) this.dragTo(event)
      else if (this.lassoed) this.lassoTo(event)
      else if (board.isCloud && !board.isMoving) this.hover(this.hit(event))
    })
    sigma.getMouseCaptor().on('mouseup', () => {
      this.endDrag()
      this.endLasso()
    })
  }

  // Nodes that are where the pointer is.
  get held (): readonly string[] {
    return this.dragged?.ids ?? []
  }

  private bindClicks (): void {
    const { sigma, events } = this
    const isAdded = (event: MouseCoords): boolean => event.original.shiftKey || event.original.ctrlKey ||
      event.original.metaKey
    let last: string | undefined
    const click = (key: string | undefined, event: MouseCoords): void => {
      last = key
      if (key !== undefined) events.click(key, isAdded(event))
      else if (!isAdded(event)) events.clickStage()
    }
    sigma.on('clickNode', ({ node, event }) => click(node, event))
    sigma.on('clickEdge', ({ edge, event }) => click(edge, event))
    sigma.on('clickStage', ({ event }) => click(this.hit(event), event))
    // Two clicks that follow each other fast at different nodes are none.
    const doubleClick = (id: string, event: MouseCoords): void => {
      if (id === last && !isAdded(event)) events.open(id)
      else click(id, event)
    }
    sigma.on('doubleClickNode', payload => {
      payload.preventSigmaDefault()
      doubleClick(payload.node, payload.event)
    })
    sigma.on('doubleClickStage', payload => {
      const id = this.hit(payload.event)
      if (id === undefined) return
      payload.preventSigmaDefault()
      doubleClick(id, payload.event)
    })
    sigma.on('doubleClickEdge', payload => payload.preventSigmaDefault())
  }

  private hit (event: MouseCoords): string | undefined {
    if (!this.board.isCloud) return undefined
    const point = this.sigma.viewportToGraph(event)
    const aside = this.sigma.viewportToGraph({ x: event.x + REACH_PIXELS, y: event.y })
    return this.board.hit(point, Math.hypot(aside.x - point.x, aside.y - point.y))
  }

  private hover (key: string | undefined): void {
    if (this.dragged?.isMoved || key === this.hovered) return
    this.hovered = key
    this.container.style.cursor = key === undefined ? '' : 'pointer'
    this.events.hover(key)
  }

  private down (id: string | undefined, event: MouseCoords): void {
    if (!isLeft(event)) return
    const isShifted = event.original.shiftKey
    if (id !== undefined) {
      if (isShifted) return
      this.dragged = { ids: this.board.companions(id), last: this.sigma.viewportToGraph(event), isMoved: false }
    } else if (isShifted || this.board.isLassoTool) {
      this.lassoed = { points: [{ x: event.x, y: event.y }], isAdded: isShifted }
    }
  }

  private dragTo (event: MouseCoords): void {
    const dragged = this.dragged!
    const point = this.sigma.viewportToGraph(event)
    const by = { x: point.x - dragged.last.x, y: point.y - dragged.last.y }
    event.preventSigmaDefault()
    if (by.x === 0 && by.y === 0) return
    dragged.last = point
    dragged.isMoved = true
    this.board.setMoving(true)
    this.board.shift(dragged.ids, by)
    this.events.drag(dragged.ids, 'move')
  }

  private endDrag (): void {
    const { dragged } = this
    this.dragged = undefined
    this.board.setMoving(false)
    if (!dragged?.isMoved) return
    this.board.rest(dragged.ids)
    this.events.drag(dragged.ids, 'end')
  }

  private lassoTo (event: MouseCoords): void {
    event.preventSigmaDefault()
    this.lassoed!.points.push({ x: event.x, y: event.y })
    const polygon = document.createElementNS('http://www.w3.org/2000/svg', 'polygon')
    polygon.setAttribute('points', this.lassoed!.points.map(({ x, y }) => `${x},${y}`).join(' '))
    polygon.setAttribute('class', 'graph-lasso')
    this.overlay.replaceChildren(polygon)
  }

  private endLasso (): void {
    const { lassoed } = this
    this.lassoed = undefined
    if (!lassoed) return
    this.overlay.replaceChildren()
    if (lassoed.points.length < 3) return
    const inside = [...this.board.places()].filter(([, place]) => isInside(place, lassoed.points))
    this.events.lasso(inside.map(([id]) => id), lassoed.isAdded)
  }
}

function isLeft ({ original }: MouseCoords): boolean {
  return !('button' in original) || original.button === 0
}
