/** `waybill store status`: the servers and queues of a store, the owners of the queues, and whether
 * commits are on two machines. */
import { systemClock } from '../../../src/base/clock.js'
import { nounText } from '../../../src/base/text.js'
import type { ServerStatus } from '../../../src/store/open-store.js'
import { loadStore } from '../../../src/store/load-store.js'
import type { StoreStatus } from '../../../src/store/store-status.js'
import type { Command } from '../cli/command.js'
import { jsonOption } from '../look/inspection.js'
import { print } from '../text/output.js'
import { bytesText, escapedJson, printable, table } from '../text/shown-text.js'
import { storeOption, storeUrlOf } from './store-place.js'

/** A beat comes in less. */
const betweenMs = 2000

export const storeStatus: Command = {
  synopsis: '--store URL [--json]',
  options: { ...storeOption, ...jsonOption },
  notes:
    'An owner beats, or was silent for the two observed seconds. A standby is behind by what is not on its disk yet.\n' +
    'Exit codes: 0 fine, 1 commits or a server are not safe, or a queue has no owner that beats.',
  run: async (args) => {
    const url = storeUrlOf(args)
    const { pgStore, storePlaceOf, serverStatus, storeStatus: statusOf } = await loadStore()
    const [status, servers] = await Promise.all([
      statusOf(pgStore(url), systemClock, betweenMs),
      serverStatus(storePlaceOf(url), systemClock),
    ])
    const isSafe = [status, ...servers].every(({ unsafe }) => unsafe.length === 0)
    const isFine = isSafe && status.queues.every(({ state }) => state === 'beats')
    const text = args.isSet('json')
      ? escapedJson(JSON.stringify({ ...status, servers }))
      : textOf(status, servers)
    return (await print(`${text}\n`)) || (isFine ? 0 : 1)
  },
}

export function textOf(
  { store, timeline, standbyCount, unsafe, queues }: StoreStatus,
  servers: readonly ServerStatus[],
): string {
  const standbys =
    standbyCount === undefined
      ? 'standbys not visible'
      : `${standbyCount} synchronous ${nounText(standbyCount, 'standby')}`
  const safe =
    unsafe.length === 0
      ? ['commits are on two machines']
      : unsafe.map((reason) => printable(`UNSAFE: ${reason}`))
  const rows = queues.map(({ name, home, owner, address, epoch, state, usedBytes }) => [
    name,
    home ?? '-',
    owner === undefined ? '-' : address === undefined ? owner : `${owner} at ${address}`,
    state === 'none' ? '-' : state,
    epoch,
    Math.round(usedBytes / 1024),
  ])
  const list = rows.length === 0 ? 'no queue' : table(['queue', 'home', 'owner', 'is', 'epoch', 'KiB'], rows)
  const head = `${store}, timeline ${timeline}, ${standbys}`
  return [head, ...safe, '', ...serversText(servers), list].join('\n')
}

/** Tables, and a blank line behind each. */
function serversText(servers: readonly ServerStatus[]): string[] {
  const all = servers.map(({ server, role, reason, unsafe }) => [
    server,
    role ?? 'away',
    reason ?? (unsafe.length === 0 ? '-' : `UNSAFE: ${unsafe.join('; ')}`),
  ])
  const followers = servers.flatMap(({ server, followers: some }) =>
    some.map(({ name, address, sync, state, behindBytes }) => [
      address === undefined ? name : `${name} at ${address}`,
      server,
      sync,
      state,
      behindBytes === undefined ? '-' : bytesText(behindBytes),
    ]),
  )
  const tables = [table(['server', 'is', 'problem'], all)]
  if (followers.length > 0) tables.push(table(['standby', 'follows', 'sync', 'state', 'behind'], followers))
  return tables.flatMap((text) => [text, ''])
}
