// What of a scene is in sight, and how that changes.

import type Sigma from 'sigma'
import type { CameraState } from 'sigma/types'

import { PADDING, type EdgeAttributes, type NodeAttributes } from './drawing'
import { boxOf, type Box } from './geometry'
import type { Point } from './placement'

export class Camera {
  constructor (
    private readonly sigma: Sigma<NodeAttributes, EdgeAttributes>,
    // Where nodes are; where all are, if none are named.
    private readonly points: (ids?: Iterable<string>) => Point[]
  ) {}

  get ratio (): number {
    return this.sigma.getCamera().ratio
  }

  // Makes the box around all nodes what the camera sees at its ratio of 1: Sigma looks for captions in there
  // only. `isKept` keeps what is in sight where it is; otherwise all is.
  frame (isKept: boolean): void {
    const { sigma } = this
    const box = boxOf(this.points())
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

  // Moves to a point without another zoom.
  center (point: Point): void {
    this.go(this.sigma.graphToFramedGraph(point), true)
  }

  // Moves so that these nodes, or all, are seen.
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
    this.go({ ratio: this.ratio / factor }, true)
  }

  pan (x: number, y: number): void {
    const camera = this.sigma.getCamera()
    const { width, height } = this.sigma.getDimensions()
    const unit = camera.ratio / Math.min(width, height)
    this.go({ x: camera.x + x * unit, y: camera.y - y * unit }, true)
  }

  // A box that is at least as large as most of the stage, so that few nodes are not far from each other.
  private widened ({ left, right, bottom, top }: Box): { x: [number, number], y: [number, number] } {
    const { width, height } = this.sigma.getDimensions()
    const x = Math.max(0, (width * 0.62 - (right - left)) / 2)
    const y = Math.max(0, (height * 0.62 - (top - bottom)) / 2)
    // The legend is at the top.
    return { x: [left - x, right + x], y: [bottom - y, top + y + (top - bottom + 2 * y) * 0.06] }
  }

  private framed (box: Box): Partial<CameraState> {
    const { sigma, ratio } = this
    const low = sigma.graphToViewport({ x: box.left, y: box.bottom })
    const high = sigma.graphToViewport({ x: box.right, y: box.top })
    const { width, height } = sigma.getDimensions()
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
}
