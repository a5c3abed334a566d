// What is shown, as text: CSV, JSON and SVG.

import { csv as records } from '../server/csv'
import { plain, shown, type Node, type Relationship } from '../server/values'
import { control, type Box } from './geometry'
import type { Point } from './placement'

export interface Shown {
  nodes: Iterable<Node>
  relationships: Iterable<Relationship>
}

const FIXED_COLUMNS = ['_kind', '_id', '_labels', '_type', '_start', '_end']

// One table: a row for each node and relationship, a column for each property.
export function csv ({ nodes, relationships }: Shown): string {
  const elements = [...nodes, ...relationships]
  const keys = [...new Set(elements.flatMap(element => Object.keys(element.properties)))].sort()
  const rows = [[...FIXED_COLUMNS, ...keys]]
  for (const element of elements) {
    const fixed = element.kind === 'node'
      ? ['node', element.id, element.labels.join(';'), '', '', '']
      : ['relationship', element.id, '', element.type, element.start, element.end]
    rows.push([...fixed, ...keys.map(key => {
      const value = element.properties[key]
      return value === undefined ? '' : shown(value)
    })])
  }
  return records(rows)
}

export function json ({ nodes, relationships }: Shown): string {
  const shown = { nodes: [...nodes].map(plain), relationships: [...relationships].map(plain) }
  return JSON.stringify(shown, null, 2)
}

export interface DrawnNode extends Point {
  caption: string
  color: string
  size: number
}

export interface DrawnEdge {
  source: DrawnNode
  target: DrawnNode
  caption: string
  color: string
  size: number
  curvature: number
  loop: number
}

export interface Drawing {
  nodes: DrawnNode[]
  edges: DrawnEdge[]
  text: string
  edgeText: string
  // None if the picture is transparent.
  background?: string
}

// `text` as content or attribute of XML: without characters that XML has no place for.
export function escape (text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const MARGIN = 40
const FONT = 'system-ui, sans-serif'
const round = (value: number): string => String(Math.round(value * 100) / 100)

// A picture of `drawing` whose y axis is that of graphs: upwards.
export function svg (drawing: Drawing, box: Box): string {
  const width = box.right - box.left + 2 * MARGIN
  const height = box.top - box.bottom + 2 * MARGIN
  const at = ({ x, y }: Point): Point => ({ x: x - box.left + MARGIN, y: box.top - y + MARGIN })
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" ` +
      `viewBox="0 0 ${round(width)} ${round(height)}" font-family="${FONT}">`
  ]
  if (drawing.background) {
    parts.push(`<rect width="100%" height="100%" fill="${escape(drawing.background)}"/>`)
  }
  for (const edge of drawing.edges) parts.push(edgeSvg(edge, at, drawing))
  for (const node of drawing.nodes) {
    const { x, y } = at(node)
    parts.push(`<circle cx="${round(x)}" cy="${round(y)}" r="${round(node.size)}" ` +
      `fill="${escape(node.color)}"/>`)
  }
  for (const node of drawing.nodes) {
    if (node.caption === '') continue
    const { x, y } = at(node)
    parts.push(`<text x="${round(x)}" y="${round(y + node.size + 13)}" font-size="12" text-anchor="middle" ` +
      `fill="${escape(drawing.text)}">${escape(node.caption)}</text>`)
  }
  return [...parts, '</svg>', ''].join('\n')
}

function edgeSvg (edge: DrawnEdge, at: (point: Point) => Point, drawing: Drawing): string {
  const stroke = `fill="none" stroke="${escape(edge.color)}" stroke-width="${round(edge.size)}"`
  if (edge.loop > 0) return loopSvg(edge, at, drawing, stroke)
  const middle = control(edge.source, edge.target, edge.curvature)
  const from = at(towards(edge.source, middle, edge.source.size))
  // The line ends where the arrow begins, so that its end does not stick out.
  const arrow = 5 + edge.size * 2
  const base = at(towards(edge.target, middle, edge.target.size + arrow))
  const tip = at(towards(edge.target, middle, edge.target.size))
  const bend = at(middle)
  const label = at({
    x: (edge.source.x + 2 * middle.x + edge.target.x) / 4,
    y: (edge.source.y + 2 * middle.y + edge.target.y) / 4
  })
  return `<path d="M${round(from.x)} ${round(from.y)} Q${round(bend.x)} ${round(bend.y)} ` +
    `${round(base.x)} ${round(base.y)}" ${stroke}/>` +
    head(base, tip, arrow / 2, edge.color) + caption(edge.caption, label, drawing)
}

function loopSvg (edge: DrawnEdge, at: (point: Point) => Point, drawing: Drawing, stroke: string): string {
  const { x, y } = at(edge.source)
  const reach = edge.source.size * (3 + edge.loop)
  return `<path d="M${round(x)} ${round(y)} C${round(x)} ${round(y - reach)} ` +
    `${round(x + reach)} ${round(y)} ${round(x)} ${round(y)}" ${stroke}/>` +
    caption(edge.caption, { x: x + reach * 0.45, y: y - reach * 0.45 }, drawing)
}

// The point at `distance` from `from` on the way to `to`.
function towards (from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1
  return { x: from.x + (to.x - from.x) / length * distance, y: from.y + (to.y - from.y) / length * distance }
}

function head (base: Point, tip: Point, half: number, color: string): string {
  const length = Math.hypot(tip.x - base.x, tip.y - base.y) || 1
  const nx = -(tip.y - base.y) / length * half
  const ny = (tip.x - base.x) / length * half
  const points = [tip, { x: base.x + nx, y: base.y + ny }, { x: base.x - nx, y: base.y - ny }]
  return `<polygon points="${points.map(point => `${round(point.x)},${round(point.y)}`).join(' ')}" ` +
    `fill="${escape(color)}"/>`
}

function caption (text: string, { x, y }: Point, drawing: Drawing): string {
  if (text === '') return ''
  return `<text x="${round(x)}" y="${round(y)}" font-size="10" text-anchor="middle" ` +
    `fill="${escape(drawing.edgeText)}">${escape(text)}</text>`
}
