// The stage: what a view shows, drawn by WebGL, and what the pointer does there.

import { MultiDirectedGraph } from 'graphology'
import Sigma from 'sigma'
import {
  extremityArrow, layerFill, layerPlain, pathCurved, pathLine, pathLoop, sdfCircle, type FragmentLayer
} from 'sigma/rendering'
import type { CameraState, MouseCoords } from 'sigma/types'

import { boxOf, control, isInside, type Box } from './geometry'
import type { Painter } from './paint'
import type { Theme } from './palette'
import type { Point } from './placement'
import type { Scene } from './view'

// More edges than this: an edge cannot be pointed at, and has no caption.
const EDGES_LIVELY = 4000

// A frame that takes longer while something moves is slow; after some of them, edges are left out then.
const SLOW_MILLISECONDS = 20
const SLOW_FRAMES = 4
const EDGES_WORTH_HIDING = 1000

const PADDING = 52

// In a larger graph, the camera follows the layout only at its end.
const FOLLOWED_MAX = 10_000

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

interface NodeAttributes extends Point {
  size: number
  color: string
  label: string
  labelColor: string
  labelBackground: string
  labelVisibility: 'auto' | 'visible'
  ringColor: string
  ringWidth: number
  gapColor: string
}

interface EdgeAttributes {
  size: number
  color: string
  label: string
  labelColor: string
  labelBackground: string
  labelVisibility: 'visible' | 'hidden'
  path: string
  curvature: number
  loopRadius: number
}

type Graph = MultiDirectedGraph<NodeAttributes, EdgeAttributes>

// A ring at the inside of a node's border, and a gap between it and the node.
function layerRing (): FragmentLayer {
  return {
    name: 'ring',
    uniforms: [],
    attributes: [
      { name: 'ringColor', size: 4, type: WebGL2RenderingContext.UNSIGNED_BYTE, normalized: true, source: 'ringColor' },
      { name: 'ringWidth', size: 1, type: WebGL2RenderingContext.FLOAT, source: 'ringWidth' },
      { name: 'gapColor', size: 4, type: WebGL2RenderingContext.UNSIGNED_BYTE, normalized: true, source: 'gapColor' }
    ],
    glsl: `
vec4 layer_ring(vec4 v_ringColor, float v_ringWidth, vec4 v_gapColor) {
  float ring = -v_ringWidth * context.pixelToUV;
  float gap = ring - 2.0 * context.pixelToUV;
  float ringShare = smoothstep(ring - context.aaWidth, ring + context.aaWidth, context.sdf);
  float gapShare = smoothstep(gap - context.aaWidth, gap + context.aaWidth, context.sdf) * v_gapColor.a;
  vec3 color = mix(v_gapColor.rgb, v_ringColor.rgb, ringShare);
  return vec4(color, max(gapShare, v_ringColor.a * ringShare));
}`
  }
}

