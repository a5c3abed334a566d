// The stage: what a view shows, drawn by WebGL, and what the pointer does there.

import { MultiDirectedGraph } from 'graphology'
import Sigma from 'sigma'
import type { CameraState, MouseCoords } from 'sigma/types'

import type { Edge } from './bundle'
import { Cloud, CLOUD_EDGES_MIN, CLOUD_NODES_MIN, type Rgba } from './cloud'
import { options, PADDING, type EdgeAttributes, type NodeAttributes } from './drawing'
import { boxOf, isInside, type Box } from './geometry'
import type { Painter } from './paint'
import { rgb, type Theme } from './palette'
import type { Point } from './placement'
import type { Scene } from './view'

// A frame that takes longer while something moves is slow; after some of them, edges are left out then.
const SLOW_MILLISECONDS = 20
const VERY_SLOW_MILLISECONDS = 100
const SLOW_FRAMES = 4
const EDGES_WORTH_HIDING = 500
const EDGES_SLOW = 50_000

// In a larger graph, the camera follows the layout only at its end.
const FOLLOWED_MAX = 10_000

// Nodes of a cloud that Sigma draws on top of it.
const NOTABLE = 24
const CHOSEN_MAX = 300

// How far from a node of a cloud the pointer may be, in pixels.
const REACH_PIXELS = 8

// More edges than this in sight have no room for captions.
export const CAPTIONS_MAX = 45

export interface StageEvents {
  click: (id: string, isAdded: boolean) => void
  clickStage: () => void
  open: (id: string) => void
  hover: (key: string | undefined) => void
  drag: (ids: readonly string[], phase: 'move' | 'end') => void
  lasso: (ids: string[], isAdded: boolean) => void
  // The user moved the camera.
  moved: () => void
  // Whether there are too many edges in sight for captions.
  crowded: (isCrowded: boolean) => void
}

type Graph = MultiDirectedGraph<NodeAttributes, EdgeAttributes>

export class Stage {
  private readonly sigma: Sigma<NodeAttributes, EdgeAttributes>
  private graph: Graph = new MultiDirectedGraph<NodeAttributes, EdgeAttributes>()
  private scene: Scene | undefined
  private positions = new Map<string, Point>()
  private readonly cloud: Cloud
  private chosenPainter: [Painter, Theme] | undefined
  isCloud = false
  private notable: string[] = []
  private hovered: string | undefined
  private dragged: { ids: readonly string[], last: Point, isMoved: boolean } | undefined
  private lassoed: { points: Point[], isAdded: boolean } | undefined
  private readonly resizes: ResizeObserver
  private isCrowded: boolean | undefined
  private lastFrame = 0
  private slowFrames = 0
  private isSlow = false
  private isShown = true
  private isMoving = false

  // Whether dragging the stage draws a lasso without Shift.
  isLassoTool = false

  // Nodes that move together with a dragged one.
  companions: (id: string) => readonly string[] = id => [id]

  // Throws where there is no WebGL.
  constructor (
    private readonly container: HTMLElement,
    // The line of the lasso.
    private readonly overlay: SVGSVGElement,
    private readonly events: StageEvents
  ) {
    this.sigma = new Sigma(this.graph, container, options() as never)
    this.cloud = new Cloud(this.sigma as never)
    this.bindPointer()
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
    this.hovered = undefined
    this.isCloud = scene.nodes.size >= CLOUD_NODES_MIN || scene.edges.length >= CLOUD_EDGES_MIN
    this.cloud.show(this.isCloud ? scene.nodes.keys() : [], this.isCloud ? scene.edges : [], positions)
    this.cloud.isThin = false
    this.isMoving = false
    this.slowFrames = 0
    // Where it is certain, nobody waits for it to be found out.
    this.isSlow = scene.edges.length > EDGES_SLOW
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
        Object.assign(graph.getNodeAttributes(node.id), nodeAttributes(painter, node), common.node)
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
    if (this.hovered !== undefined) chosen.add(this.hovered)
    this.cloud.setNear(chosen.size === 0
      ? []
      : this.scene!.edges.filter(({ source, target }) => chosen.has(source) || chosen.has(target)))
    this.graph = this.graphOf(new Set([...this.notable, ...chosen]), [], painter, theme)
    this.sigma.setGraph(this.graph as never)
  }

