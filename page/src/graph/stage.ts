// The stage: what a view shows, drawn by WebGL, and where the pointer and the camera are on it.

import { MultiDirectedGraph } from 'graphology'
import Sigma from 'sigma'

import type { Edge } from './bundle'
import { Camera } from './camera'
import { Cloud, CLOUD_EDGES_MIN, CLOUD_NODES_MIN } from './cloud'
import { commonAttributes, nodeAttributes, options, type EdgeAttributes, type NodeAttributes } from './drawing'
import { Labeller } from './labeller'
import { Pace } from './pace'
import type { Painter } from './paint'
import { rgba, type Theme } from './palette'
import type { Point } from './placement'
import { Pointer, type Board, type PointerEvents } from './pointer'
import type { Scene } from './view'

// In a larger graph, the camera follows the layout only at its end.
const FOLLOWED_MAX = 10_000

// Nodes of a cloud that Sigma draws on top of it.
const NOTABLE = 24
const CHOSEN_MAX = 300

// More edges than this in sight have no room for captions.
export const CAPTIONS_MAX = 45

// How long the camera rests until what is in sight is looked at, in milliseconds.
const REST_MILLISECONDS = 120

export interface StageEvents extends PointerEvents {
  // The user moved the camera.
  moved: () => void
  // Whether there are too many edges in sight for captions.
  crowded: (isCrowded: boolean) => void
}

type Graph = MultiDirectedGraph<NodeAttributes, EdgeAttributes>

export class Stage implements Board {
  private readonly sigma: Sigma<NodeAttributes, EdgeAttributes>
  private graph: Graph = new MultiDirectedGraph<NodeAttributes, EdgeAttributes>()
  private scene: Scene | undefined
  private positions = new Map<string, Point>()
  private readonly cloud: Cloud
  readonly camera: Camera
  private readonly pace: Pace
  private readonly labeller: Labeller
  private readonly pointer: Pointer
  private chosenPainter: [Painter, Theme] | undefined
  isCloud = false
  private notable: string[] = []
  private readonly resizes: ResizeObserver
  private isCrowded: boolean | undefined
  private isShown = true

  // Whether dragging the stage draws a lasso without Shift.
  isLassoTool = false

  // Nodes that move together with a dragged one.
  companions: (id: string) => readonly string[] = id => [id]

  // Throws where there is no WebGL.
  constructor (container: HTMLElement, overlay: SVGSVGElement, private readonly events: StageEvents) {
    this.sigma = new Sigma(this.graph, container, options() as never)
    this.cloud = new Cloud(this.sigma as never)
    this.camera = new Camera(this.sigma, ids => this.points(ids ?? this.scene?.nodes.keys() ?? []))
    this.pace = new Pace(this.sigma, this.cloud)
    this.labeller = new Labeller(this.sigma, () => this.graph, id => this.scene?.degrees.get(id) ?? 0)
    this.pointer = new Pointer(this.sigma, this, container, overlay, {
      ...events,
      hover: key => {
        if (this.isCloud) this.paintChosen()
        events.hover(key)
      }
    })
    this.bindCamera()
    this.resizes = new ResizeObserver(() => {
      const wasShown = this.isShown
      this.isShown = container.clientWidth > 0
      // Where nothing was to be seen, nothing could be fitted.
      if (this.isShown && !wasShown) {
        this.sigma.resize()
        this.fit(undefined, false)
      }
      this.sigma.scheduleRender()
    })
    this.resizes.observe(container)
  }

  // Draws another scene.
  show (scene: Scene, positions: Map<string, Point>, painter: Painter, theme: Theme): void {
    this.scene = scene
    this.positions = positions
    this.pointer.hovered = undefined
    this.isCloud = scene.nodes.size >= CLOUD_NODES_MIN || scene.edges.length >= CLOUD_EDGES_MIN
    this.cloud.show(this.isCloud ? scene.nodes.keys() : [], this.isCloud ? scene.edges : [], positions)
    this.pace.begin(scene.nodes.size, scene.edges.length, this.isCloud)
    this.sigma.setSettings({
      renderEdgeLabels: !this.isCloud, enableEdgeEvents: !this.isCloud, hideEdgesOnMove: false
    })
    this.notable = this.isCloud ? mostConnected(scene) : []
    if (this.isCloud) {
      this.paintCloud(painter, theme)
    } else {
      this.graph = this.graphOf(scene.nodes.keys(), scene.edges, painter, theme)
      this.sigma.setGraph(this.graph as never)
    }
    this.labeller.due()
    this.count()
  }

