// The state of a graph view: what it holds, what of it is shown, chosen, pinned and marked, and how it looks.

import { computed, signal, type ReadonlySignal } from '@preact/signals'

import { shown, type Node, type Relationship, type Value } from '../server/values'
import { isGroup } from './algorithms'
import { bundle, type Edge } from './bundle'
import { difference, isEmpty, type Changes } from './difference'
import { paletteColor } from './palette'
import { place, type Point } from './placement'
import type { Element } from './statements'
import {
  DEGREE, load, nodeCaption, save, scale, type LabelStyle, type Measure, type Scale, type Styles
} from './styles'

export interface GraphSource {
  nodes: Map<string, Node>
  relationships: Map<string, Relationship>
}

// What stands in for the styles of all labels.
export interface Override {
  color?: Measure
  size?: Measure
}

export interface Scene {
  nodes: Map<string, Node>
  relationships: Map<string, Relationship>
  edges: Edge[]
  degrees: Map<string, number>
  neighbours: Map<string, Set<string>>
}

export interface LegendEntry {
  name: string
  count: number
}

export class View {
  private readonly nodes = new Map<string, Node>()
  private readonly relationships = new Map<string, Relationship>()

  // What the source does not hold: found by expanding and between nodes.
  readonly extra = new Set<string>()
  readonly positions = new Map<string, Point>()

  // Counted up where the structure, or only the look, is another.
  private readonly structure = signal(0)
  readonly look = signal(0)

  readonly hidden = signal<ReadonlySet<string>>(new Set())
  readonly pinned = signal<ReadonlySet<string>>(new Set())
  readonly selection = signal<ReadonlySet<string>>(new Set())

  // The element that the panel at the right is about.
  readonly current = signal<string | undefined>(undefined)
  readonly found = signal<readonly string[]>([])
  readonly styles = signal<Styles>(load())
  readonly override = signal<Override | undefined>(undefined)
  readonly changes = signal<Changes | undefined>(undefined)

  // Neighbours that were left out, of nodes that were expanded.
  readonly more = signal<ReadonlyMap<string, number>>(new Map())
  private readonly scores = new Map<string, Map<string, Value>>()
  private readonly colors = new Map<string, number>()

  readonly scene: ReadonlySignal<Scene> = computed(() => this.build())
  readonly labels: ReadonlySignal<LegendEntry[]> = computed(() => counted(this.labelsShown()))
  readonly types: ReadonlySignal<LegendEntry[]> = computed(() => counted(
    [...this.scene.value.relationships.values()].map(relationship => relationship.type)
  ))

  // Takes a result. Nodes that were there keep their places.
  take (source: GraphSource, showChanges: boolean): void {
    const before = { nodes: new Map(this.nodes), relationships: new Map(this.relationships) }
    this.nodes.clear()
    this.relationships.clear()
    this.extra.clear()
    this.more.value = new Map()
    for (const [id, node] of source.nodes) this.nodes.set(id, node)
    for (const [id, relationship] of source.relationships) this.relationships.set(id, relationship)
    const changes = difference(before, source)
    this.changes.value = showChanges && before.nodes.size > 0 && !isEmpty(changes) ? changes : undefined
    this.changed()
  }

  // Adds what was found; returns how many nodes are new.
  add (nodes: Iterable<Node>, relationships: Iterable<Relationship>): number {
    let count = 0
    const seen = new Set(this.hidden.value)
    for (const node of nodes) {
      if (!this.nodes.has(node.id)) {
        count++
        this.extra.add(node.id)
      }
      this.nodes.set(node.id, node)
      seen.delete(node.id)
    }
    for (const relationship of relationships) {
      if (!this.relationships.has(relationship.id)) this.extra.add(relationship.id)
      this.relationships.set(relationship.id, relationship)
    }
    if (seen.size !== this.hidden.value.size) this.hidden.value = seen
    this.changed()
    return count
  }

  // Replaces an element by what it has become.
  update (element: Element): void {
    if (element.kind === 'node') this.nodes.set(element.id, element)
    else this.relationships.set(element.id, element)
    this.changed()
  }

  // Takes elements out of the view, and relationships of nodes with them.
  remove (ids: ReadonlySet<string>): void {
    for (const id of ids) {
      this.nodes.delete(id)
      this.relationships.delete(id)
      this.positions.delete(id)
    }
    for (const { id, start, end } of this.relationships.values()) {
      if (ids.has(start) || ids.has(end)) this.relationships.delete(id)
    }
    this.unselect(ids)
    this.changed()
  }

  hide (ids: Iterable<string>): void {
    const hidden = new Set(this.hidden.value)
    for (const id of ids) hidden.add(id)
    this.hidden.value = hidden
    this.unselect(hidden)
  }

  showHidden (): void {
    this.hidden.value = new Set()
  }

  pin (ids: Iterable<string>, isPinned: boolean): void {
    const pinned = new Set(this.pinned.value)
    for (const id of ids) {
      if (isPinned) pinned.add(id)
      else pinned.delete(id)
    }
    this.pinned.value = pinned
  }

  // Selects, in place of or besides what is selected; the last one becomes the current one.
  select (ids: Iterable<string>, isAdded = false): void {
    const selection = new Set(isAdded ? this.selection.value : [])
    let last: string | undefined
    for (const id of ids) {
      if (isAdded && selection.has(id)) selection.delete(id)
      else selection.add(last = id)
    }
    this.selection.value = selection
    this.current.value = last ?? [...selection].at(-1)
  }

  selectedNodes (): string[] {
    const { nodes } = this.scene.value
    return [...this.selection.value].filter(id => nodes.has(id))
  }

