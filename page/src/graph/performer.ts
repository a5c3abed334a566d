// What puts a view on the stage: draws it when it changes, lays it out, and does what the pointer says.

import { signal, type ReadonlySignal } from '@preact/signals'

import type { Actions } from './actions'
import { Layout } from './layout'
import { Painter } from './paint'
import type { Theme } from './palette'
import { Stage, type StageEvents } from './stage'
import type { View } from './view'

export class Performer {
  // None without WebGL.
  readonly stage: Stage | undefined
  readonly isRunning = signal(false)

  // How long the last layout took, for measurements.
  layoutMilliseconds = 0
  private readonly hovered = signal<string | undefined>(undefined)
  private readonly isCrowded = signal(false)
  private readonly layout: Layout
  private known = new Set<string>()
  private edgeCount = 0
  private started = 0

  // Whether the camera follows what is laid out: until the user moves it.
  private follows = true

  constructor (
    readonly view: View, private readonly actions: Actions, readonly theme: ReadonlySignal<Theme>,
    box: HTMLDivElement, overlay: SVGSVGElement
  ) {
    this.layout = new Layout((positions, isLast) => this.move(positions, isLast))
    if (!hasWebGL()) return
    this.stage = new Stage(box, overlay, this.events())
    this.stage.companions = id => {
      const selected = view.selectedNodes()
      return selected.includes(id) ? selected : [id]
    }
  }

  // Draws another scene, and lays it out if something in it is new.
  show (): void {
    const { view, stage } = this
    const scene = view.scene.value
    this.hovered.value = undefined
    const painter = new Painter(view, this.theme.value, this.isCrowded.value)
    stage?.show(scene, view.positions, painter, this.theme.value)
    const fresh = [...scene.nodes.keys()].filter(id => !this.known.has(id))
    const isFirst = this.known.size === 0
    const isOther = fresh.length === scene.nodes.size
    this.known = new Set(scene.nodes.keys())
    const isGrown = fresh.length > 0 || scene.edges.length > this.edgeCount
    this.edgeCount = scene.edges.length
    if (isFirst || isOther) {
      this.follows = true
      stage?.fit(undefined, false)
    }
    if (isGrown || this.isRunning.value) this.layOut(isFirst || isOther || fresh.length > 0)
  }

  // Paints the scene that is drawn. What is read here is what painting follows.
  paint (): void {
    const { view } = this
    view.selection.value
    view.styles.value
    view.override.value
    view.changes.value
    view.more.value
    view.pinned.value
    view.look.value
    // In a cloud, nothing is dimmed while the pointer is at a node: all would have to be painted again.
    const hovered = this.stage?.isCloud ? undefined : this.hovered.value
    this.stage?.paint(new Painter(view, this.theme.value, this.isCrowded.value, hovered), this.theme.value)
  }

  layOut (follows = true): void {
    const { view } = this
    const scene = view.scene.peek()
    if (!this.stage || scene.nodes.size < 2) return
    if (follows) this.follows = true
    const places = new Map([...scene.nodes.keys()].map(id => [id, view.positions.get(id)!]))
    this.started = performance.now()
    this.isRunning.value = true
    this.layout.start(places, scene.edges, view.pinned.peek())
  }

  stop (): void {
    this.layout.stop()
  }

  kill (): void {
    this.layout.kill()
    this.stage?.kill()
  }

  private move (positions: Float32Array, isLast: boolean): void {
    this.stage?.move(positions, this.follows, isLast)
    if (!isLast) return
    this.layoutMilliseconds = performance.now() - this.started
    this.isRunning.value = false
  }

  private events (): StageEvents {
    const { view, actions } = this
    return {
      click: (key, isAdded) => view.select(this.members(key), isAdded),
      clickStage: () => view.select([]),
      open: id => void actions.expand(id),
      hover: key => {
        this.hovered.value = key
      },
      drag: (ids, phase) => {
        this.follows = false
        for (const id of ids) {
          const point = this.stage!.position(id)!
          this.layout.move(id, point, phase === 'move' || view.pinned.value.has(id))
        }
      },
      lasso: (ids, isAdded) => view.select(isAdded ? new Set([...view.selection.value, ...ids]) : ids),
      moved: () => {
        this.follows = false
      },
      crowded: isCrowded => {
        this.isCrowded.value = isCrowded
      }
    }
  }

  // A node, or the relationships of an edge.
  private members (key: string): string[] {
    const { nodes, edges } = this.view.scene.value
    if (nodes.has(key)) return [key]
    return edges.find(edge => edge.key === key)?.members.map(member => member.id) ?? []
  }
}

function hasWebGL (): boolean {
  const context = document.createElement('canvas').getContext('webgl2')
  // Browsers keep a few contexts only.
  context?.getExtension('WEBGL_lose_context')?.loseContext()
  return context !== null
}
