// The panels beside the editor.

import type { ComponentType } from 'preact'

import { isAdmin, user } from '../state/session'
import type { IconName } from '../view/icons'
import { lazy } from '../view/lazy'
import { History } from './history'
import { Parameters } from './parameters'
import { Running } from './running'
import { Saved } from './saved'
import { SchemaPanel } from './schema'
import { Search } from './search'
import { Status } from './status'
import { Users } from './users'

export type PanelName = 'schema' | 'history' | 'saved' | 'parameters' | 'search' | 'import' | 'running' | 'users' | 'status'

interface Entry {
  name: PanelName
  title: string
  icon: IconName
  content: ComponentType
}

const Import = lazy(async () => (await import('./import')).Import)

const ALL: Entry[] = [
  { name: 'schema', title: 'What is in the database', icon: 'schema', content: SchemaPanel },
  { name: 'history', title: 'History', icon: 'history', content: History },
  { name: 'saved', title: 'Saved queries', icon: 'star', content: Saved },
  { name: 'parameters', title: 'Parameters', icon: 'braces', content: Parameters },
  { name: 'search', title: 'Search', icon: 'search', content: Search },
  { name: 'import', title: 'Import', icon: 'import', content: Import },
  { name: 'running', title: 'Running queries', icon: 'running', content: Running },
  { name: 'users', title: 'Users', icon: 'users', content: Users },
  { name: 'status', title: 'Status', icon: 'status', content: Status }
]

// What the user has a use for: who may not manage users is not shown how.
export function panels (): Entry[] {
  return ALL.filter(({ name }) => name !== 'users' || user.value !== undefined && isAdmin.value)
}

export function Panel ({ name }: { name: PanelName }) {
  const found = panels().find(one => one.name === name) ?? ALL[0]!
  const { title, content: Content } = found
  return (
    <aside class='panel' aria-label={title} tabIndex={0}>
      <h2>{title}</h2>
      <Content />
    </aside>
  )
}
