// What changed between two results.

import { literal, type Node, type Properties, type Relationship } from '../server/values'

export interface Elements {
  nodes: ReadonlyMap<string, Node>
  relationships: ReadonlyMap<string, Relationship>
}

export interface Changes {
  // Identities of nodes and relationships.
  added: Set<string>
  removed: Map<string, Node | Relationship>
  changed: Set<string>
}

export function difference (before: Elements, after: Elements): Changes {
  const changes: Changes = { added: new Set(), removed: new Map(), changed: new Set() }
  compare(before.nodes, after.nodes, changes,
    (a, b) => isSame(a.properties, b.properties) && sameLabels(a, b))
  compare(before.relationships, after.relationships, changes, (a, b) => isSame(a.properties, b.properties))
  return changes
}

export function isEmpty (changes: Changes): boolean {
  return changes.added.size + changes.removed.size + changes.changed.size === 0
}

function compare<T extends Node | Relationship> (
  before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>, changes: Changes,
  isEqual: (a: T, b: T) => boolean
): void {
  for (const [id, element] of after) {
    const former = before.get(id)
    if (!former) changes.added.add(id)
    else if (former !== element && !isEqual(former, element)) changes.changed.add(id)
  }
  for (const [id, element] of before) if (!after.has(id)) changes.removed.set(id, element)
}

function isSame (a: Properties, b: Properties): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length &&
    keys.every(key => b[key] !== undefined && literal(a[key]!) === literal(b[key]!))
}

function sameLabels (a: Node, b: Node): boolean {
  return a.labels.length === b.labels.length && a.labels.every(label => b.labels.includes(label))
}
