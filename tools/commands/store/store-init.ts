/** `waybill store init`: makes the tables of a store, and a queue in it. */
import { systemClock } from '../../../src/base/clock.js'
import { loadStore } from '../../../src/store/load-store.js'
import type { Command } from '../cli/command.js'
import { UsageError } from '../cli/command.js'
import { parseBytes } from '../cli/values.js'
import { print } from '../text/output.js'
import { storeOption, storeUrlOf } from './store-place.js'

const quotaBytesMin = 512 * 1024 * 1024

export const storeInit: Command = {
  synopsis: '--store URL [--queue NAME] [--quota BYTES]',
  options: {
    ...storeOption,
    queue: { value: 'NAME', help: 'a queue that is made if it is not there (none)' },
    quota: { value: 'BYTES', help: 'what it may take; more mail is refused (64G)' },
  },
  notes:
    'Existing tables are not changed, except the quota. It needs a role that may create a schema; a node needs the same\n' +
    'role afterwards, and pg_monitor to see whether a standby follows.',
  run: async (args) => {
    const url = storeUrlOf(args)
    const quota = args.one('quota')
    const quotaBytes = quota === undefined ? undefined : parseBytes('quota', quota)
    if (quotaBytes !== undefined && quotaBytes < quotaBytesMin)
      throw new UsageError('--quota is at least 512M')
    const { initStore } = await loadStore()
    const { nameOf, storePlaceOf } = await import('../../../src/store/store-url.js')
    const place = storePlaceOf(url)
    const name = nameOf(args.one('queue'), 'queue') ?? place.queue
    if (name === undefined && quota !== undefined) throw new UsageError('--quota needs --queue')
    const made = await initStore(place, name === undefined ? undefined : { name, quotaBytes }, systemClock)
    const lines = [`store ${place.name}: ${made.schema ? 'made' : 'is there'}`]
    if (name !== undefined) lines.push(`queue ${name}: ${made.queue ? 'made' : 'is there'}`)
    return print(`${lines.join('\n')}\n`)
  },
}
