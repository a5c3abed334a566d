// Nodes and edges of a large graph: points and lines from one buffer of positions, which also software draws
// fast, and of still larger ones pictures that are drawn once for each place of the camera.
//
// Sigma's own edges have arrows, curves and captions, and take some 70 vertices each.

import type Sigma from 'sigma'
import type { RenderParams } from 'sigma/types'

import type { Edge } from './bundle'
import { Drawer, type Rgba } from './drawer'
import { Layers, type Sight } from './layers'
import type { Point } from './placement'

// From this size on, a graph is drawn as a cloud.
export const CLOUD_NODES_MIN = 1500
export const CLOUD_EDGES_MIN = 2500

// Nodes that have room side by side when all of them are in sight; more are drawn smaller.
const ROOMY_NODES = 20_000

export class Cloud {
  // Whether something moves, and whether all of it is too slow to draw in every frame.
  isMoving = false
  isSlow = false
  private readonly index = new Map<string, number>()
  private ids: string[] = []
  private positions: Float32Array = new Float32Array(0)
  private sizes = new Float32Array(0)
  private colors = new Uint8Array(0)
  private lines = new Uint32Array(0)
  private near = new Uint32Array(0)
  private line: Rgba = [0, 0, 0, 0]
  private accent: Rgba = [0, 0, 0, 0]
  private rim: Rgba = [0, 0, 0, 0]
  private grid: Map<number, number[]> | undefined
  private cell = 1
  private program: Drawer | undefined
  private layers: Layers | undefined
  // Whether a node was dragged since the pictures were drawn.
  private isDragged = false

  constructor (private readonly sigma: Sigma) {
    sigma.addCustomLayerProgram('cloud', 'edges', gl => {
      const drawer = new Drawer(gl)
      const layers = new Layers(gl)
      this.program = drawer
      this.layers = layers
      this.upload()
      return {
        preRender: params => this.draw(drawer, layers, params),
        render: params => this.render(drawer, layers, params),
        kill: () => {
          drawer.kill()
          layers.kill()
        }
      }
    })
  }

  get isEmpty (): boolean {
    return this.ids.length === 0
  }

  // Takes nodes with their positions, and edges between them; nothing ends the cloud.
  show (ids: Iterable<string>, edges: readonly Edge[], places: ReadonlyMap<string, Point>): void {
    this.ids = [...ids]
    this.index.clear()
    this.positions = new Float32Array(this.ids.length * 2)
    this.sizes = new Float32Array(this.ids.length)
    this.colors = new Uint8Array(this.ids.length * 4)
    this.ids.forEach((id, number) => {
      const { x, y } = places.get(id)!
      this.index.set(id, number)
      this.positions[2 * number] = x
      this.positions[2 * number + 1] = y
    })
    this.lines = new Uint32Array(edges.length * 2)
    edges.forEach(({ source, target }, number) => {
      this.lines[2 * number] = this.index.get(source)!
      this.lines[2 * number + 1] = this.index.get(target)!
    })
    this.near = new Uint32Array(0)
    this.grid = undefined
    this.upload()
  }

  paint (id: string, size: number, color: string): void {
    const number = this.index.get(id)
    if (number === undefined) return
    this.sizes[number] = size
    const value = parseInt(color.slice(1, 7), 16)
    this.colors[4 * number] = value >> 16
    this.colors[4 * number + 1] = value >> 8 & 255
    this.colors[4 * number + 2] = value & 255
    this.colors[4 * number + 3] = 255
  }

  // After all nodes have been painted.
  painted (line: Rgba, accent: Rgba, rim: Rgba): void {
    const isOther = line.some((part, at) => part !== this.line[at])
    this.line = line
    this.accent = accent
    this.rim = rim
    this.program?.setLooks(this.sizes, this.colors)
    if (isOther) this.layers?.forget()
    else this.layers?.forgetPoints()
  }

  // Has `render` draw all of it at once, however long that takes.
  drawWhole (render: () => void): void {
    const { isSlow } = this
    this.isSlow = false
    render()
    this.isSlow = isSlow
  }

  // Edges that stand out.
  setNear (edges: readonly Edge[]): void {
    this.near = Uint32Array.from(edges.flatMap(({ source, target }) => [
      this.index.get(source)!, this.index.get(target)!
    ]))
    this.program?.setNear(this.near)
  }

  move (positions: Float32Array): void {
    this.positions = positions
    this.grid = undefined
    this.program?.setPositions(positions)
    this.layers?.forget()
  }