  // Draws the same scene with other colours and sizes.
  paint (painter: Painter, theme: Theme): void {
    const { scene, graph } = this
    if (!scene) return
    if (this.isCloud) {
      this.paintCloud(painter, theme)
      return
    }
    const common = commonAttributes(theme)
    // Without events of the graph, of which each would be a refresh of its own.
    for (const node of scene.nodes.values()) {
      if (graph.hasNode(node.id)) {
        Object.assign(graph.getNodeAttributes(node.id), nodeAttributes(painter.node(node)), common.node)
      }
    }
    for (const edge of scene.edges) {
      if (graph.hasEdge(edge.key)) {
        Object.assign(graph.getEdgeAttributes(edge.key), painter.edge(edge), common.edge)
      }
    }
    this.sigma.refresh({
      partialGraph: { nodes: graph.nodes(), edges: graph.edges() }, skipIndexation: true, schedule: true
    })
    this.labeller.due()
  }

  private paintCloud (painter: Painter, theme: Theme): void {
    for (const node of this.scene!.nodes.values()) {
      const { size, color } = painter.node(node)
      this.cloud.paint(node.id, size, color)
    }
    this.cloud.painted(
      rgba(theme.edge, theme.dark ? 0.5 : 0.45), rgba(theme.accent, 0.9), rgba(theme.background, 1)
    )
    this.chosenPainter = [painter, theme]
    this.paintChosen()
  }

  // Has Sigma draw some nodes on top of a cloud, with captions: the most connected ones, those that are
  // selected, and the one at the pointer.
  private paintChosen (): void {
    const [painter, theme] = this.chosenPainter!
    const chosen = new Set(painter.selected(CHOSEN_MAX))
    const { hovered } = this.pointer
    if (hovered !== undefined) chosen.add(hovered)
    this.cloud.setNear(chosen.size === 0
      ? []
      : this.scene!.edges.filter(({ source, target }) => chosen.has(source) || chosen.has(target)))
    this.graph = this.graphOf(new Set([...this.notable, ...chosen]), [], painter, theme)
    this.sigma.setGraph(this.graph as never)
    this.labeller.due()
  }

  private graphOf (ids: Iterable<string>, edges: readonly Edge[], painter: Painter, theme: Theme): Graph {
    const graph: Graph = new MultiDirectedGraph<NodeAttributes, EdgeAttributes>()
    const common = commonAttributes(theme)
    for (const id of ids) {
      const node = this.scene!.nodes.get(id)
      if (!node) continue
      graph.addNode(id, {
        ...this.positions.get(id)!,
        ...nodeAttributes(painter.node(node)),
        ...common.node,
        labelVisibility: this.graph.hasNode(id) ? this.graph.getNodeAttribute(id, 'labelVisibility') : 'hidden'
      })
    }
    for (const edge of edges) {
      graph.addEdgeWithKey(edge.key, edge.source, edge.target, {
        ...painter.edge(edge),
        ...common.edge,
        path: edge.curvature === 0 ? 'line' : 'curved',
        curvature: edge.curvature,
        loopRadius: 2.4 + edge.loop
      })
    }
    return graph
  }

  // Moves all nodes, in the scene's order; those that are being dragged stay where the pointer is.
  move (places: Float32Array, follows: boolean, isLast: boolean): void {
    const { scene } = this
    if (!scene || places.length !== scene.nodes.size * 2) return
    let index = 0
    const held = new Set(this.pointer.held)
    for (const id of scene.nodes.keys()) {
      const at = index++ * 2
      if (held.has(id)) {
        const point = this.positions.get(id)!
        places[at] = point.x
        places[at + 1] = point.y
      } else {
        this.place(id, { x: places[at]!, y: places[at + 1]! })
      }
    }
    if (this.isCloud) {
      this.cloud.move(places)
      this.setMoving(!isLast)
    }
    const isFramed = isLast || follows && scene.nodes.size <= FOLLOWED_MAX
    if (isFramed) this.camera.frame(!follows)
    this.sigma.refresh({
      partialGraph: { nodes: this.graph.nodes() }, skipIndexation: !isFramed, schedule: true
    })
    this.labeller.due(isLast)
  }

