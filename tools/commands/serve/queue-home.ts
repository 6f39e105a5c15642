/** Where the queue of a relay lies: in a directory, or in a store.
 * Invariant: only a queue in a directory has sockets and a maildrop beside it. */
import { loadStorePlace } from '../cli/queue-disk.js'
import { queuePathOf } from '../cli/queue-path.js'
import { UsageError, type Arguments, type Option } from '../cli/command.js'
import { hasPassword, shownQueue } from '../cli/shown-queue.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'

export const storeOptions: Readonly<Record<string, Option>> = {
  store: {
    value: 'URL',
    help: "a queue in PostgreSQL, replicated, instead of a directory: postgres://USER@HOST,HOST/DATABASE; then --queue is\nits name; the password is in PGPASSFILE's file, never here (a directory)",
  },
  node: {
    value: 'NAME',
    help: "with --store: what this node is called (the queue's name); another process of this name takes the queue\nonly when this one is gone",
  },
}

export interface QueueHome {
  /** For `openQueue`. */
  readonly place: string
  /** Without a password, for people. */
  readonly shown: string
  /** Undefined: it is in a store. */
  readonly directory: string | undefined
}

/** @throws UsageError, WaybillError OPTION_INVALID */
export async function queueHomeOf(args: Arguments): Promise<QueueHome> {
  const place = placeOf(args)
  if (!isStoreUrl(place)) return { place, shown: place, directory: place }
  // Errors in it are reported before anything is made.
  const { queue } = await loadStorePlace(place)
  if (queue === undefined) throw new UsageError('--store needs --queue NAME, the name of a queue')
  return { place, shown: shownQueue(place), directory: undefined }
}

/** @throws UsageError */
function placeOf(args: Arguments): string {
  const store = args.one('store')
  if (store === undefined) {
    if (args.isSet('node')) throw new UsageError('--node needs --store')
    return queuePathOf(args)
  }
  if (!isStoreUrl(store)) throw new UsageError('--store takes postgres://USER@HOST/DATABASE')
  if (hasPassword(store))
    throw new UsageError('--store takes no password: others read command lines; use PGPASSFILE')
  return withParameters(store, { queue: args.one('queue'), node: args.one('node') })
}

/** @param values by their names; one that is given replaces what the URL has */
export function withParameters(url: string, values: Readonly<Record<string, string | undefined>>): string {
  const [base = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  for (const [name, value] of Object.entries(values)) if (value !== undefined) parameters.set(name, value)
  return parameters.size === 0 ? base : `${base}?${parameters.toString()}`
}
