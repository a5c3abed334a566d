// Where nodes are before the layout has run: always in the same places for the same graph.

export interface Point {
  x: number
  y: number
}

// Distance between neighbours of the spiral.
const STEP = 34
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5))

// The place with this number on a spiral that fills a disc evenly.
export function spiral (index: number, step = STEP): Point {
  const radius = step * Math.sqrt(index)
  const angle = index * GOLDEN_ANGLE
  return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) }
}

// Places for those of `ids` that `known` has none for: near a neighbour that has one, or else on a spiral in
// the order of a search through the graph, so that neighbours begin near to each other.
export function place (
  ids: Iterable<string>, edges: Iterable<{ source: string, target: string }>,
  known: ReadonlyMap<string, Point>
): Map<string, Point> {
  const all = [...ids]
  const neighbours = new Map<string, string[]>(all.map(id => [id, []]))
  for (const { source, target } of edges) {
    neighbours.get(source)?.push(target)
    neighbours.get(target)?.push(source)
  }
  const places = new Map<string, Point>()
  for (const id of all) {
    const point = known.get(id)
    if (point) places.set(id, point)
  }
  nearKnown(places, neighbours)
  // What nothing connects stands outside of what is there.
  let index = places.size
  for (const root of all) {
    if (places.has(root)) continue
    // Breadth first.
    const queue = [root]
    places.set(root, spiral(index++))
    for (let at = 0; at < queue.length; at++) {
      for (const neighbour of neighbours.get(queue[at]!) ?? []) {
        if (places.has(neighbour) || !neighbours.has(neighbour)) continue
        places.set(neighbour, spiral(index++))
        queue.push(neighbour)
      }
    }
  }
  return places
}

// New neighbours stand in rings around the node they came from, and theirs around them.
function nearKnown (places: Map<string, Point>, neighbours: Map<string, string[]>): void {
  const queue = [...places.keys()]
  for (let at = 0; at < queue.length; at++) {
    const centre = places.get(queue[at]!)!
    const fresh = new Set(neighbours.get(queue[at]!)?.filter(id => !places.has(id) && neighbours.has(id)))
    let number = 1
    for (const id of fresh) {
      const { x, y } = spiral(number++, STEP * 0.8)
      places.set(id, { x: centre.x + x, y: centre.y + y })
      queue.push(id)
    }
  }
}
