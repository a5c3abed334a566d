import type { Api } from '../server/api'
import type { Node, Relationship } from '../server/values'

export interface GraphPanelProps {
  source: { nodes: Map<string, Node>, relationships: Map<string, Relationship> }
  api: Api
  asOf: string
  readOnly: boolean
  dark: boolean
  onStatement: (text: string) => void
}

export function GraphPanel ({ source }: GraphPanelProps) {
  return <p>{source.nodes.size} nodes</p>
}