  moveNode (id: string, { x, y }: Point): void {
    const number = this.index.get(id)
    if (number === undefined) return
    this.positions[2 * number] = x
    this.positions[2 * number + 1] = y
    this.grid = undefined
    this.isDragged = true
    this.program?.setPositions(this.positions)
  }

  // The node at a point of the graph, or the nearest one within `reach`.
  hit (point: Point, reach: number): string | undefined {
    this.grid ??= this.buildGrid()
    const column = Math.floor(point.x / this.cell)
    const row = Math.floor(point.y / this.cell)
    const around = Math.min(3, Math.ceil(reach / this.cell))
    let best: number | undefined
    let least = reach
    for (let x = column - around; x <= column + around; x++) {
      for (let y = row - around; y <= row + around; y++) {
        for (const number of this.grid.get(key(x, y)) ?? []) {
          const at = 2 * number
          const distance = Math.hypot(this.positions[at]! - point.x, this.positions[at + 1]! - point.y)
          if (distance > least) continue
          least = distance
          best = number
        }
      }
    }
    return best === undefined ? undefined : this.ids[best]
  }

  private buildGrid (): Map<number, number[]> {
    let left = Infinity
    let right = -Infinity
    for (let at = 0; at < this.positions.length; at += 2) {
      left = Math.min(left, this.positions[at]!)
      right = Math.max(right, this.positions[at]!)
    }
    this.cell = Math.max(1, (right - left) / Math.sqrt(this.ids.length + 1))
    const grid = new Map<number, number[]>()
    for (let number = 0; number < this.ids.length; number++) {
      const at = key(
        Math.floor(this.positions[2 * number]! / this.cell),
        Math.floor(this.positions[2 * number + 1]! / this.cell)
      )
      const members = grid.get(at)
      if (members) members.push(number)
      else grid.set(at, [number])
    }
    return grid
  }

  private upload (): void {
    this.program?.setPositions(this.positions)
    this.program?.setLooks(this.sizes, this.colors)
    this.program?.setLines(this.lines)
    this.program?.setNear(this.near)
    this.layers?.forget()
  }

  // Draws the pictures of a slow cloud while nothing moves.
  private draw (drawer: Drawer, layers: Layers, params: RenderParams): void {
    if (this.isEmpty || !this.isSlow || this.isMoving) return
    if (this.isDragged) layers.forget()
    this.isDragged = false
    const sight = this.sight(params)
    const side = (length: number): number => Math.round(length * params.pixelRatio)
    drawer.begin()
    drawer.look(sight, this.scale(params))
    const isLeft = layers.draw(sight, side(params.width), side(params.height), {
      lines: this.lines.length / 2,
      drawLines: (from, count) => drawer.drawLines('lines', from, count, this.line),
      drawPoints: () => drawer.drawPoints(this.ids.length, this.rim)
    })
    drawer.end()
    if (isLeft) this.sigma.scheduleRender()
  }

  private render (drawer: Drawer, layers: Layers, params: RenderParams): void {
    if (this.isEmpty) return
    const sight = this.sight(params)
    const isPicture = this.isSlow && layers.isReady
    drawer.begin()
    if (isPicture) layers.showLines(sight)
    drawer.look(sight, this.scale(params))
    if (!this.isSlow) drawer.drawLines('lines', 0, this.lines.length / 2, this.line)
    drawer.drawLines('near', 0, this.near.length / 2, this.accent)
    if (isPicture) layers.showPoints(sight)
    else drawer.drawPoints(this.ids.length, this.rim)
    drawer.end()
  }

  private sight ({ matrix }: RenderParams): Sight {
    const origin = this.sigma.graphToFramedGraph({ x: 0, y: 0 })
    const unit = this.sigma.graphToFramedGraph({ x: 1, y: 0 }).x - origin.x
    const [across, up] = [matrix[0]!, matrix[4]!]
    return {
      scale: [across * unit, up * unit],
      shift: [across * origin.x + matrix[6]!, up * origin.y + matrix[7]!]
    }
  }

  // Pixels for a unit of size.
  private scale ({ pixelRatio, zoomRatio }: RenderParams): number {
    const room = Math.sqrt(ROOMY_NODES / this.ids.length / zoomRatio)
    return this.sigma.scaleSize(1) * pixelRatio * Math.min(1, room)
  }
}

const key = (x: number, y: number): number => x * 1_000_003 + y
