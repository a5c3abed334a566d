// Relationships between the same two nodes: a fan of curves, or one thick edge if they are many.

import type { Relationship } from '../server/values'

// An edge as it is drawn: a relationship, or several.
export interface Edge {
  key: string
  // Relationships that it stands for; one unless it is a bundle.
  members: Relationship[]
  source: string
  target: string
  // Distance of the control point from the straight line, as a share of its length; to the left is positive.
  curvature: number
  // Number of the loop at its node; 0 for edges that are none.
  loop: number
}

// More relationships between a pair than this become a bundle.
export const FAN_MAX = 6

// Curvature between neighbours of a fan.
const FAN_STEP = 0.22

// Edges for `relationships`, in their order as far as possible.
export function bundle (relationships: Iterable<Relationship>): Edge[] {
  const pairs = new Map<string, Relationship[]>()
  for (const relationship of relationships) {
    const { start, end } = relationship
    const pair = start < end ? `${start}\n${end}` : `${end}\n${start}`
    const members = pairs.get(pair)
    if (members) members.push(relationship)
    else pairs.set(pair, [relationship])
  }
  const edges: Edge[] = []
  for (const members of pairs.values()) {
    const first = members[0]!
    if (first.start === first.end) loops(members, edges)
    else fan(members.length > FAN_MAX ? byDirection(members) : members.map(member => [member]), edges)
  }
  return edges
}

function byDirection (members: Relationship[]): Relationship[][] {
  const start = members[0]!.start
  const there = members.filter(member => member.start === start)
  const back = members.filter(member => member.start !== start)
  return back.length > 0 ? [there, back] : [there]
}

function fan (groups: Relationship[][], edges: Edge[]): void {
  groups.forEach((members, index) => {
    const first = members[0]!
    const spread = (index - (groups.length - 1) / 2) * FAN_STEP
    edges.push({
      key: keyOf(members),
      members,
      source: first.start,
      target: first.end,
      // From the other end, left is right.
      curvature: first.start < first.end ? spread : -spread,
      loop: 0
    })
  })
}

function loops (members: Relationship[], edges: Edge[]): void {
  const groups = members.length > FAN_MAX ? [members] : members.map(member => [member])
  groups.forEach((group, index) => {
    const { start: source, end: target } = group[0]!
    edges.push({ key: keyOf(group), members: group, source, target, curvature: 0, loop: index + 1 })
  })
}

function keyOf (members: Relationship[]): string {
  return members.length === 1 ? members[0]!.id : `${members[0]!.id}+${members.length}`
}

// What stands at the edge: its type, or how many relationships it is.
export function edgeCaption (edge: Edge): string {
  const types = new Set(edge.members.map(member => member.type))
  const [type] = types
  if (edge.members.length === 1) return type!
  return types.size === 1 ? `${edge.members.length} × ${type}` : `${edge.members.length} relationships`
}