function options (): object {
  // Curvature and radius are those of the scene, not what Sigma would choose.
  const { spread: _curved, ...curve } = pathCurved()
  const { spread: _looped, ...loop } = pathLoop()
  const font = { family: 'system-ui, sans-serif', size: 12 }
  return {
    primitives: {
      nodes: {
        shapes: [sdfCircle()],
        layers: [layerFill(), layerRing()],
        variables: {
          ringColor: { type: 'color', default: '#00000000' },
          ringWidth: { type: 'number', default: 0 },
          gapColor: { type: 'color', default: '#00000000' }
        },
        label: { font, margin: 3 }
      },
      edges: {
        paths: [pathLine(), curve, loop],
        extremities: [extremityArrow({ lengthRatio: 5.5, widthRatio: 4.4 })],
        layers: [layerPlain()],
        variables: {
          curvature: { type: 'number', default: 0 },
          loopRadius: { type: 'number', default: 3 }
        },
        defaultHead: 'arrow',
        label: { font: { ...font, size: 10 }, minVisibilityThreshold: 0.7, fullVisibilityThreshold: 0.9 }
      }
    },
    styles: {
      nodes: {
        x: { attribute: 'x' },
        y: { attribute: 'y' },
        size: { attribute: 'size' },
        color: { attribute: 'color' },
        label: { attribute: 'label' },
        labelColor: { attribute: 'labelColor' },
        labelBackgroundColor: { attribute: 'labelBackground' },
        labelBackgroundPadding: 1,
        labelPosition: 'below',
        labelSize: 12,
        labelVisibility: { whenState: 'isHovered', then: 'visible', else: { attribute: 'labelVisibility' } },
        ringColor: { attribute: 'ringColor' },
        ringWidth: { attribute: 'ringWidth' },
        gapColor: { attribute: 'gapColor' },
        depth: { whenState: 'isHovered', then: 'topNodes', else: 'nodes' },
        cursor: 'pointer'
      },
      edges: {
        size: { attribute: 'size' },
        color: { attribute: 'color' },
        label: { attribute: 'label' },
        labelColor: { attribute: 'labelColor' },
        labelSize: 10,
        labelVisibility: { attribute: 'labelVisibility' },
        labelBackgroundColor: { attribute: 'labelBackground' },
        labelBackgroundPadding: 1,
        labelPosition: 'over',
        path: { attribute: 'path' },
        selfLoopPath: 'loop',
        head: 'arrow',
        curvature: { attribute: 'curvature' },
        loopRadius: { attribute: 'loopRadius' },
        cursor: 'pointer'
      }
    },
    settings: {
      stagePadding: PADDING,
      itemSizesReference: 'screen',
      minCameraRatio: 0.002,
      maxCameraRatio: 20,
      enableCameraRotation: false,
      labelRenderedSizeThreshold: 5,
      labelDensity: 1.2,
      labelGridCellSize: 90,
      minEdgeThickness: 1,
      zoomDuration: 160,
      allowInvalidContainer: true
    }
  }
}

export class Stage {
  private readonly sigma: Sigma<NodeAttributes, EdgeAttributes>
  private graph: Graph = new MultiDirectedGraph<NodeAttributes, EdgeAttributes>()
  private scene: Scene | undefined
  private dragged: { ids: readonly string[], last: Point, isMoved: boolean } | undefined
  private lassoed: { points: Point[], isAdded: boolean } | undefined
  private readonly resizes: ResizeObserver
  private isCrowded: boolean | undefined
  private lastFrame = 0
  private slowFrames = 0
  private isMoving = false

  // Whether dragging the stage draws a lasso without Shift.
  isLassoTool = false

  // Nodes that move together with a dragged one.
  companions: (id: string) => readonly string[] = id => [id]

  // Throws where there is no WebGL.
  constructor (
    container: HTMLElement,
    // Lines of the lasso, and of edges that WebGL would draw too slowly.
    private readonly overlay: SVGSVGElement,
    private readonly events: StageEvents
  ) {
    this.sigma = new Sigma(this.graph, container, options() as never)
    this.bindPointer()
    this.bindCamera()
    this.resizes = new ResizeObserver(() => this.sigma.scheduleRender())
    this.resizes.observe(container)
  }

  // Draws another scene.
  show (scene: Scene, positions: ReadonlyMap<string, Point>, painter: Painter, theme: Theme): void {
    this.scene = scene
    const graph: Graph = new MultiDirectedGraph<NodeAttributes, EdgeAttributes>()
    const common = this.commonAttributes(theme)
    for (const node of scene.nodes.values()) {
      const { x, y } = positions.get(node.id)!
      graph.addNode(node.id, { x, y, ...nodeAttributes(painter, node), ...common.node })
    }
    const isLively = scene.edges.length <= EDGES_LIVELY
    for (const edge of scene.edges) {
      graph.addEdgeWithKey(edge.key, edge.source, edge.target, {
        ...painter.edge(edge),
        ...common.edge,
        path: edge.curvature === 0 ? 'line' : 'curved',
        curvature: edge.curvature,
        loopRadius: 2.4 + edge.loop
      })
    }
    this.graph = graph
    this.slowFrames = 0
    this.sigma.setSettings({
      renderEdgeLabels: isLively,
      enableEdgeEvents: isLively,
      hideEdgesOnMove: false,
      hideLabelsOnMove: scene.nodes.size > 2000
    })
    this.sigma.setGraph(graph as never)
    this.count()
  }