  private place (id: string, point: Point): void {
    this.positions.set(id, point)
    if (!this.graph.hasNode(id)) return
    const attributes = this.graph.getNodeAttributes(id)
    attributes.x = point.x
    attributes.y = point.y
  }

  private points (ids: Iterable<string>): Point[] {
    const points: Point[] = []
    for (const id of ids) {
      const point = this.position(id)
      if (point) points.push(point)
    }
    return points
  }

  position (id: string): Point | undefined {
    return this.scene?.nodes.has(id) ? this.positions.get(id) : undefined
  }

  // Where a node is drawn, in pixels of the stage.
  onScreen (id: string): Point | undefined {
    const point = this.position(id)
    return point && this.sigma.graphToViewport(point)
  }

  isSeen (id: string): boolean {
    const point = this.onScreen(id)
    const { width, height } = this.sigma.getDimensions()
    return point !== undefined && point.x > 0 && point.x < width && point.y > 0 && point.y < height
  }

  // Moves the camera to a node without another zoom.
  center (id: string): void {
    const point = this.position(id)
    if (point) this.camera.center(point)
  }

  // Moves the camera so that these nodes, or all, are seen.
  fit (ids?: Iterable<string>, isAnimated = true): void {
    this.camera.fit(ids, isAnimated)
  }

  // What is drawn now, as a picture.
  picture (background: string | undefined): HTMLCanvasElement {
    this.cloud.drawWhole(() => this.sigma.refresh())
    const source = this.sigma.getStageCanvas()
    const canvas = document.createElement('canvas')
    canvas.width = source.width
    canvas.height = source.height
    const context = canvas.getContext('2d')!
    if (background) {
      context.fillStyle = background
      context.fillRect(0, 0, canvas.width, canvas.height)
    }
    context.drawImage(source, 0, 0)
    return canvas
  }

  kill (): void {
    this.resizes.disconnect()
    this.sigma.kill()
  }

  get isMoving (): boolean {
    return this.pace.isMoving
  }

  setMoving (isMoving: boolean): void {
    this.pace.setMoving(isMoving)
  }

  hit (point: Point, reach: number): string | undefined {
    return this.cloud.hit(point, reach)
  }

  shift (ids: readonly string[], by: Point): void {
    for (const id of ids) {
      const { x, y } = this.positions.get(id)!
      const point = { x: x + by.x, y: y + by.y }
      this.place(id, point)
      if (this.isCloud) this.cloud.moveNode(id, point)
    }
    this.sigma.refresh({ partialGraph: { nodes: this.drawn(ids) }, skipIndexation: true, schedule: true })
  }

  rest (ids: readonly string[]): void {
    this.sigma.refresh({ partialGraph: { nodes: this.drawn(ids) }, schedule: true })
    this.labeller.due()
  }

  * places (): Iterable<[id: string, place: Point]> {
    for (const id of this.scene?.nodes.keys() ?? []) yield [id, this.onScreen(id)!]
  }

  // Those of `ids` that Sigma draws.
  private drawn (ids: readonly string[]): string[] {
    return ids.filter(id => this.graph.hasNode(id))
  }

  private bindCamera (): void {
    let rest: ReturnType<typeof setTimeout> | undefined
    const captor = this.sigma.getMouseCaptor()
    captor.on('wheel', () => this.events.moved())
    captor.on('mousedown', () => this.events.moved())
    this.sigma.getCamera().on('updated', () => {
      this.setMoving(true)
      clearTimeout(rest)
      rest = setTimeout(() => {
        if (this.pointer.held.length === 0) this.setMoving(false)
        this.labeller.due()
        this.count()
      }, REST_MILLISECONDS)
    })
  }

  // Finds out whether edges have room for captions: from the share of the graph in sight.
  private count (): void {
    const { ratio } = this.camera
    const isCrowded = this.graph.size * Math.min(1, ratio * ratio) > CAPTIONS_MAX
    if (isCrowded === this.isCrowded) return
    this.isCrowded = isCrowded
    this.events.crowded(isCrowded)
  }
}

// Nodes of a cloud that have captions although nobody chose them.
function mostConnected ({ degrees }: Scene): string[] {
  return [...degrees].sort(([, a], [, b]) => b - a).slice(0, NOTABLE).map(([id]) => id)
}
