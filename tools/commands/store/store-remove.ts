/** `waybill store remove`: takes an empty queue out of a store, for good.
 * Invariant: mail is looked for twice: by reading, so that nothing is taken from an owner in vain,
 * and by the life that owns the queue at the end, after which nobody accepts mail for it. */
import { hostname as machineName } from 'node:os'
import { systemClock } from '../../../src/base/clock.js'
import { countText } from '../../../src/base/text.js'
import { WaybillError } from '../../../src/errors.js'
import { openQueue } from '../../../src/queue.js'
import { Messages } from '../../../src/inspect/messages/messages.js'
import { QueueDirectory } from '../../../src/inspect/queue/queue-directory.js'
import { takeSnapshot } from '../../../src/inspect/queue/snapshot.js'
import { loadStore } from '../../../src/store/load-store.js'
import type { StoreDisk } from '../../../src/store/store-disk.js'
import { UsageError, type Command } from '../cli/command.js'
import { openQueueDisk } from '../cli/queue-disk.js'
import { withParameters } from '../cli/store-parameters.js'
import { print } from '../text/output.js'
import { storeOption, storeUrlOf } from './store-place.js'

export const storeRemove: Command = {
  synopsis: '--store URL --queue NAME --yes',
  options: {
    ...storeOption,
    queue: { value: 'NAME', help: 'the queue' },
    yes: { help: 'remove it; without it only the mail in it is counted' },
  },
  notes:
    'Stop its own node first: a queue whose node runs is refused, and so is one with mail in it. A node that has\n' +
    'adopted it loses it. Idempotency keys and outcomes that no consumer has read go with it. Exit codes: 0 removed, or\n' +
    'empty without --yes, 1 its node runs, 2 it has mail, or usage.',
  run: async (args) => {
    const url = storeUrlOf(args)
    const { pgStore, removeQueue, storeDisk, storePlaceOf } = await loadStore()
    const place = storePlaceOf(withParameters(url, { queue: args.one('queue') }))
    const { queue: name } = place
    if (name === undefined) throw new UsageError('--queue names the queue')
    const there = withParameters(url, { queue: name })
    const count = await mailIn(there)
    if (count > 0) throw hasMail(name, count)
    if (!args.isSet('yes')) return print(`queue ${name} is empty; --yes removes it\n`)
    const home = await homeOf(pgStore(url), name)
    // As its home, so that a node which has adopted it gives it back.
    const disk = storeDisk({ url: withParameters(there, { node: home }) })
    const life = await seenEmpty(name, disk)
    await removeQueue(place, life, systemClock)
    return print(`queue ${name}: removed\n`)
  },
}

/** What files say, without an owner. */
async function mailIn(url: string): Promise<number> {
  const disk = openQueueDisk(url)
  let isDamaged = false
  const report = (): void => void (isDamaged = true)
  try {
    const directory = await QueueDirectory.open(disk, report)
    if (directory === undefined) return 0
    const snapshot = await takeSnapshot(directory)
    isDamaged ||= snapshot.findings.length > 0
    const messages = new Messages(directory, snapshot, { report, lane: undefined })
    let count = 0
    await messages.each(() => count++)
    if (isDamaged)
      throw new WaybillError('LOG_CORRUPT', 'the queue is damaged, and may have mail: `waybill log verify`')
    return count
  } finally {
    disk.abandon()
  }
}

type StatusStore = ReturnType<typeof import('../../../src/store/open-store.js').pgStore>

async function homeOf(store: StatusStore, name: string): Promise<string> {
  const connected = await store.connect(undefined)
  if (connected.kind !== 'done') throw unanswered(store.name)
  const row = await connected.value.queueNamed(name)
  connected.value.close()
  if (row.kind !== 'done') throw unanswered(store.name)
  return row.value?.home ?? name
}

const unanswered = (store: string): WaybillError =>
  new WaybillError('STORE_UNREACHABLE', 'the store does not answer', { directory: store })

/** Owns the queue for as long as a look takes. @returns the life that did */
async function seenEmpty(name: string, disk: StoreDisk): Promise<NonNullable<StoreDisk['life']>> {
  const queue = await openQueue(name, {
    disk,
    deliver: false,
    transports: {},
    route: () => ({ transport: 'none', nexthop: 'none' }),
    reportingMta: machineName(),
  })
  // The look, or the removal, ends with the reason.
  queue.on('crashed', () => undefined)
  try {
    let count = 0
    for await (const _ of queue.list({})) count++
    if (count > 0) throw hasMail(name, count)
    const { life } = disk
    if (life === undefined) throw new WaybillError('QUEUE_LOST', 'another process owns the queue now')
    return life
  } finally {
    queue.crash()
  }
}

const hasMail = (name: string, count: number): WaybillError =>
  new WaybillError(
    'OPTION_INVALID',
    `queue ${name} has ${countText(count, 'message')}: nothing was removed; a node that adopts it delivers them`,
    { option: 'queue' },
  )
