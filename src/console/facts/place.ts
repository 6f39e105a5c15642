/** The reader's place in the page, to and from the fragment of its address. Pure.
 * Invariant: `placeOf(addressOf(place))` is the same place, so that a link shows another reader
 * what this one sees. */
import type { Selector } from './api.js'

export const views = ['now', 'messages', 'destinations', 'log', 'queues'] as const
/** `nowhere`: an address that this page does not know. */
export type View = (typeof views)[number] | 'nowhere'

export interface Place {
  readonly view: View
  /** Of one message. */
  readonly id?: string
  /** Of messages; the empty one shows all. */
  readonly filter: Filter
}

/** Members of a selector, as text: what the verbs of the command take. */
export const filterNames = [
  'id',
  'sender',
  'recipient',
  'domain',
  'nexthop',
  'lane',
  'olderThan',
  'lastStatus',
  'tag',
] as const
export type FilterName = (typeof filterNames)[number]
export type Filter = Readonly<Partial<Record<FilterName, string>>>

/** @param fragment with its `#` */
export function placeOf(fragment: string): Place {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split(/\?(.*)/s, 2)
  const [first = '', id = ''] = path.split('/', 2)
  const view = first === '' ? 'now' : (views.find((name) => name === first) ?? 'nowhere')
  if (view !== 'messages') return { view, filter: {} }
  const filter = filterOf(new URLSearchParams(query))
  return id === '' ? { view, filter } : { view, id: decoded(id), filter }
}

/** A link that somebody has cut shows what is left of it. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function filterOf(query: URLSearchParams): Filter {
  const filter: Partial<Record<FilterName, string>> = {}
  for (const name of filterNames) {
    const value = query.get(name)
    // The empty sender is the null sender; of the others nothing is empty.
    if (value !== null && (value !== '' || name === 'sender')) filter[name] = value
  }
  return filter
}

export function addressOf({ view, id, filter }: Place): string {
  const query = queryOf(filter).toString()
  const path = id === undefined ? view : `${view}/${encodeURIComponent(id)}`
  return `#/${path}${query === '' ? '' : `?${query}`}`
}

export function queryOf(filter: Filter): URLSearchParams {
  const query = new URLSearchParams()
  for (const name of filterNames) {
    const value = filter[name]
    if (value !== undefined) query.set(name, value)
  }
  return query
}

const spanUnits: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** @returns milliseconds of `90s`, `2h`; undefined for anything else */
export function spanMsOf(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d+)\s*([smhd])$/.exec(text.trim()) ?? []
  return count === undefined ? undefined : Number(count) * spanUnits[unit]!
}

/** For a verb: without a filter it is meant for all. */
export function selectorOf(filter: Filter): Selector {
  const { olderThan, lane, ...texts } = filter
  const selector = {
    ...texts,
    ...(lane === undefined ? undefined : { lane: /^\d+$/.test(lane) ? Number(lane) : lane }),
    ...(olderThan === undefined ? undefined : { olderThan: spanMsOf(olderThan) ?? Number(olderThan) }),
  }
  return Object.keys(selector).length === 0 ? { all: true } : selector
}

const filterWords: Readonly<Record<FilterName, string>> = {
  id: 'with the id',
  sender: 'from',
  recipient: 'to',
  domain: 'to the domain',
  nexthop: 'with the next hop',
  lane: 'in',
  olderThan: 'older than',
  lastStatus: 'with the last status',
  tag: 'with the tag',
}

/** `messages from a@example.com, older than 2h`: what a filter means, for a heading. */
export function filterText(filter: Filter): string {
  const parts = filterNames.flatMap((name) => {
    const value = filter[name]
    if (value === undefined) return []
    return [
      `${filterWords[name]} ${name === 'sender' && value === '' ? 'nobody (reports)' : laneText(name, value)}`,
    ]
  })
  return parts.length === 0 ? 'all messages' : `messages ${parts.join(', ')}`
}

const laneText = (name: FilterName, value: string): string =>
  name === 'lane' && /^\d+$/.test(value) ? `lane ${value}` : value