  private graphOf (ids: Iterable<string>, edges: readonly Edge[], painter: Painter, theme: Theme): Graph {
    const graph: Graph = new MultiDirectedGraph<NodeAttributes, EdgeAttributes>()
    const common = commonAttributes(theme)
    for (const id of ids) {
      const node = this.scene!.nodes.get(id)
      if (!node) continue
      graph.addNode(id, { ...this.positions.get(id)!, ...nodeAttributes(painter, node), ...common.node })
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
    const held = new Set(this.dragged?.ids)
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
    if (isFramed) this.frame(!follows)
    this.sigma.refresh({
      partialGraph: { nodes: this.graph.nodes() }, skipIndexation: !isFramed, schedule: true
    })
  }

  private place (id: string, point: Point): void {
    this.positions.set(id, point)
    if (!this.graph.hasNode(id)) return
    const attributes = this.graph.getNodeAttributes(id)
    attributes.x = point.x
    attributes.y = point.y
  }

  // Makes the box around all nodes what the camera sees at its ratio of 1: Sigma looks for captions in there
  // only. `isKept` keeps what is in sight where it is; otherwise all is.
  private frame (isKept: boolean): void {
    const { sigma } = this
    const box = boxOf(this.points(this.scene?.nodes.keys() ?? []))
    if (!box) return
    const camera = sigma.getCamera()
    if (!isKept) {
      sigma.setCustomBBox(this.widened(box))
      sigma.refresh({ partialGraph: {}, schedule: true })
      camera.setState({ x: 0.5, y: 0.5, ratio: 1 })
      return
    }
    const { width, height } = sigma.getDimensions()
    const middle = sigma.viewportToGraph({ x: width / 2, y: height / 2 })
    // Units of the graph in 100 pixels.
    const scale = (): number =>
      Math.abs(sigma.viewportToGraph({ x: 100, y: 0 }).x - sigma.viewportToGraph({ x: 0, y: 0 }).x)
    const before = scale()
    sigma.setCustomBBox(this.widened(box))
    sigma.refresh({ partialGraph: {} })
    camera.setState({ ...sigma.graphToFramedGraph(middle), ratio: camera.ratio * before / scale() })
  }

  // A box that is at least as large as most of the stage, so that few nodes are not far from each other.
  private widened ({ left, right, bottom, top }: Box): { x: [number, number], y: [number, number] } {
    const { width, height } = this.sigma.getDimensions()
    const x = Math.max(0, (width * 0.62 - (right - left)) / 2)
    const y = Math.max(0, (height * 0.62 - (top - bottom)) / 2)
    // The legend is at the top.
    return { x: [left - x, right + x], y: [bottom - y, top + y + (top - bottom + 2 * y) * 0.06] }
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
    if (point) this.go(this.sigma.graphToFramedGraph(point), true)
  }

  // Moves the camera so that these nodes, or all, are seen.
  fit (ids?: Iterable<string>, isAnimated = true): void {
    const box = ids && boxOf(this.points(ids))
    if (box) {
      this.go(this.framed(box), isAnimated)
    } else if (!ids) {
      this.frame(true)
      this.go({ x: 0.5, y: 0.5, ratio: 1 }, isAnimated)
    }
  }

  zoom (factor: number): void {
    const camera = this.sigma.getCamera()
    this.go({ ratio: camera.ratio / factor }, true)
  }

  pan (x: number, y: number): void {
    const camera = this.sigma.getCamera()
    const { width, height } = this.sigma.getDimensions()
    const unit = camera.ratio / Math.min(width, height)
    this.go({ x: camera.x + x * unit, y: camera.y - y * unit }, true)
  }

  // What is drawn now, as a picture.
  picture (background: string | undefined): HTMLCanvasElement {
    this.sigma.refresh()
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

  private framed (box: Box): Partial<CameraState> {
    const { sigma } = this
    const low = sigma.graphToViewport({ x: box.left, y: box.bottom })
    const high = sigma.graphToViewport({ x: box.right, y: box.top })
    const { width, height } = sigma.getDimensions()
    const { ratio } = sigma.getCamera()
    const share = Math.max(
      Math.abs(high.x - low.x) / Math.max(1, width - 2 * PADDING),
      Math.abs(high.y - low.y) / Math.max(1, height - 2 * PADDING)
    )
    const centre = sigma.graphToFramedGraph({ x: (box.left + box.right) / 2, y: (box.bottom + box.top) / 2 })
    return { ...centre, ratio: Math.max(ratio * share, Math.min(ratio, 0.45)) }
  }

  private go (state: Partial<CameraState>, isAnimated: boolean): void {
    const camera = this.sigma.getCamera()
    if (isAnimated && !matchMedia('(prefers-reduced-motion: reduce)').matches) {
      void camera.animate(state, { duration: 220 })
    } else {
      camera.setState(state)
    }
  }

  private bindPointer (): void {
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
    sigma.on('enterNode', ({ node }) => this.hover(node))
    sigma.on('enterEdge', ({ edge }) => this.hover(edge))
    sigma.on('leaveNode', () => this.hover(undefined))
    sigma.on('leaveEdge', () => this.hover(undefined))
    sigma.on('downNode', ({ node, event }) => this.down(node, event))
    sigma.on('downStage', ({ event }) => this.down(this.hit(event), event))
    sigma.on('moveBody', ({ event }) => {
      if (this.dragged) this.dragTo(event)
      else if (this.lassoed) this.lassoTo(event)
      else if (this.isCloud && !this.isMoving) this.hover(this.hit(event))
    })
    sigma.getMouseCaptor().on('mouseup', () => {
      this.endDrag()
      this.endLasso()
    })
  }

  // The node of a cloud at the pointer; Sigma knows where its own are.
  private hit (event: MouseCoords): string | undefined {
    if (!this.isCloud) return undefined
    const point = this.sigma.viewportToGraph(event)
    const aside = this.sigma.viewportToGraph({ x: event.x + REACH_PIXELS, y: event.y })
    return this.cloud.hit(point, Math.hypot(aside.x - point.x, aside.y - point.y))
  }

  private hover (key: string | undefined): void {
    if (this.dragged?.isMoved || key === this.hovered) return
    this.hovered = key
    this.container.style.cursor = key === undefined ? '' : 'pointer'
    if (this.isCloud) this.paintChosen()
    this.events.hover(key)
  }

  private down (id: string | undefined, event: MouseCoords): void {
    if (!isLeft(event)) return
    const isShifted = event.original.shiftKey
    if (id !== undefined) {
      if (isShifted) return
      this.dragged = { ids: this.companions(id), last: this.sigma.viewportToGraph(event), isMoved: false }
    } else if (isShifted || this.isLassoTool) {
      this.lassoed = { points: [{ x: event.x, y: event.y }], isAdded: isShifted }
    }
  }

  private dragTo (event: MouseCoords): void {
    const dragged = this.dragged!
    const point = this.sigma.viewportToGraph(event)
    const dx = point.x - dragged.last.x
    const dy = point.y - dragged.last.y
    event.preventSigmaDefault()
    if (dx === 0 && dy === 0) return
    dragged.last = point
    dragged.isMoved = true
    this.setMoving(true)
    for (const id of dragged.ids) {
      const { x, y } = this.positions.get(id)!
      this.place(id, { x: x + dx, y: y + dy })
      if (this.isCloud) this.cloud.moveNode(id, { x: x + dx, y: y + dy })
    }
    this.sigma.refresh({
      partialGraph: { nodes: this.drawn(dragged.ids) }, skipIndexation: true, schedule: true
    })
    this.events.drag(dragged.ids, 'move')
  }

  private endDrag (): void {
    const { dragged } = this
    this.dragged = undefined
    this.setMoving(false)
    if (!dragged?.isMoved) return
    // The grid of captions learns the new places.
    this.sigma.refresh({ partialGraph: { nodes: this.drawn(dragged.ids) }, schedule: true })
    this.events.drag(dragged.ids, 'end')
  }

  // Those of `ids` that Sigma draws.
  private drawn (ids: readonly string[]): string[] {
    return ids.filter(id => this.graph.hasNode(id))
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
    const inside = [...this.scene?.nodes.keys() ?? []]
      .filter(id => isInside(this.onScreen(id)!, lassoed.points))
    this.events.lasso(inside, lassoed.isAdded)
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
        if (!this.dragged) this.setMoving(false)
        this.count()
      }, 120)
    })
  }

  // Finds out whether edges have room for captions: from the share of the graph in sight.
  private count (): void {
    const { ratio } = this.sigma.getCamera()
    const isCrowded = this.graph.size * Math.min(1, ratio * ratio) > CAPTIONS_MAX
    if (isCrowded === this.isCrowded) return
    this.isCrowded = isCrowded
    this.events.crowded(isCrowded)
  }

  // Says whether something moves. While it does, edges of a scene that is drawn too slowly are left out.
  private setMoving (isMoving: boolean): void {
    if (isMoving === this.isMoving) return
    this.isMoving = isMoving
    this.cloud.isThin = isMoving && this.isSlow
    if (!isMoving) {
      this.sigma.scheduleRender()
    } else if (!this.isSlow && (this.scene?.edges.length ?? 0) >= EDGES_WORTH_HIDING) {
      this.lastFrame = 0
      requestAnimationFrame(now => this.watch(now))
    }
  }

  // Finds out, while something moves, whether the scene is drawn too slowly.
  private watch (now: number): void {
    if (!this.isMoving || this.isSlow) return
    const elapsed = this.lastFrame > 0 ? now - this.lastFrame : 0
    this.lastFrame = now
    if (elapsed > VERY_SLOW_MILLISECONDS) this.slowFrames += SLOW_FRAMES
    else this.slowFrames = Math.max(0, this.slowFrames + (elapsed > SLOW_MILLISECONDS ? 1 : -1))
    if (this.slowFrames >= SLOW_FRAMES) {
      this.isSlow = true
      this.cloud.isThin = this.isCloud
      this.sigma.setSetting('hideEdgesOnMove', !this.isCloud)
    } else {
      requestAnimationFrame(next => this.watch(next))
    }
  }
}

// Nodes of a cloud that have captions although nobody chose them.
function mostConnected ({ degrees }: Scene): string[] {
  return [...degrees].sort(([, a], [, b]) => b - a).slice(0, NOTABLE).map(([id]) => id)
}

function rgba (color: string, alpha: number): Rgba {
  const [red, green, blue] = rgb(color)
  return [red / 255, green / 255, blue / 255, alpha]
}

function commonAttributes (
  theme: Theme
): Record<'node' | 'edge', { labelColor: string, labelBackground: string }> {
  return {
    node: { labelColor: theme.text, labelBackground: theme.background + '80' },
    edge: { labelColor: theme.edgeText, labelBackground: theme.background + 'cc' }
  }
}

function isLeft ({ original }: MouseCoords): boolean {
  return !('button' in original) || original.button === 0
}

function nodeAttributes (painter: Painter, node: Parameters<Painter['node']>[0]): Omit<
  NodeAttributes, 'x' | 'y' | 'labelColor' | 'labelBackground'
> {
  const { label, color, size, ring, ringWidth, gap, forced } = painter.node(node)
  return {
    label,
    color,
    size,
    ringColor: ring,
    ringWidth,
    gapColor: gap,
    labelVisibility: forced ? 'visible' : 'auto'
  }
}
