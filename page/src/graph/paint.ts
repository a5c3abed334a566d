// What a view's nodes and edges look like: from styles, scores and states to colours and sizes.

import { shown, type Node } from '../server/values'
import { edgeCaption, type Edge } from './bundle'
import { ALWAYS } from './captions'
import { mix, paletteColor, ramp, type Theme } from './palette'
import {
  nodeCaption, number, SIZE_DEFAULT, shortened, sizer, typeKey, type LabelStyle, type Measure, type Scale
} from './styles'
import type { Scene, View } from './view'

export interface NodeLook {
  label: string
  color: string
  size: number
  ring: string
  ringWidth: number
  gap: string
  // That of its caption.
  rank: number
}

export interface EdgeLook {
  label: string
  labelVisibility: 'visible' | 'hidden'
  color: string
  size: number
}

// A size with which this many nodes fit on the stage.
function sizeOfMany (count: number): number {
  if (count <= 60) return 13
  if (count <= 400) return SIZE_DEFAULT
  if (count <= 2000) return 6
  return count <= 20_000 ? 4 : 2.5
}

const NO_RING = '#00000000'

// So many that are selected have captions in any case.
const SELECTED_FEW = 12

// Everything that is the same for all nodes of one painting.
export class Painter {
  private readonly scene: Scene
  private readonly sizers = new Map<string, (value: number) => number>()
  private readonly scales = new Map<string, Scale>()
  private readonly near: ReadonlySet<string> | undefined

  constructor (
    private readonly view: View, private readonly theme: Theme,
    // Whether edges have no room for captions.
    private readonly isCrowded: boolean,
    // A node, or an edge by its key, whose surroundings stand out.
    private readonly hovered?: string
  ) {
    this.scene = view.scene.value
    this.near = hovered === undefined ? undefined : this.surroundings(hovered)
  }

  node (node: Node): NodeLook {
    const { view, theme } = this
    const label = view.lookLabel(node)
    const style: LabelStyle = label === undefined ? {} : view.style(label)
    const isSelected = view.selection.value.has(node.id)
    const isFar = this.near !== undefined && !this.near.has(node.id) && !isSelected
    const isGhost = view.changes.value?.removed.has(node.id) ?? false
    const full = this.color(node, label, style)
    const color = isGhost ? mix(full, theme.background, 0.55) : full
    const [ring, ringWidth] = this.ring(node.id, isSelected, color)
    const more = view.more.value.get(node.id)
    return {
      label: isFar ? '' : nodeCaption(node, style) + (more ? ` +${more}` : ''),
      color: isFar ? mix(color, theme.background, 0.82) : color,
      size: this.size(node, label, style) + (ringWidth > 1 ? ringWidth + 1 : 0),
      ring: isFar ? NO_RING : ring,
      ringWidth,
      gap: !isFar && ringWidth >= 2 ? theme.background : NO_RING,
      rank: this.rank(node.id, isSelected)
    }
  }

  // What one points at has its caption, and so has what is selected, if that is not much.
  private rank (id: string, isSelected: boolean): number {
    if (id === this.hovered) return ALWAYS
    if (isSelected) return this.view.selection.value.size <= SELECTED_FEW ? ALWAYS : 1
    return this.near?.has(id) ? 1 : 0
  }

  selected (most: number): string[] {
    return [...this.view.selection.value].filter(id => this.scene.nodes.has(id)).slice(0, most)
  }

  edge (edge: Edge): EdgeLook {
    const { view } = this
    const isSelected = edge.members.some(member => view.selection.value.has(member.id))
    const isNear = this.near !== undefined && this.isIncident(edge)
    const isFar = this.near !== undefined && !isNear && !isSelected
    return {
      label: shortened(edgeCaption(edge), 30),
      labelVisibility: isFar || this.isCrowded && !isNear && !isSelected ? 'hidden' : 'visible',
      color: this.edgeColor(edge, isSelected, isNear, isFar),
      size: edge.members.length === 1 ? isSelected ? 3.5 : 2.2 : 2.5 + Math.log2(edge.members.length) / 2
    }
  }