  selectAll (): void {
    this.select(this.scene.value.nodes.keys())
  }

  invert (): void {
    const selection = this.selection.value
    this.select([...this.scene.value.nodes.keys()].filter(id => !selection.has(id)))
  }

  selectNeighbours (): void {
    const { neighbours } = this.scene.value
    const nodes = this.selectedNodes()
    this.select(new Set([...nodes, ...nodes.flatMap(id => [...neighbours.get(id) ?? []])]))
  }

  element (id: string | undefined): Element | undefined {
    if (id === undefined) return undefined
    return this.nodes.get(id) ?? this.relationships.get(id)
  }

  style (label: string): LabelStyle {
    return this.styles.value[label] ?? {}
  }

  setStyle (label: string, style: LabelStyle): void {
    const styles: Styles = Object.assign(Object.create(null), this.styles.value)
    if (Object.keys(style).length === 0) delete styles[label]
    else styles[label] = style
    this.styles.value = styles
    save(styles)
  }

  caption (node: Node): string {
    return nodeCaption(node, this.style(this.lookLabel(node) ?? ''))
  }

  // The label that says how a node looks: the first one that somebody gave a style, or the first.
  lookLabel (node: Node): string | undefined {
    return node.labels.find(label => this.styles.value[label]) ?? node.labels[0]
  }

  // The colour of a label; each gets another one as long as there are some.
  labelColor (label: string, dark: boolean): string {
    const chosen = this.styles.value[label]?.color
    if (chosen) return chosen
    let index = this.colors.get(label)
    if (index === undefined) this.colors.set(label, index = this.colors.size)
    return paletteColor(index, dark)
  }

  setScores (name: string, scores: Map<string, Value>): void {
    this.scores.set(name, scores)
    this.look.value++
  }

  scoreNames (): string[] {
    return [DEGREE, ...this.scores.keys()]
  }

  measured (node: Node, measure: Measure): Value | undefined {
    if ('property' in measure) return node.properties[measure.property]
    if (measure.score === DEGREE) return this.scene.value.degrees.get(node.id)
    return this.scores.get(measure.score)?.get(node.id)
  }

  // The scale of what `nodes` have of `measure`. Numbers of communities are names, not quantities.
  scaleOf (nodes: Iterable<Node>, measure: Measure): Scale {
    const values: Value[] = []
    for (const node of nodes) {
      const value = this.measured(node, measure)
      if (value !== undefined && value !== null) values.push(value)
    }
    return scale(values, 'score' in measure && isGroup(measure.score))
  }

  // Properties of the nodes with a label, the most frequent first.
  properties (label: string): string[] {
    const keys: string[] = []
    for (const node of this.scene.value.nodes.values()) {
      if (node.labels.includes(label)) keys.push(...Object.keys(node.properties))
    }
    return counted(keys).map(({ name }) => name)
  }

  // Nodes and relationships with `text` in an identity, a label or type, or a value.
  find (text: string): string[] {
    const wanted = text.trim().toLowerCase()
    if (wanted === '') return []
    const { nodes, relationships } = this.scene.value
    const has = (element: Element, names: string[]): boolean => element.id.toLowerCase() === wanted ||
      names.some(name => name.toLowerCase().includes(wanted)) ||
      Object.values(element.properties).some(value => shown(value).toLowerCase().includes(wanted))
    const ids: string[] = []
    for (const node of nodes.values()) if (has(node, node.labels)) ids.push(node.id)
    for (const relationship of relationships.values()) {
      if (has(relationship, [relationship.type])) ids.push(relationship.id)
    }
    return ids
  }

  mark (changes: Changes | undefined): void {
    this.changes.value = changes
    this.changed()
  }

  private changed (): void {
    this.structure.value++
  }

  private unselect (ids: ReadonlySet<string>): void {
    const selection = [...this.selection.value].filter(id => !ids.has(id) && this.element(id))
    if (selection.length !== this.selection.value.size) this.select(selection)
  }

  private * labelsShown (): Iterable<string> {
    for (const node of this.scene.value.nodes.values()) yield * node.labels
  }

  private build (): Scene {
    this.structure.value
    const hidden = this.hidden.value
    const nodes = new Map<string, Node>()
    const relationships = new Map<string, Relationship>()
    const ghosts = this.changes.value?.removed
    const put = (element: Element): void => {
      if (element.kind === 'node' && !hidden.has(element.id)) nodes.set(element.id, element)
    }
    this.nodes.forEach(put)
    ghosts?.forEach(put)
    for (const elements of [this.relationships, ghosts]) {
      elements?.forEach(element => {
        if (element.kind === 'relationship' && nodes.has(element.start) && nodes.has(element.end)) {
          relationships.set(element.id, element)
        }
      })
    }
    const edges = bundle(relationships.values())
    for (const [id, point] of place(nodes.keys(), edges, this.positions)) this.positions.set(id, point)
    const degrees = new Map<string, number>()
    const neighbours = new Map<string, Set<string>>()
    for (const id of nodes.keys()) {
      degrees.set(id, 0)
      neighbours.set(id, new Set())
    }
    for (const { start, end } of relationships.values()) {
      degrees.set(start, degrees.get(start)! + 1)
      if (start !== end) degrees.set(end, degrees.get(end)! + 1)
      neighbours.get(start)!.add(end)
      neighbours.get(end)!.add(start)
    }
    return { nodes, relationships, edges, degrees, neighbours }
  }
}

// Names and how often each occurs, the most frequent first.
function counted (names: Iterable<string>): LegendEntry[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
}
