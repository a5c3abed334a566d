// How labels look: colour, caption, size. Kept in the browser for each label.

import { shown, type Node, type Properties, type Value } from '../server/values'
import { scoreTitle } from './algorithms'
import { isColor } from './palette'

// A number or text of nodes: a property, or what an algorithm found.
export type Measure = { property: string } | { score: string }

export type Size = { by: 'fixed', value: number } | { by: 'measure', measure: Measure }

export interface LabelStyle {
  color?: string
  // A property; the best one if it is left out.
  caption?: string
  size?: Size
  colorBy?: Measure
}

export type Styles = Record<string, LabelStyle>

export const SIZE_DEFAULT = 9
export const SIZE_MIN = 3
export const SIZE_MAX = 30

// Score that every view has.
export const DEGREE = 'degree'

export function measureTitle (measure: Measure): string {
  if ('property' in measure) return measure.property
  return measure.score === DEGREE ? 'Degree' : scoreTitle(measure.score)
}

const KEY = 'telar.graph.styles'

// Name under which the style of a relationship type is kept, apart from those of labels.
export const typeKey = (type: string): string => `-[${type}]->`

export function load (storage: Storage | undefined = storageOf()): Styles {
  const styles: Styles = Object.create(null)
  try {
    const kept: unknown = JSON.parse(storage?.getItem(KEY) ?? '{}')
    if (typeof kept !== 'object' || kept === null) return styles
    for (const [label, style] of Object.entries(kept)) styles[label] = checked(style)
  } catch {
    // What nobody can read is as good as nothing.
  }
  return styles
}

export function save (styles: Styles, storage: Storage | undefined = storageOf()): void {
  try {
    storage?.setItem(KEY, JSON.stringify(styles))
  } catch {
    // The browser keeps nothing, or no more.
  }
}

function storageOf (): Storage | undefined {
  try {
    return globalThis.localStorage
  } catch {
    return undefined
  }
}

// A style without what is none: the browser's storage may hold anything.
function checked (kept: unknown): LabelStyle {
  const style: LabelStyle = {}
  if (typeof kept !== 'object' || kept === null) return style
  const { color, caption, size, colorBy } = kept as Record<string, unknown>
  if (isColor(color)) style.color = color
  if (typeof caption === 'string') style.caption = caption
  if (isMeasure(colorBy)) style.colorBy = colorBy
  if (typeof size === 'object' && size !== null) {
    const { by, value, measure } = size as Record<string, unknown>
    if (by === 'fixed' && typeof value === 'number' && value >= SIZE_MIN && value <= SIZE_MAX) {
      style.size = { by, value }
    }
    if (by === 'measure' && isMeasure(measure)) style.size = { by, measure }
  }
  return style
}

function isMeasure (value: unknown): value is Measure {
  if (typeof value !== 'object' || value === null) return false
  const { property, score } = value as Record<string, unknown>
  return typeof property === 'string' || typeof score === 'string'
}

const BEST = [
  'name', 'title', 'caption', 'label', 'username', 'displayname', 'fullname', 'email', 'code', 'key', 'id'
]

// The property that says best what a node is: one with a telling name, else the first that is a text, else
// any.
export function bestProperty (properties: Properties): string | undefined {
  const keys = Object.keys(properties)
  for (const best of BEST) {
    const found = keys.find(key => key.toLowerCase().replaceAll('_', '') === best)
    if (found !== undefined) return found
  }
  return keys.find(key => /name|title/i.test(key)) ??
    keys.find(key => /id$/i.test(key)) ??
    keys.find(key => typeof properties[key] === 'string') ?? keys[0]
}

const CAPTION_MAX = 40

// What stands at a node.
export function nodeCaption (node: Node, style?: LabelStyle): string {
  const chosen = style?.caption
  const key = chosen !== undefined && node.properties[chosen] !== undefined
    ? chosen
    : bestProperty(node.properties)
  const value = key === undefined ? undefined : node.properties[key]
  return shortened(value === undefined ? node.labels[0] ?? node.id : shown(value), CAPTION_MAX)
}

export function shortened (text: string, most: number): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > most ? line.slice(0, most - 1) + '…' : line
}

// The number that a value stands for; undefined if it is none.
export function number (value: Value | undefined): number | undefined {
  if (typeof value === 'bigint') return Number(value)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

// Sizes from the smallest to the greatest of `values`: areas grow as values do.
export function sizer (values: Iterable<number>, least = 5, greatest = 22): (value: number) => number {
  let low = Infinity
  let high = -Infinity
  for (const value of values) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  if (!(high > low)) return () => SIZE_DEFAULT
  return value => least + (greatest - least) * Math.sqrt((value - low) / (high - low))
}

// More different values than this are no categories, if they are numbers.
const CATEGORIES_MAX = 12

// Categories have numbers, by which they get colours.
export type Scale = { kind: 'categories', values: Map<string, number> } |
  { kind: 'ramp', low: number, high: number }

// How `values` become colours: the most frequent first, or from the least to the greatest.
export function scale (values: Iterable<Value>, isCategory = false): Scale {
  const counts = new Map<string, number>()
  let low = Infinity
  let high = -Infinity
  let isNumeric = true
  for (const value of values) {
    const text = shown(value)
    counts.set(text, (counts.get(text) ?? 0) + 1)
    const as = number(value)
    if (as === undefined) isNumeric = false
    else {
      low = Math.min(low, as)
      high = Math.max(high, as)
    }
  }
  if (isNumeric && !isCategory && counts.size > CATEGORIES_MAX) return { kind: 'ramp', low, high }
  const frequent = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
  return { kind: 'categories', values: new Map(frequent.map(([value], index) => [value, index])) }
}
