// Modules and elements that tests of the graph view begin with.

export { load } from '../load.mjs'

export const node = (id, labels = [], properties = {}) => ({ kind: 'node', id, labels, properties })
export const relationship = (id, start, end, type = 'KNOWS', properties = {}) =>
  ({ kind: 'relationship', id, type, start, end, properties })
export const byId = elements => new Map(elements.map(element => [element.id, element]))
