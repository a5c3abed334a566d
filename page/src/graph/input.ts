// Values that people type: their type, and how a statement gets them without any becoming part of its text.
//
// Parameters are plain JSON, which knows neither dates nor the difference of 1 and 1.0: those are texts that
// a function of Cypher makes a value of.

import { isKind, shown, type Value } from '../server/values'

export const TYPES = [
  'automatic', 'string', 'integer', 'float', 'boolean', 'date', 'time', 'local time', 'datetime',
  'local datetime', 'duration', 'point', 'list'
] as const

export type InputType = typeof TYPES[number]

export interface Typed {
  // Cypher that uses `$value`.
  expression: string
  parameter: unknown
}

export type Parsed = Typed | { error: string }

const FUNCTIONS: Partial<Record<InputType, string>> = {
  date: 'date',
  time: 'time',
  'local time': 'localtime',
  datetime: 'datetime',
  'local datetime': 'localdatetime',
  duration: 'duration'
}

const INTEGER = /^[+-]?\d+$/
const FLOAT = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?Infinity$|^NaN$/
const INT64 = { least: -(2n ** 63n), greatest: 2n ** 63n - 1n }

// Reads what was typed as a value of `type`.
export function parse (type: InputType, text: string): Parsed {
  const trimmed = text.trim()
  switch (type) {
    case 'automatic': return parse(guess(trimmed), text)
    case 'string': return { expression: '$value', parameter: text }
    case 'integer': return integer(trimmed)
    case 'float':
      if (!FLOAT.test(trimmed)) return { error: 'A float is written like 1.5 or 2e10.' }
      return { expression: 'toFloat($value)', parameter: trimmed }
    case 'boolean':
      if (!/^(true|false)$/i.test(trimmed)) return { error: 'A boolean is true or false.' }
      return { expression: '$value', parameter: trimmed.toLowerCase() === 'true' }
    case 'point': return point(trimmed)
    case 'list': return list(trimmed)
    default:
      if (trimmed === '') return { error: `A ${type} is written as ISO 8601 says.` }
      return { expression: `${FUNCTIONS[type]}($value)`, parameter: trimmed }
  }
}

// The type that a text without one most likely has.
export function guess (text: string): InputType {
  if (INTEGER.test(text)) return 'integer'
  if (FLOAT.test(text)) return 'float'
  if (/^(true|false)$/.test(text)) return 'boolean'
  if (text.startsWith('[') && text.endsWith(']')) return 'list'
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return 'date'
  if (/^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)/.test(text)) return 'datetime'
  if (/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(text)) return 'local datetime'
  return 'string'
}

function integer (text: string): Parsed {
  if (!INTEGER.test(text)) return { error: 'An integer has digits only.' }
  const value = BigInt(text.replace('+', ''))
  if (value < INT64.least || value > INT64.greatest) return { error: 'An integer has at most 64 bits.' }
  const number = Number(value)
  // A number of JSON is exact up to 2^53 only.
  if (Number.isSafeInteger(number)) return { expression: '$value', parameter: number }
  return { expression: 'toInteger($value)', parameter: String(value) }
}

function point (text: string): Parsed {
  const error = {
    error: 'A point is written like {"x": 1, "y": 2} or {"longitude": 11.6, "latitude": 48.1}.'
  }
  const map = json(text)
  if (typeof map !== 'object' || map === null || Array.isArray(map)) return error
  if (!('x' in map && 'y' in map) && !('longitude' in map && 'latitude' in map)) return error
  return { expression: 'point($value)', parameter: map }
}

function list (text: string): Parsed {
  const items = json(text)
  if (!Array.isArray(items)) return { error: 'A list is written as JSON: ["a", "b"] or [1, 2].' }
  const kinds = new Set(items.map(item => item === null ? 'null' : typeof item))
  if (kinds.has('object') || kinds.has('null') || kinds.size > 1) {
    return { error: 'The items of a list are of one type: texts, numbers or booleans.' }
  }
  if (!kinds.has('number')) return { expression: '$value', parameter: items }
  const isFloat = /[.eE]/.test(text) || items.some(item => !Number.isInteger(item))
  if (isFloat) return { expression: '[item IN $value | toFloat(item)]', parameter: items }
  if (!items.every(Number.isSafeInteger)) {
    return { expression: '[item IN $value | toInteger(item)]', parameter: text.match(/[+-]?\d+/g) }
  }
  return { expression: '$value', parameter: items }
}

function json (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// Types of values as they are called in the chooser.
const CALLED: Record<string, InputType> = {
  Date: 'date',
  Time: 'time',
  OffsetTime: 'time',
  LocalTime: 'local time',
  OffsetDateTime: 'datetime',
  ZonedDateTime: 'datetime',
  LocalDateTime: 'local datetime',
  Duration: 'duration',
  Point: 'point'
}

// The type of a value there is, for the chooser.
export function typeOf (value: Value): InputType | undefined {
  switch (typeof value) {
    case 'string': return 'string'
    case 'bigint': return 'integer'
    case 'number': return 'float'
    case 'boolean': return 'boolean'
  }
  if (Array.isArray(value)) return 'list'
  return isKind(value, 'typed') ? CALLED[value.type] : undefined
}

// How a type is shown beside a value.
export function typeName (value: Value): string {
  if (Array.isArray(value)) {
    const kinds = new Set(value.map(typeName))
    return kinds.size === 1 ? `list of ${[...kinds][0]}` : 'list'
  }
  return typeOf(value) ?? (isKind(value, 'typed') ? value.type.toLowerCase() : 'value')
}

// The text with which editing a value begins; undefined where its type cannot be typed.
export function editable (value: Value): string | undefined {
  const type = typeOf(value)
  if (type === undefined) return undefined
  if (Array.isArray(value)) return listText(value)
  if (type === 'point') return pointText(shown(value))
  return typeof value === 'number' ? floatText(value) : shown(value)
}

function floatText (value: number): string {
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : String(value)
}

function listText (values: Value[]): string | undefined {
  const texts = values.map(item => {
    switch (typeof item) {
      case 'string': return JSON.stringify(item)
      case 'bigint': case 'boolean': return String(item)
      case 'number': return Number.isFinite(item) ? floatText(item) : undefined
      default: return undefined
    }
  })
  return texts.includes(undefined) ? undefined : `[${texts.join(', ')}]`
}

// Points are written as EWKT: SRID=4326;POINT (11.6 48.1).
function pointText (text: string): string | undefined {
  const match = /^SRID=(\d+);\s*POINT\s*Z?\s*\(([^)]+)\)$/i.exec(text)
  if (!match) return undefined
  const [x, y, z] = match[2]!.trim().split(/\s+/).map(Number)
  const isGeographic = match[1] === '4326' || match[1] === '4979'
  const map = isGeographic
    ? { longitude: x, latitude: y, ...z === undefined ? {} : { height: z } }
    : { x, y, ...z === undefined ? {} : { z } }
  return JSON.stringify(map)
}
