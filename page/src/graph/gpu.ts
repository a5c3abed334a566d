// Forces by the graphics card: the model of ForceAtlas2 (Jacomy et al. 2014), with repulsion from all nodes by a fast
// multipole method on a grid (Greengard and Rokhlin 1987, its first two terms), of which a round takes time linear in
// nodes and edges.
//
// 1. Every node is added to its cell of the finest of some grids, of which each has a quarter of the cells of the
//    next: mass, centre of mass, number of nodes. Coarser ones are sums.
// 2. From coarse to fine, every cell gets its field: what its parent has, and what comes from the cells that are far
//    from it but not from its parent (at most 27).
// 3. Every node gets the field of its cell, the repulsion from the nine cells around it, gravity and the pull of its
//    edges, and moves.
//
// Nothing of it is in the page's first download: the worker loads it for the first large graph.

import { masses, settingsFor, type Forces, type Placed, type Settings } from './forces'
import { COARSEN, COVER, FIELD, MOVE, SCATTER, SCATTER_VERTEX } from './gpu.shaders'
import { link } from './program'

// Nodes and ends of edges in a row of their textures.
const WIDTH = 1024
const NEIGHBOURS_WIDTH = 4096

// Cells in a row of the coarsest grid, where the first ones are far from each other, and of the finest.
const SIDE_MIN = 4
const SIDE_MAX = 1024
// Cells for a node: the fewer nodes share one, the less is approximated.
const CELLS_PER_NODE = 2

// Space around what is there, as a share of it: for what moves out of it until it is measured again, and for the grid
// to be elsewhere in every round, as what it approximates is not smooth at its lines.
const MARGIN = 0.1
// Steps of a sequence that fills a square evenly (Roberts 2018).
const STEP_X = 0.7548776662
const STEP_Y = 0.5698402910

interface Level {
  side: number
  sums: Target
  fields: Target
}

// Textures that a program writes to.
interface Target {
  textures: WebGLTexture[]
  framebuffer: WebGLFramebuffer
}

type Program = Record<string, WebGLUniformLocation> & { program: WebGLProgram }

export class Gpu implements Forces {
  private readonly settings: Settings
  private readonly mass: Float32Array
  private readonly order: number
  private readonly height: number
  private readonly levels: Level[] = []
  private readonly massTexture: WebGLTexture
  private readonly offsets: WebGLTexture
  private readonly neighbours: WebGLTexture
  // Where nodes are, and where the next round puts them.
  private now: Target
  private next: Target
  private readonly programs: Record<'scatter' | 'coarsen' | 'field' | 'move', Program>
  private readonly pixels: Float32Array
  private corner = { x: 0, y: 0 }
  private extent = 1
  private rounds = 0

  // Nothing where the graphics card, or its driver, cannot do this, or the graph is too large for it.
  static of (placed: Placed): Gpu | undefined {
    if (typeof OffscreenCanvas === 'undefined') return undefined
    const gl = new OffscreenCanvas(1, 1).getContext('webgl2')
    if (!gl) return undefined
    const side = gl.getParameter(gl.MAX_TEXTURE_SIZE) as number
    const isFit = side >= NEIGHBOURS_WIDTH && placed.fixed.length < side * WIDTH &&
      placed.edges.length <= side * NEIGHBOURS_WIDTH
    // Sums are of 32 bits.
    if (isFit && gl.getExtension('EXT_color_buffer_float') && gl.getExtension('EXT_float_blend')) {
      return new Gpu(gl, placed)
    }
    lose(gl)
    return undefined
  }

  private constructor (private readonly gl: WebGL2RenderingContext, { positions, fixed, edges }: Placed) {
    this.order = fixed.length
    this.settings = settingsFor(this.order)
    this.mass = masses(this.order, edges)
    this.height = Math.ceil((this.order + 1) / WIDTH)
    const size = WIDTH * this.height
    this.programs = {
      scatter: build(gl, SCATTER_VERTEX, SCATTER),
      coarsen: build(gl, COVER, COARSEN),
      field: build(gl, COVER, FIELD),
      move: build(gl, COVER, MOVE)
    }
    const traits = new Float32Array(2 * size)
    const states = new Float32Array(4 * size)
    for (let index = 0; index < this.order; index++) {
      traits[2 * index] = this.mass[index]!
      traits[2 * index + 1] = fixed[index]!
      states[4 * index] = positions[2 * index]!
      states[4 * index + 1] = positions[2 * index + 1]!
    }
    this.massTexture = this.texture(gl.RG32F, WIDTH, this.height, traits)
    const { offsets, ends } = adjacency(this.order, edges, size)
    this.offsets = this.texture(gl.R32UI, WIDTH, this.height, offsets)
    this.neighbours = this.texture(gl.R32UI, NEIGHBOURS_WIDTH, ends.length / NEIGHBOURS_WIDTH, ends)
    const calm = new Float32Array(size).fill(1)
    const nodes = (): Target => this.target([
      this.texture(gl.RGBA32F, WIDTH, this.height, states), this.texture(gl.R32F, WIDTH, this.height, calm)
    ])
    this.now = nodes()
    this.next = nodes()
    this.pixels = states
    for (let side = SIDE_MIN; side < SIDE_MAX;) {
      side *= 2
      this.levels.push(this.level(side / 2))
      if (side * side / 4 >= this.order * CELLS_PER_NODE) break
    }
    this.measure(positions)
  }

