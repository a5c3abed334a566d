// Pictures of a cloud that is slow to draw: its lines and its points, each drawn once for what the camera sees, lines
// some at a time. While the camera moves, the pictures move.

import { link } from './program'

// From places of the graph to the stage, whose sides are from -1 to 1. Cameras do not turn.
export interface Sight {
  scale: [across: number, up: number]
  shift: [x: number, y: number]
}

// Lines that the first frame draws; later ones draw more or fewer, as long as frames are fast.
const LINES_FIRST = 10_000
const LINES_MIN = 1000
const FAST_MILLISECONDS = 25
const SLOW_MILLISECONDS = 50

const VERTEX = `#version 300 es
uniform vec4 u_place;
out vec2 v_at;
void main() {
  v_at = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  gl_Position = vec4((v_at * 2.0 - 1.0) * u_place.xy + u_place.zw, 0.0, 1.0);
}`

const FRAGMENT = `#version 300 es
precision highp float;
in vec2 v_at;
uniform sampler2D u_picture;
out vec4 color;
void main() { color = texture(u_picture, v_at); }`

interface Picture {
  texture: WebGLTexture
  framebuffer: WebGLFramebuffer
  sight: Sight | undefined
}

export interface Painting {
  lines: number
  drawLines: (from: number, count: number) => void
  drawPoints: () => void
}

export class Layers {
  private readonly program: WebGLProgram
  private readonly points: Picture
  private lines: Picture
  // Where lines are being drawn, and the number of those that are.
  private next: Picture
  private drawn = 0
  private atOnce = LINES_FIRST
  private lastFrame = 0
  private width = 0
  private height = 0

  constructor (private readonly gl: WebGL2RenderingContext) {
    this.program = link(gl, VERTEX, FRAGMENT)
    const picture = (): Picture => ({
      texture: gl.createTexture(), framebuffer: gl.createFramebuffer(), sight: undefined
    })
    this.points = picture()
    this.lines = picture()
    this.next = picture()
  }

  // Whether there is something to show.
  get isReady (): boolean {
    return this.points.sight !== undefined
  }

  // Forgets what is in the pictures: another cloud, or nodes that are elsewhere.
  forget (): void {
    for (const picture of [this.points, this.lines, this.next]) picture.sight = undefined
  }

  // Forgets the points: other colours, or other sizes.
  forgetPoints (): void {
    this.points.sight = undefined
  }

  // Draws what of `painting` is not in the pictures yet. Returns whether something is left for the next frame.
  draw (sight: Sight, width: number, height: number, painting: Painting): boolean {
    const { gl } = this
    this.resize(width, height)
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA)
    if (!isSame(this.points.sight, sight)) {
      this.begin(this.points, sight)
      painting.drawPoints()
    }
    if (isSame(this.lines.sight, sight)) return false
    if (isSame(this.next.sight, sight)) {
      this.pace()
      this.bind(this.next)
    } else {
      this.begin(this.next, sight)
      this.drawn = 0
    }
    const count = Math.min(this.atOnce, painting.lines - this.drawn)
    painting.drawLines(this.drawn, count)
    this.drawn += count
    this.lastFrame = performance.now()
    if (this.drawn < painting.lines) return true
    const { lines } = this
    this.lines = this.next
    this.next = lines
    this.next.sight = undefined
    return false
  }

  showLines (sight: Sight): void {
    this.show(this.lines, sight)
  }

  showPoints (sight: Sight): void {
    this.show(this.points, sight)
  }

  kill (): void {
    for (const { texture, framebuffer } of [this.points, this.lines, this.next]) {
      this.gl.deleteTexture(texture)
      this.gl.deleteFramebuffer(framebuffer)
    }
    this.gl.deleteProgram(this.program)
  }

  private pace (): void {
    const elapsed = performance.now() - this.lastFrame
    if (elapsed < FAST_MILLISECONDS) this.atOnce *= 2
    else if (elapsed > SLOW_MILLISECONDS) this.atOnce = Math.max(LINES_MIN, Math.floor(this.atOnce / 2))
  }

  private show ({ texture, sight: then }: Picture, now: Sight): void {
    if (!then) return
    const { gl } = this
    const across = now.scale[0] / then.scale[0]
    const up = now.scale[1] / then.scale[1]
    gl.useProgram(this.program)
    gl.uniform4f(
      gl.getUniformLocation(this.program, 'u_place'),
      across, up, now.shift[0] - across * then.shift[0], now.shift[1] - up * then.shift[1]
    )
    const unit = gl.getParameter(gl.ACTIVE_TEXTURE) as number
    const bound = gl.getParameter(gl.TEXTURE_BINDING_2D) as WebGLTexture | null
    gl.bindTexture(gl.TEXTURE_2D, texture)
    gl.uniform1i(gl.getUniformLocation(this.program, 'u_picture'), unit - gl.TEXTURE0)
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4)
    gl.bindTexture(gl.TEXTURE_2D, bound)
  }

  private begin (picture: Picture, sight: Sight): void {
    const { gl } = this
    this.bind(picture)
    gl.clear(gl.COLOR_BUFFER_BIT)
    picture.sight = sight
  }

  private bind ({ framebuffer }: Picture): void {
    const { gl } = this
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer)
    gl.viewport(0, 0, this.width, this.height)
  }

  private resize (width: number, height: number): void {
    if (width === this.width && height === this.height) return
    const { gl } = this
    this.width = width
    this.height = height
    this.forget()
    const bound = gl.getParameter(gl.TEXTURE_BINDING_2D) as WebGLTexture | null
    for (const { texture, framebuffer } of [this.points, this.lines, this.next]) {
      gl.bindTexture(gl.TEXTURE_2D, texture)
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null)
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR)
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE)
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE)
      gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer)
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0)
    }
    gl.bindTexture(gl.TEXTURE_2D, bound)
  }
}

function isSame (a: Sight | undefined, b: Sight): boolean {
  return a !== undefined && a.scale[0] === b.scale[0] && a.scale[1] === b.scale[1] && a.shift[0] === b.shift[0] &&
    a.shift[1] === b.shift[1]
}
