// Files that the browser saves.

import { boxOf } from './geometry'
import { csv, json, svg, type DrawnEdge, type DrawnNode } from './export'
import { Painter } from './paint'
import type { Theme } from './palette'
import { CAPTIONS_MAX, type Stage } from './stage'
import type { View } from './view'

export type Format = 'png' | 'png-transparent' | 'svg' | 'csv' | 'json'

export function save (format: Format, view: View, stage: Stage | undefined, theme: Theme): void {
  const scene = view.scene.value
  const shown = { nodes: scene.nodes.values(), relationships: scene.relationships.values() }
  switch (format) {
    case 'csv': return download(csv(shown), 'text/csv', 'graph.csv')
    case 'json': return download(json(shown), 'application/json', 'graph.json')
    case 'svg': return download(picture(view, theme), 'image/svg+xml', 'graph.svg')
    default:
      stage?.picture(format === 'png' ? theme.background : undefined)
        .toBlob(blob => blob && downloadBlob(blob, 'graph.png'))
  }
}

// All of the scene as SVG, wherever the camera is.
function picture (view: View, theme: Theme): string {
  const scene = view.scene.value
  const painter = new Painter(view, theme, scene.edges.length > CAPTIONS_MAX)
  const drawn = new Map<string, DrawnNode>()
  for (const node of scene.nodes.values()) {
    const { label, color, size } = painter.node(node)
    drawn.set(node.id, { ...view.positions.get(node.id)!, caption: label, color, size })
  }
  const edges: DrawnEdge[] = scene.edges.map(edge => {
    const { label, labelVisibility, color, size } = painter.edge(edge)
    return {
      source: drawn.get(edge.source)!,
      target: drawn.get(edge.target)!,
      caption: labelVisibility === 'visible' ? label : '',
      color,
      size,
      curvature: edge.curvature,
      loop: edge.loop
    }
  })
  const nodes = [...drawn.values()]
  const box = boxOf(nodes) ?? { left: 0, right: 0, bottom: 0, top: 0 }
  return svg({ nodes, edges, text: theme.text, edgeText: theme.edgeText, background: theme.background }, box)
}

function download (text: string, type: string, name: string): void {
  downloadBlob(new Blob([text], { type: `${type};charset=utf-8` }), name)
}

function downloadBlob (blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // After the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
