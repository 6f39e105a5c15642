/** Lives of nodes over one simulated store, whose answers are lost when a test says so. */
import { pause } from '../../src/base/clock.js'
import { prngAt } from '../../src/base/prng.js'
import { isWaybillError } from '../../src/errors.js'
import { Database } from '../../src/sim/store/database.js'
import { SimNode, SimProgram } from '../../src/sim/store/sim-node.js'
import { SimServer } from '../../src/sim/store/sim-server.js'
import { SimStore, type Fate } from '../../src/sim/store/sim-store.js'
import { SimWorld } from '../../src/sim/world/world.js'
import type { Store } from '../../src/store/store.js'
import { StoreDisk } from '../../src/store/store-disk.js'

export interface SimLife {
  readonly node: SimNode
  readonly disk: StoreDisk
  /** Waits until the queue is its own. */
  readonly claimed: () => Promise<void>
}

export class SimLives {
  readonly world: SimWorld = new SimWorld({ seed: 1, order: 'fifo' })
  /** Of the next question. */
  fate: Fate = 'answered'
  readonly #server: SimServer

  constructor() {
    const database = new Database()
    database.makeQueue('q')
    const violate = (oracle: string, text: string): never => {
      throw new Error(`${oracle} ${text}`)
    }
    this.#server = new SimServer(this.world, { violate, owns: () => undefined }, database, 1)
  }

  /** Files that are unlinked, and whose content is there. */
  get unlinkedCount(): number {
    return [...this.#server.visible.queue(1).files.values()].filter((file) => file.name === undefined).length
  }

  /** @param wrap what stands before the store */
  life(name: string, wrap: (store: Store) => Store = (store) => store): SimLife {
    const { world } = this
    const node = new SimNode(name, world)
    const program = new SimProgram(node, world)
    const prng = prngAt(1, name.length, 1)
    const store = new SimStore({
      world,
      prng,
      program,
      servers: () => [this.#server],
      fates: () => this.#nextFate(),
      deadlineMs: 40,
      ghostMsMax: 1,
      unheardOneIn: 2 ** 31,
      newNonce: () => name,
    })
    const disk = new StoreDisk({
      store: wrap(store),
      queue: 'q',
      node: name,
      role: 'adopter',
      safety: 'required',
      ttlMs: 300,
      resumeMs: 20_000,
      clock: program.clock,
      prng,
    })
    return { node, disk, claimed: () => claimed(disk, program) }
  }

  settle<T>(promise: Promise<T>): Promise<T> {
    return this.world.settle(promise, { untilMs: this.world.nowMs + 20_000 })
  }

  #nextFate(): Fate {
    const { fate } = this
    this.fate = 'answered'
    return fate
  }
}

async function claimed(disk: StoreDisk, { clock }: SimProgram): Promise<void> {
  for (;;)
    try {
      await disk.claim()
      return
    } catch (error) {
      if (!isWaybillError(error, 'QUEUE_LOCKED')) throw error
      await pause(clock, 20, undefined)
    }
}