  advance (rounds: number): void {
    for (let round = 0; round < rounds; round++) {
      this.rounds++
      this.sum()
      this.spread()
      this.move()
    }
  }

  read (positions: Float32Array): boolean {
    const { gl, pixels } = this
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.now.framebuffer)
    gl.readBuffer(gl.COLOR_ATTACHMENT0)
    gl.readPixels(0, 0, WIDTH, this.height, gl.RGBA, gl.FLOAT, pixels)
    if (gl.isContextLost()) return false
    for (let index = 0; index < this.order; index++) {
      positions[2 * index] = pixels[4 * index]!
      positions[2 * index + 1] = pixels[4 * index + 1]!
    }
    this.measure(positions)
    return true
  }

  place (index: number, x: number, y: number, isFixed: boolean): void {
    const { gl } = this
    const column = index % WIDTH
    const row = Math.floor(index / WIDTH)
    const put = (texture: WebGLTexture, format: number, values: number[]): void => {
      gl.bindTexture(gl.TEXTURE_2D, texture)
      gl.texSubImage2D(gl.TEXTURE_2D, 0, column, row, 1, 1, format, gl.FLOAT, Float32Array.from(values))
    }
    put(this.now.textures[0]!, gl.RGBA, [x, y, 0, 0])
    put(this.massTexture, gl.RG, [this.mass[index]!, isFixed ? 1 : 0])
  }

  end (): void {
    lose(this.gl)
  }

  // Finds the grid's place: a square around all nodes.
  private measure (positions: Float32Array): void {
    let left = Infinity
    let right = -Infinity
    let bottom = Infinity
    let top = -Infinity
    for (let at = 0; at < positions.length; at += 2) {
      left = Math.min(left, positions[at]!)
      right = Math.max(right, positions[at]!)
      bottom = Math.min(bottom, positions[at + 1]!)
      top = Math.max(top, positions[at + 1]!)
    }
    this.extent = Math.max(1, right - left, top - bottom) * (1 + 2 * MARGIN)
    this.corner = { x: (left + right - this.extent) / 2, y: (bottom + top - this.extent) / 2 }
  }

  private sum (): void {
    const { gl, programs: { scatter, coarsen } } = this
    const finest = this.levels.at(-1)!
    this.begin(scatter, finest.sums, finest.side, finest.side)
    this.setNodes(scatter)
    this.setGrid(scatter, finest.side)
    gl.clearColor(0, 0, 0, 0)
    gl.clear(gl.COLOR_BUFFER_BIT)
    gl.enable(gl.BLEND)
    gl.blendFunc(gl.ONE, gl.ONE)
    gl.drawArrays(gl.POINTS, 0, this.order)
    gl.disable(gl.BLEND)
    for (let at = this.levels.length - 2; at >= 0; at--) {
      const { sums, side } = this.levels[at]!
      this.begin(coarsen, sums, side, side)
      this.bind(coarsen, 'u_finer', 0, this.levels[at + 1]!.sums.textures[0]!)
      gl.drawArrays(gl.TRIANGLES, 0, 3)
    }
  }

  private spread (): void {
    const { gl, programs: { field } } = this
    this.levels.forEach(({ side, sums, fields }, at) => {
      this.begin(field, fields, side, side)
      this.setGrid(field, side)
      this.bind(field, 'u_level', 0, sums.textures[0]!)
      // The coarsest has no parent, and no texture may be read that is written to.
      this.bind(field, 'u_parent', 1, (at === 0 ? sums : this.levels[at - 1]!.fields).textures[0]!)
      gl.uniform1i(field.u_isCoarsest!, at === 0 ? 1 : 0)
      gl.drawArrays(gl.TRIANGLES, 0, 3)
    })
  }

  private move (): void {
    const { gl, settings, programs: { move } } = this
    const finest = this.levels.at(-1)!
    this.begin(move, this.next, WIDTH, this.height)
    this.setNodes(move)
    this.setGrid(move, finest.side)
    this.bind(move, 'u_convergence', 2, this.now.textures[1]!)
    this.bind(move, 'u_offsets', 3, this.offsets)
    this.bind(move, 'u_neighbours', 4, this.neighbours)
    this.bind(move, 'u_level', 5, finest.sums.textures[0]!)
    this.bind(move, 'u_field', 6, finest.fields.textures[0]!)
    gl.uniform1i(move.u_order!, this.order)
    gl.uniform1ui(move.u_neighboursWidth!, NEIGHBOURS_WIDTH)
    gl.uniform1f(move.u_scaling!, settings.scaling)
    gl.uniform1f(move.u_gravity!, settings.gravity)
    gl.uniform1f(move.u_slowDown!, settings.slowDown)
    gl.drawArrays(gl.TRIANGLES, 0, 3)
    const { now } = this
    this.now = this.next
    this.next = now
  }

  private begin ({ program }: Program, { framebuffer }: Target, width: number, height: number): void {
    const { gl } = this
    gl.useProgram(program)
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer)
    gl.viewport(0, 0, width, height)
  }

  private setNodes (program: Program): void {
    this.bind(program, 'u_state', 0, this.now.textures[0]!)
    this.bind(program, 'u_mass', 1, this.massTexture)
    this.gl.uniform1i(program.u_width!, WIDTH)
  }

  private setGrid (program: Program, side: number): void {
    const { gl } = this
    const shifted = (corner: number, step: number): number =>
      corner + ((this.rounds * step) % 1 - 0.5) * MARGIN * this.extent
    gl.uniform2f(program.u_corner!, shifted(this.corner.x, STEP_X), shifted(this.corner.y, STEP_Y))
    gl.uniform1f(program.u_cell!, this.extent / side)
    gl.uniform1i(program.u_side!, side)
  }

  private bind (program: Program, name: string, unit: number, texture: WebGLTexture): void {
    const { gl } = this
    gl.activeTexture(gl.TEXTURE0 + unit)
    gl.bindTexture(gl.TEXTURE_2D, texture)
    gl.uniform1i(program[name]!, unit)
  }

  private level (side: number): Level {
    const texture = (): WebGLTexture => this.texture(this.gl.RGBA32F, side, side)
    return { side, sums: this.target([texture()]), fields: this.target([texture()]) }
  }

  private texture (
    format: number, width: number, height: number, values: Float32Array | Uint32Array | null = null
  ): WebGLTexture {
    const { gl } = this
    const texture = gl.createTexture()
    const formats: Record<number, number> = {
      [gl.RGBA32F]: gl.RGBA, [gl.RG32F]: gl.RG, [gl.R32F]: gl.RED, [gl.R32UI]: gl.RED_INTEGER
    }
    gl.bindTexture(gl.TEXTURE_2D, texture)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST)
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST)
    const type = format === gl.R32UI ? gl.UNSIGNED_INT : gl.FLOAT
    gl.texImage2D(gl.TEXTURE_2D, 0, format, width, height, 0, formats[format]!, type, values)
    return texture
  }

  private target (textures: WebGLTexture[]): Target {
    const { gl } = this
    const framebuffer = gl.createFramebuffer()
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer)
    const attachments = textures.map((texture, at) => {
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + at, gl.TEXTURE_2D, texture, 0)
      return gl.COLOR_ATTACHMENT0 + at
    })
    gl.drawBuffers(attachments)
    return { textures, framebuffer }
  }
}

