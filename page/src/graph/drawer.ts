// Draws points and lines from one buffer of positions.

import type { Sight } from './layers'
import { link } from './program'

const VERTEX = `#version 300 es
in vec2 a_position;
in float a_size;
in vec4 a_color;
uniform vec4 u_sight;
uniform float u_scale;
uniform vec4 u_line;
out vec4 v_color;
out float v_radius;
void main() {
  gl_Position = vec4(a_position * u_sight.xy + u_sight.zw, 0.0, 1.0);
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

// Buffers and program of a cloud.
export class Drawer {
  private readonly program: WebGLProgram
  private readonly positions: WebGLBuffer
  private readonly sizes: WebGLBuffer
  private readonly colors: WebGLBuffer
  private readonly vertices: Record<'lines' | 'near', WebGLVertexArrayObject>
  private readonly indices: Record<'lines' | 'near', WebGLBuffer>
  private tested = false

  constructor (private readonly gl: WebGL2RenderingContext) {
    this.program = link(gl, VERTEX, FRAGMENT)
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

  begin (): void {
    const { gl } = this
    // Later points are above earlier ones and all are above lines.
    this.tested = gl.isEnabled(gl.DEPTH_TEST)
    gl.disable(gl.DEPTH_TEST)
  }

  // Draws from here on what `sight` sees; `scale` is the number of pixels for a unit of size.
  look ({ scale: [across, up], shift: [x, y] }: Sight, scale: number): void {
    const { gl } = this
    gl.useProgram(this.program)
    gl.uniform4f(gl.getUniformLocation(this.program, 'u_sight'), across, up, x, y)
    gl.uniform1f(gl.getUniformLocation(this.program, 'u_scale'), scale)
  }

  // Draws lines from the one with number `from` on.
  drawLines (which: 'lines' | 'near', from: number, count: number, color: Rgba): void {
    const { gl } = this
    if (count === 0) return
    gl.bindVertexArray(this.vertices[which])
    gl.uniform4f(gl.getUniformLocation(this.program, 'u_line'), ...color)
    gl.drawElements(gl.LINES, 2 * count, gl.UNSIGNED_INT, 8 * from)
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
}
