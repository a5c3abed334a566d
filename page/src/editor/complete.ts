// Completion from the live schema and what the server says it has.

import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'

import { functions, procedures, schema } from '../state/schema'
import { name } from '../server/values'
import { parameters } from '../state/run'
import { contextAt, type Context, type Expected } from './context'
import { KEYWORDS } from './keywords'

export function complete (context: CompletionContext): CompletionResult | null {
  const found = contextAt(context.state.doc.toString(), context.pos)
  if (!found) return null
  const { expected, from } = found
  // A name at any place is offered once a letter of it is there.
  if (expected.kind === 'name' && from === context.pos && !context.explicit) return null
  const procedureFrom = expected.kind === 'procedure' ? dottedFrom(context) : from
  return { from: procedureFrom, options: options(expected, found), validFor: /^[$\p{L}\p{N}_.]*$/u }
}

// Where the dotted name begins that is being typed.
function dottedFrom (context: CompletionContext): number {
  return context.matchBefore(/[\p{L}\p{N}_.]+/u)?.from ?? context.pos
}

function options (expected: Expected, { variables }: Context): Completion[] {
  const { labels, types, keys, properties } = schema.value
  switch (expected.kind) {
    case 'label': return labels.map(label => counted(label, 'class'))
    case 'type': return types.map(type => counted(type, 'interface'))
    case 'property': {
      const known = [...new Set(expected.of.flatMap(of => properties.get(of) ?? []))]
      return (known.length > 0 ? known : keys).map(key => ({ label: key, apply: name(key), type: 'property' }))
    }
    case 'parameter': return parameterNames().map(key => ({ label: '$' + key, type: 'constant' }))
    case 'procedure': return procedures.value.map(callable)
    case 'yield': return outputs(expected.procedure).map(output => ({ label: output, type: 'variable' }))
    case 'name': return [
      ...variables.map(variable => ({ label: variable, apply: name(variable), type: 'variable', boost: 2 })),
      ...KEYWORDS.map(keyword => ({ label: keyword, type: 'keyword', boost: 1 })),
      ...functions.value.map(callable)
    ]
  }
}

function counted ({ name: label, count }: { name: string, count: number }, type: string): Completion {
  return { label, apply: name(label), type, detail: count.toLocaleString('en') }
}

function callable ({ name: label, signature, description }: { name: string, signature: string, description: string }): Completion {
  return { label, apply: `${label}(`, type: 'function', info: `${signature}\n\n${description}` }
}

function parameterNames (): string[] {
  try {
    return Object.keys(parameters())
  } catch {
    // The panel says what is wrong with them.
    return []
  }
}

// Names of the columns in a signature: name(...) :: (a :: TYPE, b :: TYPE).
function outputs (procedure: string): string[] {
  const signature = procedures.value.find(one => one.name === procedure)?.signature ?? ''
  const columns = signature.split(') :: (')[1] ?? ''
  return [...columns.matchAll(/(\w+) :: /g)].map(match => match[1]!)
}
