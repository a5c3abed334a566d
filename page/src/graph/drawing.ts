// How Sigma draws: shapes, styles that follow attributes, settings.

import {
  extremityArrow, layerFill, layerPlain, pathCurved, pathLine, pathLoop, sdfCircle, type FragmentLayer
} from 'sigma/rendering'

import type { NodeLook } from './paint'
import type { Theme } from './palette'
import type { Point } from './placement'

// Free space around what is shown.
export const PADDING = 52

export interface NodeAttributes extends Point {
  size: number
  color: string
  label: string
  labelColor: string
  labelBackground: string
  labelVisibility: 'visible' | 'hidden'
  ringColor: string
  ringWidth: number
  gapColor: string
  rank: number
}

export interface EdgeAttributes {
  size: number
  color: string
  label: string
  labelColor: string
  labelBackground: string
  labelVisibility: 'visible' | 'hidden'
  path: string
  curvature: number
  loopRadius: number
}

// A ring at the inside of a node's border, and a gap between it and the node.
function layerRing (): FragmentLayer {
  const color = { size: 4, type: WebGL2RenderingContext.UNSIGNED_BYTE, normalized: true } as const
  return {
    name: 'ring',
    uniforms: [],
    attributes: [
      { name: 'ringColor', ...color, source: 'ringColor' },
      { name: 'ringWidth', size: 1, type: WebGL2RenderingContext.FLOAT, source: 'ringWidth' },
      { name: 'gapColor', ...color, source: 'gapColor' }
    ],
    glsl: `
vec4 layer_ring(vec4 v_ringColor, float v_ringWidth, vec4 v_gapColor) {
  float ring = -v_ringWidth * context.pixelToUV;
  float gap = ring - 2.0 * context.pixelToUV;
  float ringShare = smoothstep(ring - context.aaWidth, ring + context.aaWidth, context.sdf);
  float gapShare = smoothstep(gap - context.aaWidth, gap + context.aaWidth, context.sdf) * v_gapColor.a;
  vec3 color = mix(v_gapColor.rgb, v_ringColor.rgb, ringShare);
  return vec4(color, max(gapShare, v_ringColor.a * ringShare));
}`
  }
}

export function options (): object {
  // Curvature and radius are those of the scene, not what Sigma would choose.
  const { spread: _curved, ...curve } = pathCurved({ segments: 10 })
  const { spread: _looped, ...loop } = pathLoop({ segments: 14 })
  const font = { family: 'system-ui, sans-serif', size: 12 }
  return {
    primitives: {
      nodes: {
        shapes: [sdfCircle()],
        layers: [layerFill(), layerRing()],
        variables: {
          ringColor: { type: 'color', default: '#00000000' },
          ringWidth: { type: 'number', default: 0 },
          gapColor: { type: 'color', default: '#00000000' }
        },
        label: { font, margin: 3 }
      },
      edges: {
        paths: [pathLine(), curve, loop],
        extremities: [extremityArrow({ lengthRatio: 5.5, widthRatio: 4.4 })],
        layers: [layerPlain()],
        variables: {
          curvature: { type: 'number', default: 0 },
          loopRadius: { type: 'number', default: 3 }
        },
        defaultHead: 'arrow',
        label: { font: { ...font, size: 10 }, minVisibilityThreshold: 0.7, fullVisibilityThreshold: 0.9 }
      }
    },
    styles: {
      nodes: {
        x: { attribute: 'x' },
        y: { attribute: 'y' },
        size: { attribute: 'size' },
        color: { attribute: 'color' },
        label: { attribute: 'label' },
        labelColor: { attribute: 'labelColor' },
        labelBackgroundColor: { attribute: 'labelBackground' },
        labelBackgroundPadding: 1,
        labelPosition: 'below',
        labelSize: 12,
        labelVisibility: { whenState: 'isHovered', then: 'visible', else: { attribute: 'labelVisibility' } },
        ringColor: { attribute: 'ringColor' },
        ringWidth: { attribute: 'ringWidth' },
        gapColor: { attribute: 'gapColor' },
        depth: { whenState: 'isHovered', then: 'topNodes', else: 'nodes' },
        cursor: 'pointer'
      },
      edges: {
        size: { attribute: 'size' },
        color: { attribute: 'color' },
        label: { attribute: 'label' },
        labelColor: { attribute: 'labelColor' },
        labelSize: 10,
        labelVisibility: { attribute: 'labelVisibility' },
        labelBackgroundColor: { attribute: 'labelBackground' },
        labelBackgroundPadding: 1,
        labelPosition: 'over',
        path: { attribute: 'path' },
        selfLoopPath: 'loop',
        head: 'arrow',
        curvature: { attribute: 'curvature' },
        loopRadius: { attribute: 'loopRadius' },
        cursor: 'pointer'
      }
    },
    settings: {
      stagePadding: PADDING,
      itemSizesReference: 'screen',
      minCameraRatio: 0.002,
      maxCameraRatio: 20,
      enableCameraRotation: false,
      minEdgeThickness: 1,
      zoomDuration: 160,
      allowInvalidContainer: true
    }
  }
}

// What all nodes and edges of a theme have.
export function commonAttributes (
  theme: Theme
): Record<'node' | 'edge', { labelColor: string, labelBackground: string }> {
  return {
    node: { labelColor: theme.text, labelBackground: theme.background + '80' },
    edge: { labelColor: theme.edgeText, labelBackground: theme.background + 'cc' }
  }
}

export function nodeAttributes (look: NodeLook): Omit<
  NodeAttributes, 'x' | 'y' | 'labelColor' | 'labelBackground' | 'labelVisibility'
> {
  const { label, color, size, ring, ringWidth, gap, rank } = look
  return {
    label,
    color,
    size,
    ringColor: ring,
    ringWidth,
    gapColor: gap,
    rank
  }
}
