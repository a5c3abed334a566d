// Statements that search vector indexes.

import { literal, name, shown, type Node, type Relationship, type Value } from '../server/values'
import type { Index } from './schema'

// What a search is near to: the vector of an element, or numbers.
export type Like = { element: Node | Relationship, property: string } | { numbers: number[] }

export interface Search {
  text: string
  // Numbers are a parameter, so that a text can be read.
  parameters: { vector?: number[] }
}

export const COUNT_MAX = 1000

export class NumbersError extends Error {}

// Numbers as people paste them: `[0.1, 2]`, or with blanks or line ends between them.
export function numbers (text: string, dimensions: number | undefined): number[] {
  const parts = text.trim().replace(/^[[(]|[\])]$/g, '').split(/[\s,;]+/).filter(part => part !== '')
  if (parts.length === 0) throw new NumbersError('Paste the numbers of a vector.')
  const wrong = parts.find(part => !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(part))
  if (wrong !== undefined) throw new NumbersError(`'${wrong.slice(0, 30)}' is not a number.`)
  const found = parts.map(Number)
  if (!found.every(Number.isFinite)) throw new NumbersError('A number is too large.')
  if (dimensions !== undefined && found.length !== dimensions) {
    throw new NumbersError(`There are ${found.length} numbers; vectors of the index have ${dimensions}.`)
  }
  return found
}

// A property of the element that may be searched for: the index's own, if the element has that.
export function vectorOf (element: Node | Relationship, index: Index): string | undefined {
  const isVector = (value: Value | undefined): boolean => Array.isArray(value)
    ? value.length > 0 && (index.dimensions === undefined || value.length === index.dimensions) &&
      value.every(one => typeof one === 'number' || typeof one === 'bigint')
    : typeof value === 'object' && value !== null && value.kind === 'typed' && value.type === 'Vector'
  const candidates = [...index.properties, ...Object.keys(element.properties)]
  return candidates.find(key => isVector(element.properties[key]))
}

// How the procedures that search an index end, which column has what they find, and what shows it.
export function searches ({ entity }: Index): { kind: string, found: string, yields: string, shows: string } {
  return entity === 'NODE'
    ? { kind: 'Nodes', found: 'node', yields: 'YIELD node, score', shows: 'node, score' }
    : {
        kind: 'Relationships',
        found: 'r',
        yields: 'YIELD relationship AS r, score',
        shows: 'startNode(r) AS a, r, endNode(r) AS b, score'
      }
}

// The statement that finds `count` of what is nearest.
export function nearest (index: Index, like: Like, count: number): Search {
  const isNode = index.entity === 'NODE'
  const { kind, found, yields, shows } = searches(index)
  const call = `CALL db.index.vector.query${kind}`
  if ('numbers' in like) {
    return {
      text: `${call}(${literal(index.name)}, ${count}, $vector)\n${yields}\nRETURN ${shows}`,
      parameters: { vector: like.numbers }
    }
  }
  const { element, property } = like
  const self = element.kind === 'node' ? 'n' : 'l'
  const pattern = element.kind === 'node' ? '(n)' : '()-[l]->()'
  const match = `MATCH ${pattern} WHERE elementId(${self}) = ${literal(element.id)}`
  // It is the nearest to itself, where it is in the index, and is left out.
  const isSame = isNode === (element.kind === 'node')
  const others = isSame ? `\nWHERE ${found} <> ${self}` : ''
  const limit = isSame ? ` LIMIT ${count}` : ''
  return {
    text: `${match}\n${call}(${literal(index.name)}, ${isSame ? count + 1 : count}, ${self}.${name(property)})\n` +
      `${yields}${others}\nRETURN ${shows}${limit}`,
    parameters: {}
  }
}

// What an element is called in a line.
export function called (element: Node | Relationship): string {
  const text = Object.entries(element.properties).find(([, value]) => typeof value === 'string')
  const kind = element.kind === 'node' ? element.labels.map(label => ':' + label).join('') : `:${element.type}`
  return `(${kind})` + (text ? ` ${shown(text[1]).slice(0, 60)}` : ` ${element.id}`)
}