  private edgeColor (edge: Edge, isSelected: boolean, isNear: boolean, isFar: boolean): string {
    const { theme } = this
    const changes = this.view.changes.value
    if (isSelected) return theme.accent
    if (isFar) return mix(this.typeColor(edge) ?? theme.edge, theme.background, 0.75)
    if (changes) {
      if (edge.members.some(member => changes.added.has(member.id))) return theme.added
      if (edge.members.every(member => changes.removed.has(member.id))) {
        return mix(theme.removed, theme.background, 0.6)
      }
      if (edge.members.some(member => changes.changed.has(member.id))) return theme.changed
    }
    const color = this.typeColor(edge) ?? theme.edge
    return isNear ? mix(color, theme.text, 0.45) : color
  }

  // A bundle has the colour of its first type.
  private typeColor (edge: Edge): string | undefined {
    return this.view.styles.value[typeKey(edge.members[0]!.type)]?.color
  }

  private ring (id: string, isSelected: boolean, color: string): [color: string, width: number] {
    const { view, theme } = this
    if (isSelected) return [theme.accent, 3]
    const changes = view.changes.value
    if (changes?.added.has(id)) return [theme.added, 3]
    if (changes?.removed.has(id)) return [theme.removed, 2]
    if (changes?.changed.has(id)) return [theme.changed, 3]
    if (view.pinned.value.has(id)) return [theme.pinned, 2]
    return [mix(color, theme.dark ? '#000000' : theme.text, 0.25), this.scene.nodes.size > 2000 ? 0.5 : 1]
  }

  private color (node: Node, label: string | undefined, style: LabelStyle): string {
    const { view, theme } = this
    const general = view.override.value?.color
    const measure = general ?? style.colorBy
    const plain = label === undefined ? mix(theme.edge, theme.text, 0.2) : view.labelColor(label, theme.dark)
    if (!measure) return plain
    const value = view.measured(node, measure)
    if (value === undefined || value === null) return theme.edge
    const scale = this.scaleOf(measure, general ? undefined : label)
    return scaleColor(scale, shown(value), number(value), theme.dark) ?? theme.edge
  }

  private size (node: Node, label: string | undefined, style: LabelStyle): number {
    const general = this.view.override.value?.size
    if (!general && style.size?.by === 'fixed') return style.size.value
    const measure = general ?? (style.size?.by === 'measure' ? style.size.measure : undefined)
    if (!measure) return sizeOfMany(this.scene.nodes.size)
    const value = number(this.view.measured(node, measure))
    return value === undefined ? 5 : this.sizerOf(measure, general ? undefined : label)(value)
  }

  private sizerOf (measure: Measure, label: string | undefined): (value: number) => number {
    const key = JSON.stringify([measure, label])
    let found = this.sizers.get(key)
    if (!found) {
      const values: number[] = []
      for (const node of this.nodesWith(label)) {
        const value = number(this.view.measured(node, measure))
        if (value !== undefined) values.push(value)
      }
      this.sizers.set(key, found = sizer(values))
    }
    return found
  }

  private scaleOf (measure: Measure, label: string | undefined): Scale {
    const key = JSON.stringify([measure, label])
    let found = this.scales.get(key)
    if (!found) this.scales.set(key, found = this.view.scaleOf(this.nodesWith(label), measure))
    return found
  }

  private * nodesWith (label: string | undefined): Iterable<Node> {
    for (const node of this.scene.nodes.values()) {
      if (label === undefined || this.view.lookLabel(node) === label) yield node
    }
  }

  private surroundings (hovered: string): ReadonlySet<string> {
    const neighbours = this.scene.neighbours.get(hovered)
    if (neighbours) return new Set([hovered, ...neighbours])
    const edge = this.scene.edges.find(({ key }) => key === hovered)
    return new Set(edge ? [edge.source, edge.target] : [])
  }

  private isIncident (edge: Edge): boolean {
    return edge.key === this.hovered || edge.source === this.hovered || edge.target === this.hovered
  }
}

// The colour of a value on a scale; undefined if the scale has none for it.
export function scaleColor (
  scale: Scale, text: string, value: number | undefined, dark: boolean
): string | undefined {
  if (scale.kind === 'categories') {
    const index = scale.values.get(text)
    return index === undefined ? undefined : paletteColor(index, dark)
  }
  if (value === undefined) return undefined
  return ramp(scale.high > scale.low ? (value - scale.low) / (scale.high - scale.low) : 0.5, dark)
}
