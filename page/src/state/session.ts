// Who asks which server and database, and whether it answers.

import { batch, computed, effect, signal } from '@preact/signals'

import { Api, RequestError, type Credentials } from '../server/api'
import { theme } from './kept'

export interface Database {
  name: string
  isDefault: boolean
  isOnline: boolean
  // Whether this server takes writes for it.
  writable: boolean
}

export interface User {
  name: string
  roles: string[]
  mustChangePassword: boolean
}

// Where the page is: looking whether it must log in, logging in, at work.
export type Stage = 'starting' | 'login' | 'password' | 'ready'

// Credentials are kept by the tab, so that a reload does not ask again, and end with it.
const KEY = 'telar.credentials'

export const stage = signal<Stage>('starting')
export const credentials = signal<Credentials | undefined>(remembered())
export const databases = signal<Database[]>([])
export const database = signal('')
// None where nobody has to log in.
export const user = signal<User | undefined>(undefined)
// Why the login did not work.
export const loginError = signal('')
// Whether the server answered when it was asked last.
export const reachable = signal(true)
export const version = signal('')

export const api = computed(() => new Api(database.value, credentials.value))

// Whether the user administers the server; everybody does where nobody logs in.
export const isAdmin = computed(() => user.value === undefined || user.value.roles.includes('admin'))

// Whether the user may write to the database that is chosen.
export const mayWrite = computed(() => {
  const roles = user.value?.roles
  const writes = roles === undefined || roles.some(role => !['reader', 'PUBLIC'].includes(role))
  const chosen = databases.value.find(one => one.name === database.value)
  return writes && chosen?.writable !== false
})

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')
const prefersDark = signal(systemIsDark.matches)
systemIsDark.addEventListener('change', change => { prefersDark.value = change.matches })

export const dark = computed(() => theme.value === 'system' ? prefersDark.value : theme.value === 'dark')

effect(() => { document.documentElement.dataset.theme = dark.value ? 'dark' : 'light' })

function remembered (): Credentials | undefined {
  try {
    const text = sessionStorage.getItem(KEY)
    return text === null ? undefined : JSON.parse(text) as Credentials
  } catch {
    return undefined
  }
}

function keep (given: Credentials | undefined): void {
  try {
    if (given) sessionStorage.setItem(KEY, JSON.stringify(given))
    else sessionStorage.removeItem(KEY)
  } catch {
    // A reload will ask again.
  }
}

// Finds out who this is and which databases there are, with credentials or without.
export async function connect (given = credentials.value): Promise<void> {
  const asking = new Api('system', given)
  try {
    const listed = await asking.run('SHOW DATABASES')
    const rows = listed.rows.map(row => Object.fromEntries(listed.fields.map((field, at) => [field, row[at]!])))
    const known = await asking.run('SHOW CURRENT USER')
    const found: Database[] = rows.filter(row => row.name !== 'system').map(row => ({
      name: row.name as string,
      isDefault: row.home === true || row.default === true,
      isOnline: row.currentStatus === 'online',
      writable: row.writer !== false && row.access !== 'read-only'
    }))
    const [first] = known.rows
    batch(() => {
      credentials.value = given
      databases.value = found
      if (!found.some(one => one.name === database.value)) {
        database.value = (found.find(one => one.isDefault) ?? found[0])?.name ?? ''
      }
      user.value = first && {
        name: first[known.fields.indexOf('user')] as string,
        roles: (first[known.fields.indexOf('roles')] as string[] | null) ?? [],
        mustChangePassword: first[known.fields.indexOf('passwordChangeRequired')] === true
      }
      loginError.value = ''
      reachable.value = true
      stage.value = 'ready'
    })
    keep(given)
  } catch (error) {
    refused(error, given)
  }
}

function refused (error: unknown, given: Credentials | undefined): void {
  if (!(error instanceof RequestError)) throw error
  if (error.isUnreachable) {
    batch(() => {
      reachable.value = false
      loginError.value = 'The server does not answer.'
      if (stage.value === 'starting') stage.value = 'login'
    })
    return
  }
  batch(() => {
    reachable.value = true
    if (error.code === 'Neo.ClientError.Security.CredentialsExpired') {
      credentials.value = given
      stage.value = 'password'
      return
    }
    // Without credentials this was the question whether any are needed.
    loginError.value = given ? error.message : ''
    credentials.value = undefined
    stage.value = 'login'
  })
  if (stage.value === 'login') keep(undefined)
}

// Replaces a password that has to be changed before anything else.
export async function changePassword (to: string): Promise<void> {
  const { user: name, password } = credentials.value!
  await new Api('system', credentials.value).run(
    'ALTER CURRENT USER SET PASSWORD FROM $from TO $to', { from: password, to }
  )
  await connect({ user: name, password: to })
}

export function logout (): void {
  keep(undefined)
  batch(() => {
    credentials.value = undefined
    user.value = undefined
    databases.value = []
    loginError.value = ''
    stage.value = 'login'
  })
}

// Notes what an error says of the way to the server and of the login.
export function noteError (error: unknown): void {
  if (!(error instanceof RequestError)) return
  if (error.isUnreachable) reachable.value = false
  if (error.status === 401) {
    loginError.value = 'Log in again: the server does not know these credentials any more.'
    stage.value = 'login'
  }
}

const LOOK_AGAIN_MS = 1000

// Looks whether the server is back, as long as it is away.
effect(() => {
  if (reachable.value) return
  const timer = setInterval(async () => {
    try {
      const response = await fetch('health', { cache: 'no-store' })
      if (!response.ok) return
      reachable.value = true
      if (stage.value !== 'ready') await connect()
    } catch {
      // Still away.
    }
  }, LOOK_AGAIN_MS)
  return () => clearInterval(timer)
})

export async function learnVersion (): Promise<void> {
  try {
    const found = await new Api('', undefined).json<{ telar_version?: string }>('./')
    version.value = found.telar_version ?? ''
  } catch {
    // The page does without.
  }
}
