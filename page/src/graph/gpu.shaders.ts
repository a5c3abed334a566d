// Programs of the layout by the graphics card (gpu.ts says what they compute).
//
// Textures: `u_state` has x, y and the last force of each node; `u_mass` mass, and 1 for a fixed one; both are
// `u_width` wide, node after node. A level of the grid has for each cell its mass, the sum of mass times place
// (2), and the number of nodes; its field has the force on mass 1 in the middle of the cell (2), and how that
// changes from there (2).

const HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
`

const NODES = `
uniform sampler2D u_state;
uniform sampler2D u_mass;
uniform int u_width;
ivec2 texelOf(int index) { return ivec2(index % u_width, index / u_width); }
`

// Corner of the grid and the size of one of its cells.
const GRID = `
uniform vec2 u_corner;
uniform float u_cell;
uniform int u_side;
ivec2 cellOf(vec2 at) { return clamp(ivec2(floor((at - u_corner) / u_cell)), 0, u_side - 1); }
`

// A triangle that covers everything.
export const COVER = `${HEAD}
void main() {
  vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  gl_Position = vec4(corner, 0.0, 1.0);
}`

// Adds every node to its cell of the finest level: blending sums up.
export const SCATTER_VERTEX = `${HEAD}${NODES}${GRID}
out vec4 v_sum;
void main() {
  vec2 at = texelFetch(u_state, texelOf(gl_VertexID), 0).xy;
  float mass = texelFetch(u_mass, texelOf(gl_VertexID), 0).x;
  v_sum = vec4(mass, mass * at, 1.0);
  vec2 middle = (vec2(cellOf(at)) + 0.5) / float(u_side);
  gl_Position = vec4(middle * 2.0 - 1.0, 0.0, 1.0);
  gl_PointSize = 1.0;
}`

export const SCATTER = `${HEAD}
in vec4 v_sum;
out vec4 sum;
void main() { sum = v_sum; }`

// A cell of a level from the four of the next finer one.
export const COARSEN = `${HEAD}
uniform sampler2D u_finer;
out vec4 sum;
void main() {
  ivec2 at = 2 * ivec2(gl_FragCoord.xy);
  sum = texelFetch(u_finer, at, 0) + texelFetch(u_finer, at + ivec2(1, 0), 0) +
    texelFetch(u_finer, at + ivec2(0, 1), 0) + texelFetch(u_finer, at + ivec2(1, 1), 0);
}`

// The field of a cell: its parent's, moved here, and that of cells which are children of the parent's neighbours
// but no neighbours of this one.
export const FIELD = `${HEAD}${GRID}
uniform sampler2D u_level;
uniform sampler2D u_parent;
uniform bool u_isCoarsest;
out vec4 field;
void main() {
  ivec2 cell = ivec2(gl_FragCoord.xy);
  vec2 here = u_corner + (vec2(cell) + 0.5) * u_cell;
  field = vec4(0.0);
  if (!u_isCoarsest) {
    ivec2 parent = cell / 2;
    vec4 above = texelFetch(u_parent, parent, 0);
    vec2 d = here - (u_corner + (vec2(parent) + 0.5) * 2.0 * u_cell);
    field = vec4(above.xy + vec2(above.z * d.x + above.w * d.y, above.w * d.x - above.z * d.y), above.zw);
  }
  ivec2 from = max(2 * (cell / 2 - 1), 0);
  ivec2 to = min(2 * (cell / 2 + 1) + 1, u_side - 1);
  for (int y = from.y; y <= to.y; y++) {
    for (int x = from.x; x <= to.x; x++) {
      if (abs(x - cell.x) <= 1 && abs(y - cell.y) <= 1) continue;
      vec4 sum = texelFetch(u_level, ivec2(x, y), 0);
      if (sum.x == 0.0) continue;
      vec2 d = here - sum.yz / sum.x;
      float square = dot(d, d);
      float share = sum.x / square;
      field += vec4(share * d, share / square * vec2(d.y * d.y - d.x * d.x, -2.0 * d.x * d.y));
    }
  }
}`

// Moves a node: the field of its cell, the cells around it, gravity, its edges; then the step of ForceAtlas2.
export const MOVE = `${HEAD}${NODES}${GRID}
uniform sampler2D u_convergence;
uniform usampler2D u_offsets;
uniform usampler2D u_neighbours;
uniform sampler2D u_level;
uniform sampler2D u_field;
uniform int u_order;
uniform uint u_neighboursWidth;
uniform float u_scaling;
uniform float u_gravity;
uniform float u_slowDown;
layout(location = 0) out vec4 state;
layout(location = 1) out vec4 convergence;
vec2 repulsion(vec2 at, float mass) {
  ivec2 cell = cellOf(at);
  vec4 far = texelFetch(u_field, cell, 0);
  vec2 d = at - (u_corner + (vec2(cell) + 0.5) * u_cell);
  vec2 force = far.xy + vec2(far.z * d.x + far.w * d.y, far.w * d.x - far.z * d.y);
  ivec2 from = max(cell - 1, 0);
  ivec2 to = min(cell + 1, u_side - 1);
  for (int y = from.y; y <= to.y; y++) {
    for (int x = from.x; x <= to.x; x++) {
      vec4 sum = texelFetch(u_level, ivec2(x, y), 0);
      if (x == cell.x && y == cell.y) sum -= vec4(mass, mass * at, 1.0);
      if (sum.w < 0.5) continue;
      d = at - sum.yz / sum.x;
      // Several nodes are not where the centre of their mass is, which may be close by.
      float least = sum.w > 1.5 ? 0.5 * u_cell : 0.001 * u_cell;
      force += sum.x * d / max(dot(d, d), least * least);
    }
  }
  return force;
}
void main() {
  int index = int(gl_FragCoord.y) * u_width + int(gl_FragCoord.x);
  state = vec4(0.0);
  convergence = vec4(0.0);
  if (index >= u_order) return;
  ivec2 texel = texelOf(index);
  vec4 before = texelFetch(u_state, texel, 0);
  float calm = texelFetch(u_convergence, texel, 0).x;
  vec2 mass = texelFetch(u_mass, texel, 0).xy;
  vec2 at = before.xy;
  vec2 force = u_scaling * mass.x * repulsion(at, mass.x) - u_gravity * mass.x * at;
  uint end = texelFetch(u_offsets, texelOf(index + 1), 0).x;
  for (uint edge = texelFetch(u_offsets, texel, 0).x; edge < end; edge++) {
    uint neighbour = texelFetch(u_neighbours, ivec2(edge % u_neighboursWidth, edge / u_neighboursWidth), 0).x;
    force -= at - texelFetch(u_state, texelOf(int(neighbour)), 0).xy;
  }
  if (mass.y > 0.5) {
    state = vec4(at, force);
    convergence.x = calm;
    return;
  }
  float swinging = mass.x * distance(before.zw, force);
  float traction = length(before.zw + force) / 2.0;
  float speed = calm * log(1.0 + traction) / (1.0 + sqrt(swinging));
  convergence.x = min(1.0, sqrt(speed * dot(force, force) / (1.0 + sqrt(swinging))));
  state = vec4(at + force * (speed / u_slowDown), force);
}`
