/** One node, one append in flight, and every way in which its questions can go wrong, one or two
 * at a time.
 * Invariant: what was answered is there for the next owner, whole; what was not is there whole
 * or not at all; and nothing appears once the next owner has looked. */
import { pause, type Clock } from '../../base/clock.js'
import { prngAt } from '../../base/prng.js'
import { isWaybillError } from '../../errors.js'
import { StoreDisk } from '../../store/store-disk.js'
import { SimWorld } from '../world/world.js'
import { Database } from './database.js'
import { SimNode, SimProgram } from './sim-node.js'
import { SimServer } from './sim-server.js'
import { SimStore, type Fate } from './sim-store.js'

/** Questions are counted from the append on. */
export interface AppendCase {
  readonly seed: number
  readonly fates: readonly { readonly question: number; readonly fate: Fate }[]
  /** The database fails over so long after the append began, milliseconds; undefined: it does
   * not. */
  readonly failoverMs: number | undefined
  /** The old primary goes on. */
  readonly isZombie: boolean
  /** The owner is killed so long after the append began; undefined: it writes a second block,
   * and ends. */
  readonly killMs: number | undefined
}

const blockBytes = 4096
const ttlMs = 300
const deadlineMs = 40
/** Just behind the deadline is where a ghost meets a resume. */
const ghostMsMax = 80
const endMs = 20_000

/** @returns what is wrong; undefined: nothing */
export async function oneAppend(given: AppendCase): Promise<string | undefined> {
  const world = new SimWorld({ seed: given.seed, order: 'fifo' })
  const database = new Database()
  database.makeQueue('q')
  let wrong: string | undefined
  const violate = (oracle: string, text: string): void => void (wrong ??= `${oracle} ${text}`)
  const servers = [new SimServer(world, { violate, owns: () => undefined }, database, 1)]
  let asked = -Infinity
  const fates = (): Fate => given.fates.find(({ question }) => question === asked++)?.fate ?? 'answered'
  const first = diskOf(world, servers, 'first', fates)
  await world.settle(first.disk.claim(), { untilMs: endMs })
  await world.settle(first.disk.makeDirectory('journal'), { untilMs: endMs })
  const created = await world.settle(first.disk.open('journal/a', 'create'), { untilMs: endMs })
  await world.settle(created.close(), { untilMs: endMs })
  const file = await world.settle(first.disk.open('journal/a', 'synced'), { untilMs: endMs })

  asked = 0
  const settled = [false, false]
  const write = async (): Promise<void> => {
    for (const [i] of settled.entries()) {
      await file.write(Buffer.alloc(blockBytes, i + 1), i * blockBytes)
      settled[i] = true
    }
  }
  const isOver = write().catch(() => undefined)
  if (given.failoverMs !== undefined)
    world.at(world.nowMs + given.failoverMs, () => {
      const [old] = servers
      servers.push(old!.promoted())
      if (!given.isZombie) old!.isDead = true
    })
  if (given.killMs !== undefined) world.at(world.nowMs + given.killMs, () => first.program.kill())
  await world.run({ untilMs: world.nowMs + (given.killMs ?? 0) + 1 })
  if (given.killMs === undefined) await world.settle(isOver, { untilMs: endMs }).catch(() => undefined)
  if (given.killMs === undefined && !settled[1]) return wrong ?? 'an append did not settle'
  first.program.kill()

  const next = diskOf(world, servers, 'next', () => 'answered')
  await world.settle(claimed(next.disk, next.program.clock), { untilMs: 2 * endMs })
  const content = await contentOf(world, next.disk)
  next.disk.abandon()
  // The last ghosts arrive.
  await world.run({ untilMs: world.nowMs + ghostMsMax })
  const later = await contentOf(world, diskOf(world, servers, 'later', () => 'answered').disk)
  if (!content.equals(later)) return wrong ?? 'an append appeared when the next owner had read'
  return wrong ?? wrongOf(content, settled)
}

/** A ghost of the dead owner's beats says once more that it lives. */
async function claimed(disk: StoreDisk, clock: Clock): Promise<void> {
  for (;;)
    try {
      await disk.claim()
      return
    } catch (error) {
      if (!isWaybillError(error, 'QUEUE_LOCKED')) throw error
      await pause(clock, deadlineMs, undefined)
    }
}

function wrongOf(content: Buffer, settled: readonly boolean[]): string | undefined {
  for (const [i, isSettled] of settled.entries()) {
    const block = content.subarray(i * blockBytes, (i + 1) * blockBytes)
    const isThere = block.equals(Buffer.alloc(blockBytes, i + 1))
    if (isSettled && !isThere) return `block ${i} settled, and is not there`
    if (!isThere && block.some((byte) => byte !== 0)) return `block ${i} is there in part`
  }
  return undefined
}

async function contentOf(world: SimWorld, disk: StoreDisk): Promise<Buffer> {
  const limits = { untilMs: world.nowMs + endMs }
  const file = await world.settle(disk.open('journal/a', 'read'), limits)
  const into = Buffer.alloc(2 * blockBytes)
  await world.settle(file.read(into, 0), limits)
  await world.settle(file.close(), limits)
  return into
}

function diskOf(
  world: SimWorld,
  servers: readonly SimServer[],
  name: string,
  fates: () => Fate,
): { disk: StoreDisk; program: SimProgram } {
  const program = new SimProgram(new SimNode(name, world), world)
  const prng = prngAt(world.seed, name.length, 1)
  const store = new SimStore({
    world,
    prng,
    program,
    servers: () => servers.filter((server) => !server.isDead),
    fates,
    deadlineMs,
    ghostMsMax,
    unheardOneIn: 8,
    newNonce: () => name,
  })
  const disk = new StoreDisk({
    store,
    queue: 'q',
    node: name,
    role: 'adopter',
    safety: 'required',
    ttlMs,
    resumeMs: endMs,
    clock: program.clock,
    prng,
  })
  return { disk, program }
}
