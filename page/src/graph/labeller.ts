// Gives captions to the nodes that Sigma draws, after they have found their places.

import type { MultiDirectedGraph } from 'graphology'
import type Sigma from 'sigma'

import { captions, ruler, type Captioned } from './captions'
import type { EdgeAttributes, NodeAttributes } from './drawing'

type Graph = MultiDirectedGraph<NodeAttributes, EdgeAttributes>

// While a layout runs, captions are chosen anew this often, in milliseconds.
const OFTEN_MILLISECONDS = 400

export class Labeller {
  private readonly measure = ruler()
  private isDue = false
  private last = 0

  constructor (
    private readonly sigma: Sigma<NodeAttributes, EdgeAttributes>, private readonly graph: () => Graph,
    private readonly degree: (id: string) => number
  ) {
    // Only then it is known where everything is on the screen.
    sigma.on('afterRender', () => {
      if (!this.isDue) return
      this.isDue = false
      this.choose()
    })
  }

  // Chooses after the next frame; if it is not urgent, not too often.
  due (isUrgent = true): void {
    const now = performance.now()
    if (!isUrgent && now - this.last < OFTEN_MILLISECONDS) return
    this.last = now
    this.isDue = true
    this.sigma.scheduleRender()
  }

  private choose (): void {
    const { sigma } = this
    const graph = this.graph()
    const nodes: Captioned[] = graph.mapNodes((id, { x, y, size, label, rank }) => ({
      ...sigma.graphToViewport({ x, y }),
      id,
      radius: sigma.scaleSize(size),
      width: this.measure(label),
      rank,
      degree: this.degree(id)
    }))
    const chosen = captions(nodes)
    const changed: string[] = []
    graph.forEachNode((id, attributes) => {
      const labelVisibility = chosen.has(id) ? 'visible' : 'hidden'
      if (attributes.labelVisibility === labelVisibility) return
      attributes.labelVisibility = labelVisibility
      changed.push(id)
    })
    if (changed.length > 0) sigma.refresh({ partialGraph: { nodes: changed }, skipIndexation: true, schedule: true })
  }
}
