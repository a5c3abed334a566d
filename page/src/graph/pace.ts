// Whether something moves, and whether that is drawn too slowly: then edges are left out as long as it does, or a
// cloud is drawn as pictures.

import type Sigma from 'sigma'

import type { Cloud } from './cloud'
import type { EdgeAttributes, NodeAttributes } from './drawing'

// A frame that takes longer while something moves is slow; after some of them, edges are left out then.
const SLOW_MILLISECONDS = 20
const VERY_SLOW_MILLISECONDS = 100
const SLOW_FRAMES = 4
const EDGES_WORTH_HIDING = 500
const EDGES_SLOW = 50_000
const NODES_SLOW = 20_000

export class Pace {
  isMoving = false
  private edges = 0
  private isCloud = false
  private isSlow = false
  private slowFrames = 0
  private lastFrame = 0

  constructor (private readonly sigma: Sigma<NodeAttributes, EdgeAttributes>, private readonly cloud: Cloud) {}

  // Begins anew with a scene of so many nodes and edges, which rests.
  begin (nodes: number, edges: number, isCloud: boolean): void {
    this.edges = edges
    this.isCloud = isCloud
    this.isMoving = false
    this.slowFrames = 0
    // Where it is certain, nobody waits for it to be found out.
    this.isSlow = edges > EDGES_SLOW || nodes > NODES_SLOW
    this.cloud.isSlow = this.isSlow && isCloud
    this.cloud.isMoving = false
  }

  setMoving (isMoving: boolean): void {
    if (isMoving === this.isMoving) return
    this.isMoving = isMoving
    this.cloud.isMoving = isMoving
    if (!isMoving) {
      this.sigma.scheduleRender()
    } else if (!this.isSlow && this.edges >= EDGES_WORTH_HIDING) {
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
      this.cloud.isSlow = this.isCloud
      this.sigma.setSetting('hideEdgesOnMove', !this.isCloud)
    } else {
      requestAnimationFrame(next => this.watch(next))
    }
  }
}
