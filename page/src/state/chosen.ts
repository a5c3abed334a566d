// The node or relationship that is selected in the graph view; none in another view.

import { signal } from '@preact/signals'

import type { Node, Relationship } from '../server/values'

export const chosen = signal<Node | Relationship | undefined>(undefined)