  // Draws the same scene with other colours and sizes.
  paint (painter: Painter, theme: Theme): void {
    const { scene } = this
    if (!scene) return
    const common = this.commonAttributes(theme)
    // Without events of the graph, of which each would be a refresh of its own.
    for (const node of scene.nodes.values()) {
      if (this.graph.hasNode(node.id)) {
        Object.assign(this.graph.getNodeAttributes(node.id), nodeAttributes(painter, node), common.node)
      }
    }
    for (const edge of scene.edges) {
      if (this.graph.hasEdge(edge.key)) {
        Object.assign(this.graph.getEdgeAttributes(edge.key), painter.edge(edge), common.edge)
      }
    }
    this.sigma.refresh({
      partialGraph: { nodes: this.graph.nodes(), edges: this.graph.edges() }, skipIndexation: true, schedule: true
    })
  }

  // Moves all nodes, in the scene's order; those that are being dragged stay where the pointer is.
  move (positions: Float32Array, known: Map<string, Point>, follows: boolean, isLast: boolean): void {
    const { scene } = this
    if (!scene || positions.length !== scene.nodes.size * 2) return
    let index = 0
    const held = new Set(this.dragged?.ids)
    for (const id of scene.nodes.keys()) {
      const at = index++ * 2
      if (held.has(id)) continue
      const attributes = this.graph.getNodeAttributes(id)
      attributes.x = positions[at]!
      attributes.y = positions[at + 1]!
      known.set(id, { x: attributes.x, y: attributes.y })
    }
    const isFramed = isLast || follows && scene.nodes.size <= FOLLOWED_MAX
    if (isFramed) this.frame(!follows)
    this.sigma.refresh({ partialGraph: { nodes: this.graph.nodes() }, skipIndexation: !isFramed, schedule: true })
  }

