/** The contract of a disk on a real PostgreSQL server, and what only a real one shows. */
import { afterAll, beforeAll, describe } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { initStore } from '../../src/store/postgres/init-store.js'
import { PgStore } from '../../src/store/postgres/pg-store.js'
import { StoreDisk } from '../../src/store/store-disk.js'
import { storePlaceOf } from '../../src/store/store-url.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'
import { diskContract } from '../disk/contract.js'

const missing = postgresMissing()

describe.skipIf(missing !== undefined)(
  `a store on PostgreSQL${missing === undefined ? '' : `: ${missing}`}`,
  () => {
    let servers: Servers | undefined
    let queueCount = 0

    beforeAll(async () => {
      servers = await Servers.start(0)
    })
    afterAll(() => servers?.remove())

    diskContract('a store', async () => {
      const place = storePlaceOf(`${servers!.url}?safety=assumed`)
      const queue = `q${++queueCount}`
      await initStore(place, { name: queue, quotaBytes: undefined }, systemClock)
      let nodeCount = 0
      const opened: StoreDisk[] = []
      const open = (): StoreDisk => {
        const disk = new StoreDisk({
          store: new PgStore(place, systemClock),
          queue,
          node: `n${++nodeCount}`,
          role: 'adopter',
          safety: 'assumed',
          ttlMs: 400,
          resumeMs: 5000,
        })
        opened.push(disk)
        return disk
      }
      const disk = open()
      await disk.claim()
      return {
        disk,
        reopen: open,
        settle: (promise) => promise,
        remove: async () => {
          for (const each of opened) each.abandon()
        },
      }
    })
  },
)
