// Nodes and edges of a large graph: points and lines from one buffer of positions, which also software draws
// fast.
//
// Sigma's own edges have arrows, curves and captions, and take some 70 vertices each.

import type Sigma from 'sigma'
import type { RenderParams } from 'sigma/types'

import type { Edge } from './bundle'
import type { Point } from './placement'

// From this size on, a graph is drawn as a cloud.
export const CLOUD_NODES_MIN = 1500
export const CLOUD_EDGES_MIN = 2500

const VERTEX = `#version 300 es
in vec2 a_position;
in float a_size;
in vec4 a_color;
uniform mat3 u_matrix;
uniform vec3 u_frame;
uniform float u_scale;
uniform vec4 u_line;
out vec4 v_color;
out float v_radius;
void main() {
  vec2 framed = a_position * u_frame.z + u_frame.xy;
  gl_Position = vec4((u_matrix * vec3(framed, 1.0)).xy, 0.0, 1.0);
  v_radius = max(1.0, a_size * u_scale);
  gl_PointSize = v_radius * 2.0 + 1.0;
  v_color = u_line.a > 0.0 ? u_line : a_color;
}`

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 v_color;
in float v_radius;
uniform vec4 u_line;
uniform vec3 u_rim;
out vec4 color;
void main() {
  vec4 fill = v_color;
  if (u_line.a == 0.0) {
    float from = length(gl_PointCoord - 0.5) * (v_radius * 2.0 + 1.0);
    // A rim tells points that overlap apart.
    fill.rgb = mix(u_rim, fill.rgb, v_radius < 3.0 ? 1.0 : clamp(v_radius - from - 0.5, 0.0, 1.0));
    fill.a *= clamp(v_radius - from + 0.5, 0.0, 1.0);
    if (fill.a == 0.0) discard;
  }
  color = vec4(fill.rgb * fill.a, fill.a);
}`

export type Rgba = [red: number, green: number, blue: number, alpha: number]

export class Cloud {
  // Whether lines are left out, because drawing them is too slow for what moves.
  isThin = false
  private readonly index = new Map<string, number>()
  private ids: string[] = []
  private positions: Float32Array = new Float32Array(0)
  private sizes = new Float32Array(0)
  private colors = new Uint8Array(0)
  private lines = new Uint32Array(0)
  private near = new Uint32Array(0)
  private line: Rgba = [0, 0, 0, 0]
  private accent: Rgba = [0, 0, 0, 0]
  private rim: Rgba = [0, 0, 0, 0]
  private grid: Map<number, number[]> | undefined
  private cell = 1
  private program: Drawer | undefined

  constructor (private readonly sigma: Sigma) {
    sigma.addCustomLayerProgram('cloud', 'edges', gl => {
      const drawer = new Drawer(gl)
      this.program = drawer
      this.upload()
      return { render: params => this.render(drawer, params), kill: () => drawer.kill() }
    })
  }

  get isEmpty (): boolean {
    return this.ids.length === 0
  }

  // Takes nodes with their positions, and edges between them; nothing ends the cloud.
  show (ids: Iterable<string>, edges: readonly Edge[], places: ReadonlyMap<string, Point>): void {
    this.ids = [...ids]
    this.index.clear()
    this.positions = new Float32Array(this.ids.length * 2)
    this.sizes = new Float32Array(this.ids.length)
    this.colors = new Uint8Array(this.ids.length * 4)
    this.ids.forEach((id, number) => {
      const { x, y } = places.get(id)!
      this.index.set(id, number)
      this.positions[2 * number] = x
      this.positions[2 * number + 1] = y
    })
    this.lines = new Uint32Array(edges.length * 2)
    edges.forEach(({ source, target }, number) => {
      this.lines[2 * number] = this.index.get(source)!
      this.lines[2 * number + 1] = this.index.get(target)!
    })
    this.near = new Uint32Array(0)
    this.grid = undefined
    this.upload()
  }

  paint (id: string, size: number, color: string): void {
    const number = this.index.get(id)
    if (number === undefined) return
    this.sizes[number] = size
    const value = parseInt(color.slice(1, 7), 16)
    this.colors[4 * number] = value >> 16
    this.colors[4 * number + 1] = value >> 8 & 255
    this.colors[4 * number + 2] = value & 255
    this.colors[4 * number + 3] = 255
  }

  // After all nodes have been painted.
  painted (line: Rgba, accent: Rgba, rim: Rgba): void {
    this.line = line
    this.accent = accent
    this.rim = rim
    this.program?.setLooks(this.sizes, this.colors)
  }

  // Edges that stand out.
  setNear (edges: readonly Edge[]): void {
    this.near = Uint32Array.from(edges.flatMap(({ source, target }) => [
      this.index.get(source)!, this.index.get(target)!
    ]))
    this.program?.setNear(this.near)
  }

  move (positions: Float32Array): void {
    this.positions = positions
    this.grid = undefined
    this.program?.setPositions(positions)
  }

  moveNode (id: string, { x, y }: Point): void {
    const number = this.index.get(id)
    if (number === undefined) return
    this.positions[2 * number] = x
    this.positions[2 * number + 1] = y
    this.grid = undefined
    this.program?.setPositions(this.positions)
  }

  // The node at a point of the graph, or the nearest one within `reach`.
  hit (point: Point, reach: number): string | undefined {
    this.grid ??= this.buildGrid()
    const column = Math.floor(point.x / this.cell)
    const row = Math.floor(point.y / this.cell)
    const around = Math.min(3, Math.ceil(reach / this.cell))
    let best: number | undefined
    let least = reach
    for (let x = column - around; x <= column + around; x++) {
      for (let y = row - around; y <= row + around; y++) {
        for (const number of this.grid.get(key(x, y)) ?? []) {
          const at = 2 * number
          const distance = Math.hypot(this.positions[at]! - point.x, this.positions[at + 1]! - point.y)
          if (distance > least) continue
          least = distance
          best = number
        }
      }
    }
    return best === undefined ? undefined : this.ids[best]
  }

  private buildGrid (): Map<number, number[]> {
    let left = Infinity
    let right = -Infinity
    for (let at = 0; at < this.positions.length; at += 2) {
      left = Math.min(left, this.positions[at]!)
      right = Math.max(right, this.positions[at]!)
    }
    this.cell = Math.max(1, (right - left) / Math.sqrt(this.ids.length + 1))
    const grid = new Map<number, number[]>()
    for (let number = 0; number < this.ids.length; number++) {
      const at = key(
        Math.floor(this.positions[2 * number]! / this.cell),
        Math.floor(this.positions[2 * number + 1]! / this.cell)
      )
      const members = grid.get(at)
      if (members) members.push(number)
      else grid.set(at, [number])
    }
    return grid
  }

  private upload (): void {
    this.program?.setPositions(this.positions)
    this.program?.setLooks(this.sizes, this.colors)
    this.program?.setLines(this.lines)
    this.program?.setNear(this.near)
  }

  private render (drawer: Drawer, params: RenderParams): void {
    if (this.isEmpty) return
    const origin = this.sigma.graphToFramedGraph({ x: 0, y: 0 })
    const unit = this.sigma.graphToFramedGraph({ x: 1, y: 0 }).x - origin.x
    drawer.begin(params, [origin.x, origin.y, unit], this.sigma.scaleSize(1) * params.pixelRatio)
    if (!this.isThin) drawer.drawLines('lines', this.lines.length, this.line)
    drawer.drawLines('near', this.near.length, this.accent)
    drawer.drawPoints(this.ids.length, this.rim)
    drawer.end()
  }
}

const key = (x: number, y: number): number => x * 1_000_003 + y

// Buffers and program of a cloud.
class Drawer {
  private readonly program: WebGLProgram
  private readonly positions: WebGLBuffer
  private readonly sizes: WebGLBuffer
  private readonly colors: WebGLBuffer
  private readonly vertices: Record<'lines' | 'near', WebGLVertexArrayObject>
  private readonly indices: Record<'lines' | 'near', WebGLBuffer>
  private tested = false

  constructor (private readonly gl: WebGL2RenderingContext) {
    this.program = this.link()
    this.positions = gl.createBuffer()
    this.sizes = gl.createBuffer()
    this.colors = gl.createBuffer()
    this.indices = { lines: gl.createBuffer(), near: gl.createBuffer() }
    this.vertices = { lines: this.vertexArray(this.indices.lines), near: this.vertexArray(this.indices.near) }
  }

  setPositions (positions: Float32Array): void {
    this.fill(this.positions, positions)
  }

  setLooks (sizes: Float32Array, colors: Uint8Array): void {
    this.fill(this.sizes, sizes)
    this.fill(this.colors, colors)
  }

  setLines (lines: Uint32Array): void {
    this.fillIndices('lines', lines)
  }

  setNear (near: Uint32Array): void {
    this.fillIndices('near', near)
  }

  begin ({ matrix }: RenderParams, frame: [number, number, number], scale: number): void {
    const { gl } = this
    // Later points are above earlier ones and all are above lines.
    this.tested = gl.isEnabled(gl.DEPTH_TEST)
    gl.disable(gl.DEPTH_TEST)
    gl.useProgram(this.program)
    gl.uniformMatrix3fv(gl.getUniformLocation(this.program, 'u_matrix'), false, matrix)
    gl.uniform3f(gl.getUniformLocation(this.program, 'u_frame'), ...frame)
    gl.uniform1f(gl.getUniformLocation(this.program, 'u_scale'), scale)
  }

  drawLines (which: 'lines' | 'near', count: number, color: Rgba): void {
    const { gl } = this
    if (count === 0) return
    gl.bindVertexArray(this.vertices[which])
    gl.uniform4f(gl.getUniformLocation(this.program, 'u_line'), ...color)
    gl.drawElements(gl.LINES, count, gl.UNSIGNED_INT, 0)
  }

  drawPoints (count: number, [red, green, blue]: Rgba): void {
    const { gl } = this
    gl.bindVertexArray(this.vertices.lines)
    gl.uniform4f(gl.getUniformLocation(this.program, 'u_line'), 0, 0, 0, 0)
    gl.uniform3f(gl.getUniformLocation(this.program, 'u_rim'), red, green, blue)
    gl.drawArrays(gl.POINTS, 0, count)
  }

  end (): void {
    this.gl.bindVertexArray(null)
    if (this.tested) this.gl.enable(this.gl.DEPTH_TEST)
  }

  kill (): void {
    const { gl } = this
    for (const buffer of [this.positions, this.sizes, this.colors, ...Object.values(this.indices)]) {
      gl.deleteBuffer(buffer)
    }
    for (const vertices of Object.values(this.vertices)) gl.deleteVertexArray(vertices)
    gl.deleteProgram(this.program)
  }

  private fill (buffer: WebGLBuffer, data: Float32Array | Uint8Array): void {
    const { gl } = this
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer)
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW)
    gl.bindBuffer(gl.ARRAY_BUFFER, null)
  }

  private fillIndices (which: 'lines' | 'near', data: Uint32Array): void {
    const { gl } = this
    gl.bindVertexArray(this.vertices[which])
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, data, gl.DYNAMIC_DRAW)
    gl.bindVertexArray(null)
  }

  private vertexArray (indices: WebGLBuffer): WebGLVertexArrayObject {
    const { gl } = this
    const vertices = gl.createVertexArray()
    gl.bindVertexArray(vertices)
    const attribute = (name: string, buffer: WebGLBuffer, size: number, type: number): void => {
      const at = gl.getAttribLocation(this.program, name)
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer)
      gl.enableVertexAttribArray(at)
      gl.vertexAttribPointer(at, size, type, type === gl.UNSIGNED_BYTE, 0, 0)
    }
    attribute('a_position', this.positions, 2, gl.FLOAT)
    attribute('a_size', this.sizes, 1, gl.FLOAT)
    attribute('a_color', this.colors, 4, gl.UNSIGNED_BYTE)
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, indices)
    gl.bindVertexArray(null)
    gl.bindBuffer(gl.ARRAY_BUFFER, null)
    return vertices
  }

  private link (): WebGLProgram {
    const { gl } = this
    const program = gl.createProgram()
    for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
      const shader = gl.createShader(type)!
      gl.shaderSource(shader, source)
      gl.compileShader(shader)
      gl.attachShader(program, shader)
      gl.deleteShader(shader)
    }
    gl.linkProgram(program)
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      throw new Error(gl.getProgramInfoLog(program) ?? 'no program')
    }
    return program
  }
}
