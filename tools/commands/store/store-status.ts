/** `waybill store status`: the queues of a store, their owners, and whether its commits are
 * on two machines. */
import { systemClock } from '../../../src/base/clock.js'
import { nounText } from '../../../src/base/text.js'
import { loadStore } from '../../../src/store/load-store.js'
import type { StoreStatus } from '../../../src/store/store-status.js'
import type { Command } from '../cli/command.js'
import { jsonOption } from '../look/inspection.js'
import { print } from '../text/output.js'
import { table } from '../text/shown-text.js'
import { storeOption, storeUrlOf } from './store-place.js'

/** A beat comes in less. */
const betweenMs = 2000

export const storeStatus: Command = {
  synopsis: '--store URL [--json]',
  options: { ...storeOption, ...jsonOption },
  notes:
    'An owner beats, or was silent for the two observed seconds. Exit codes: 0 fine, 1 commits are not safe or\n' +
    'a queue has no owner that beats.',
  run: async (args) => {
    const url = storeUrlOf(args)
    const { pgStore, storeStatus: statusOf } = await loadStore()
    const status = await statusOf(pgStore(url), systemClock, betweenMs)
    const isFine = status.unsafe.length === 0 && status.queues.every(({ state }) => state === 'beats')
    const text = args.isSet('json') ? JSON.stringify(status) : textOf(status)
    return (await print(`${text}\n`)) || (isFine ? 0 : 1)
  },
}

export function textOf({ store, timeline, standbyCount, unsafe, queues }: StoreStatus): string {
  const standbys =
    standbyCount === undefined
      ? 'standbys not visible'
      : `${standbyCount} synchronous ${nounText(standbyCount, 'standby')}`
  const safe =
    unsafe.length === 0 ? ['commits are on two machines'] : unsafe.map((reason) => `UNSAFE: ${reason}`)
  const rows = queues.map(({ name, home, owner, address, epoch, state, usedBytes }) => [
    name,
    home ?? '-',
    owner === undefined ? '-' : address === undefined ? owner : `${owner} at ${address}`,
    state === 'none' ? '-' : state,
    epoch,
    Math.round(usedBytes / 1024),
  ])
  const list = rows.length === 0 ? 'no queue' : table(['queue', 'home', 'owner', 'is', 'epoch', 'KiB'], rows)
  return [`${store}, timeline ${timeline}, ${standbys}`, ...safe, '', list].join('\n')
}
