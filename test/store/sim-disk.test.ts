/** The contract of a disk on a simulated store, all of whose questions are answered. */
import { prngAt } from '../../src/base/prng.js'
import { Database } from '../../src/sim/store/database.js'
import { SimNode, SimProgram } from '../../src/sim/store/sim-node.js'
import { SimServer } from '../../src/sim/store/sim-server.js'
import { SimStore } from '../../src/sim/store/sim-store.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { StoreDisk } from '../../src/store/store-disk.js'
import { diskContract } from '../disk/contract.js'

let seed = 0

diskContract('a simulated store', async () => {
  const world = new SimWorld({ seed: ++seed })
  const database = new Database()
  database.makeQueue('q')
  const observer = {
    violate: (oracle: string, text: string): never => {
      throw new Error(`${oracle} ${text}`)
    },
    owns: (): void => undefined,
  }
  const server = new SimServer(world, observer, database, 1)
  let lifeCount = 0
  const opened: StoreDisk[] = []
  const open = (): StoreDisk => {
    const node = new SimNode(`n${++lifeCount}`, world)
    const program = new SimProgram(node, world)
    const store = new SimStore({
      world,
      prng: prngAt(seed, lifeCount, 1),
      program,
      servers: () => [server],
      fates: () => 'answered',
      deadlineMs: 200,
      ghostMsMax: 1,
      unheardOneIn: 2 ** 31,
      newNonce: () => `${node.name}-life`,
    })
    const disk = new StoreDisk({
      store,
      queue: 'q',
      node: node.name,
      role: 'adopter',
      safety: 'required',
      ttlMs: 600,
      resumeMs: 5000,
      clock: program.clock,
      prng: prngAt(seed, lifeCount, 2),
    })
    opened.push(disk)
    return disk
  }
  const disk = open()
  await world.settle(disk.claim())
  return {
    disk,
    reopen: open,
    settle: (promise) => world.settle(promise),
    remove: async () => {
      for (const each of opened) each.abandon()
      world.stop()
    },
  }
})