  // Makes the box around all nodes what the camera sees at its ratio of 1: Sigma looks for captions in there
  // only. `isKept` keeps what is in sight where it is; otherwise all is.
  private frame (isKept: boolean): void {
    const { sigma } = this
    const box = boxOf(this.points(this.graph.nodes()))
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
    const scale = (): number => Math.abs(sigma.viewportToGraph({ x: 100, y: 0 }).x - sigma.viewportToGraph({ x: 0, y: 0 }).x)
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
    return { x: [left - x, right + x], y: [bottom - y, top + y] }
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
    if (!this.graph.hasNode(id)) return undefined
    const { x, y } = this.graph.getNodeAttributes(id)
    return { x, y }
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

  private commonAttributes (theme: Theme): Record<'node' | 'edge', { labelColor: string, labelBackground: string }> {
    return {
      node: { labelColor: theme.text, labelBackground: theme.background + 'b3' },
      edge: { labelColor: theme.edgeText, labelBackground: theme.background + 'cc' }
    }
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
    return { ...centre, ratio: Math.max(ratio * share, Math.min(ratio, 0.35)) }
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
    sigma.on('clickNode', ({ node, event }) => events.click(node, isAdded(event)))
    sigma.on('clickEdge', ({ edge, event }) => events.click(edge, isAdded(event)))
    sigma.on('clickStage', ({ event }) => {
      if (!isAdded(event)) events.clickStage()
    })
    sigma.on('doubleClickNode', payload => {
      payload.preventSigmaDefault()
      events.open(payload.node)
    })
    sigma.on('doubleClickEdge', payload => payload.preventSigmaDefault())
    const hover = (key: string | undefined): void => {
      if (!this.dragged?.isMoved) events.hover(key)
    }
    sigma.on('enterNode', ({ node }) => hover(node))
    sigma.on('enterEdge', ({ edge }) => hover(edge))
    sigma.on('leaveNode', () => hover(undefined))
    sigma.on('leaveEdge', () => hover(undefined))
    sigma.on('downNode', ({ node, event }) => {
      if (isLeft(event) && !event.original.shiftKey) {
        this.dragged = { ids: this.companions(node), last: sigma.viewportToGraph(event), isMoved: false }
      }
    })
    sigma.on('downStage', ({ event }) => {
      if (isLeft(event) && (event.original.shiftKey || this.isLassoTool)) {
        this.lassoed = { points: [{ x: event.x, y: event.y }], isAdded: event.original.shiftKey }
      }
    })
    sigma.on('moveBody', ({ event }) => {
      if (this.dragged) this.dragTo(event)
      else if (this.lassoed) this.lassoTo(event)
    })
    sigma.getMouseCaptor().on('mouseup', () => {
      this.endDrag()
      this.endLasso()
    })
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
    this.isMoving = true
    for (const id of dragged.ids) {
      const attributes = this.graph.getNodeAttributes(id)
      attributes.x += dx
      attributes.y += dy
    }
    this.sigma.refresh({ partialGraph: { nodes: [...dragged.ids] }, skipIndexation: true, schedule: true })
    this.drawIncident()
    this.events.drag(dragged.ids, 'move')
  }

  private endDrag (): void {
    const { dragged } = this
    this.dragged = undefined
    this.isMoving = false
    this.overlay.replaceChildren()
    if (!dragged?.isMoved) return
    // The grid of captions learns the new places.
    this.sigma.refresh({ partialGraph: { nodes: [...dragged.ids] }, schedule: true })
    this.events.drag(dragged.ids, 'end')
  }

  // Edges of dragged nodes, where all edges are left out for speed.
  private drawIncident (): void {
    if (!this.sigma.getSetting('hideEdgesOnMove')) return
    const paths: string[] = []
    for (const id of this.dragged!.ids.slice(0, 20)) {
      for (const edge of this.graph.edges(id).slice(0, 300)) {
        const [source, target] = this.graph.extremities(edge).map(end => this.onScreen(end)!) as [Point, Point]
        // The screen's y axis points downwards, so that left is right.
        const bend = control(source, target, -this.graph.getEdgeAttribute(edge, 'curvature'))
        paths.push(`M${source.x} ${source.y} Q${bend.x} ${bend.y} ${target.x} ${target.y}`)
      }
    }
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    path.setAttribute('d', paths.join(''))
    path.setAttribute('class', 'graph-incident')
    this.overlay.replaceChildren(path)
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
    const inside = this.graph.nodes().filter(id => isInside(this.onScreen(id)!, lassoed.points))
    this.events.lasso(inside, lassoed.isAdded)
  }

  private bindCamera (): void {
    let rest: ReturnType<typeof setTimeout> | undefined
    const captor = this.sigma.getMouseCaptor()
    captor.on('wheel', () => this.events.moved())
    captor.on('mousedown', () => this.events.moved())
    this.sigma.getCamera().on('updated', () => {
      this.isMoving = true
      clearTimeout(rest)
      rest = setTimeout(() => {
        if (!this.dragged) this.isMoving = false
        this.count()
      }, 120)
    })
    this.sigma.on('afterRender', () => this.measure())
  }

  // Finds out whether edges have room for captions: from the share of the graph in sight.
  private count (): void {
    const { ratio } = this.sigma.getCamera()
    const isCrowded = this.graph.size * Math.min(1, ratio * ratio) > CAPTIONS_MAX
    if (isCrowded === this.isCrowded) return
    this.isCrowded = isCrowded
    this.events.crowded(isCrowded)
  }

  // Leaves edges out while something moves, once drawing them turned out to be too slow.
  private measure (): void {
    const now = performance.now()
    const elapsed = now - this.lastFrame
    this.lastFrame = now
    if (!this.isMoving || this.graph.size < EDGES_WORTH_HIDING) return
    // A longer pause is the user's.
    if (elapsed > SLOW_MILLISECONDS && elapsed < 400) this.slowFrames++
    else this.slowFrames = Math.max(0, this.slowFrames - 1)
    if (this.slowFrames >= SLOW_FRAMES) this.sigma.setSetting('hideEdgesOnMove', true)
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
