// Forces by the processor: ForceAtlas2 with the approximation of Barnes and Hut for more than some hundred nodes.

import iterate from 'graphology-layout-forceatlas2/iterate'

import { LARGE, masses, settingsFor, type Forces, type Placed } from './forces'

// Fields of a node and of an edge in the matrices of ForceAtlas2.
const NODE = 10
const EDGE = 3
const MASS = 6
const CONVERGENCE = 7
const SIZE = 8
const FIXED = 9

// More nodes than this are not compared each with each.
const EXACT_MAX = 600

export class ForceAtlas2 implements Forces {
  private readonly nodes: Float32Array
  private readonly edges: Float32Array
  private readonly settings: object

  constructor ({ positions, fixed, edges }: Placed, exactMax = EXACT_MAX) {
    const order = fixed.length
    const mass = masses(order, edges)
    this.nodes = new Float32Array(order * NODE)
    for (let index = 0; index < order; index++) {
      const at = index * NODE
      this.nodes[at] = positions[2 * index]!
      this.nodes[at + 1] = positions[2 * index + 1]!
      this.nodes[at + MASS] = mass[index]!
      this.nodes[at + CONVERGENCE] = 1
      this.nodes[at + SIZE] = 1
      this.nodes[at + FIXED] = fixed[index]!
    }
    this.edges = new Float32Array(edges.length / 2 * EDGE)
    for (let index = 0; index < edges.length / 2; index++) {
      this.edges[index * EDGE] = edges[2 * index]! * NODE
      this.edges[index * EDGE + 1] = edges[2 * index + 1]! * NODE
      this.edges[index * EDGE + 2] = 1
    }
    const { scaling, gravity, slowDown } = settingsFor(order)
    this.settings = {
      linLogMode: false,
      outboundAttractionDistribution: false,
      adjustSizes: false,
      edgeWeightInfluence: 1,
      scalingRatio: scaling,
      strongGravityMode: true,
      gravity,
      slowDown,
      barnesHutOptimize: order > exactMax,
      // Coarser is three times as fast for thousands of nodes, and ends as well.
      barnesHutTheta: order > LARGE ? 1.3 : 0.6
    }
  }

  advance (rounds: number): void {
    for (let round = 0; round < rounds; round++) iterate(this.settings, this.nodes, this.edges)
  }

  read (positions: Float32Array): boolean {
    for (let index = 0; index < this.nodes.length / NODE; index++) {
      positions[2 * index] = this.nodes[index * NODE]!
      positions[2 * index + 1] = this.nodes[index * NODE + 1]!
    }
    return true
  }

  place (index: number, x: number, y: number, isFixed: boolean): void {
    const at = index * NODE
    this.nodes[at] = x
    this.nodes[at + 1] = y
    this.nodes[at + FIXED] = isFixed ? 1 : 0
  }

  end (): void {}
}