// Where the neighbours of each node begin, and the neighbours of one node after the other, in whole rows.
function adjacency (order: number, edges: Uint32Array, size: number): Record<'offsets' | 'ends', Uint32Array> {
  const offsets = new Uint32Array(size)
  for (const end of edges) offsets[end + 1]! += 1
  for (let index = 0; index < order; index++) offsets[index + 1]! += offsets[index]!
  const rows = Math.max(1, Math.ceil(edges.length / NEIGHBOURS_WIDTH))
  const ends = new Uint32Array(rows * NEIGHBOURS_WIDTH)
  const next = offsets.slice(0, order)
  for (let at = 0; at < edges.length; at += 2) {
    const [source, target] = [edges[at]!, edges[at + 1]!]
    ends[next[source]!++] = target
    ends[next[target]!++] = source
  }
  return { offsets, ends }
}

function build (gl: WebGL2RenderingContext, vertex: string, fragment: string): Program {
  const program = link(gl, vertex, fragment)
  const uniforms: Record<string, WebGLUniformLocation> = {}
  const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) as number
  for (let at = 0; at < count; at++) {
    const { name } = gl.getActiveUniform(program, at)!
    uniforms[name] = gl.getUniformLocation(program, name)!
  }
  return Object.assign(uniforms, { program }) as unknown as Program
}

// Browsers keep a few contexts only.
function lose (gl: WebGL2RenderingContext): void {
  gl.getExtension('WEBGL_lose_context')?.loseContext()
}
