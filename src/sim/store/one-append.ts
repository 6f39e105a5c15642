/** One node, changes in flight, and every way in which its questions can go wrong, one or two at a
 * time.
 * Invariant: what was answered is there for the next owner, whole; what was not is there whole
 * or not at all; and nothing appears once the next owner has looked. */
import { pause, type Clock } from '../../base/clock.js'
import { prngAt } from '../../base/prng.js'
import type { DiskFile } from '../../disk/disk.js'
import { isWaybillError } from '../../errors.js'
import { StoreDisk } from '../../store/store-disk.js'
import { SimWorld } from '../world/world.js'
import { Database } from './database.js'
import { SimNode, SimProgram } from './sim-node.js'
import { SimServer } from './sim-server.js'
import { SimStore, type Fate } from './sim-store.js'

/** Questions are counted from the first change on. */
export interface AppendCase {
  readonly seed: number
  readonly kind: 'journal' | 'together'
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

/** What the owner does. Block i of what it writes is of file i, or of the one file there is. */
interface Script {
  readonly paths: readonly string[]
  /** Before anything goes wrong. @returns what is tried then, told of each block that settled */
  readonly prepare: (disk: StoreDisk) => Promise<(settled: (block: number) => void) => Promise<unknown>>
}

const blockBytes = 4096
const blockOf = (i: number): Buffer => Buffer.alloc(blockBytes, i + 1)
const pathsTogether = ['spool/a', 'spool/b', 'spool/c', 'spool/d']

const scripts: Record<AppendCase['kind'], Script> = {
  /** Two blocks of a segment, one after the other. */
  journal: {
    paths: ['journal/a', 'journal/a'],
    prepare: async (disk) => {
      await disk.makeDirectory('journal')
      await (await disk.open('journal/a', 'create')).close()
      const file = await disk.open('journal/a', 'synced')
      return async (settled) => {
        for (const i of [0, 1]) {
          await file.write(blockOf(i), i * blockBytes)
          settled(i)
        }
      }
    },
  },
  /** Files that are written, made and unlinked at once, so that they are asked together. */
  together: {
    paths: pathsTogether,
    prepare: async (disk) => {
      await disk.makeDirectory('spool')
      const [a, b, c] = [
        await disk.open('spool/a', 'create'),
        await disk.open('spool/b', 'create'),
        await disk.open('spool/c', 'create'),
      ]
      await (await disk.open('spool/old', 'create')).close()
      const wrote = async (file: DiskFile, i: number, settled: (block: number) => void): Promise<void> => {
        await file.write(blockOf(i), 0)
        settled(i)
      }
      return (settled) =>
        Promise.all([
          wrote(a, 0, settled),
          wrote(b, 1, settled),
          disk.unlink('spool/old'),
          disk.open('spool/d', 'create').then((d) => wrote(d, 3, settled)),
          wrote(c, 2, settled),
        ])
    },
  },
}

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
  const script = scripts[given.kind]
  const change = await world.settle(script.prepare(first.disk), { untilMs: endMs })

  asked = 0
  const settled = script.paths.map(() => false)
  const isOver = change((block) => (settled[block] = true)).catch(() => undefined)
  if (given.failoverMs !== undefined)
    world.at(world.nowMs + given.failoverMs, () => {
      const [old] = servers
      servers.push(old!.promoted())
      if (!given.isZombie) old!.isDead = true
    })
  if (given.killMs !== undefined) world.at(world.nowMs + given.killMs, () => first.program.kill())
  await world.run({ untilMs: world.nowMs + (given.killMs ?? 0) + 1 })
  if (given.killMs === undefined) await world.settle(isOver, { untilMs: endMs }).catch(() => undefined)
  if (given.killMs === undefined && settled.includes(false)) return wrong ?? 'a change did not settle'
  first.program.kill()

  const next = diskOf(world, servers, 'next', () => 'answered')
  await world.settle(claimed(next.disk, next.program.clock), { untilMs: 2 * endMs })
  const content = await contentOf(world, next.disk, script.paths)
  next.disk.abandon()
  // The last ghosts arrive.
  await world.run({ untilMs: world.nowMs + ghostMsMax })
  const later = await contentOf(world, diskOf(world, servers, 'later', () => 'answered').disk, script.paths)
  if (!content.every((block, i) => block.equals(later[i]!)))
    return wrong ?? 'a change appeared when the next owner had read'
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

function wrongOf(blocks: readonly Buffer[], settled: readonly boolean[]): string | undefined {
  for (const [i, block] of blocks.entries()) {
    const isThere = block.equals(blockOf(i))
    if (settled[i] === true && !isThere) return `block ${i} settled, and is not there`
    if (!isThere && block.some((byte) => byte !== 0)) return `block ${i} is there in part`
  }
  return undefined
}

/** The block of each path; zeroes where there is no such file. */
async function contentOf(world: SimWorld, disk: StoreDisk, paths: readonly string[]): Promise<Buffer[]> {
  const limits = { untilMs: world.nowMs + endMs }
  const read = paths.map(async (path, i) => {
    const into = Buffer.alloc(blockBytes)
    try {
      const file = await disk.open(path, 'read')
      await file.read(into, path === paths[0] ? i * blockBytes : 0)
      await file.close()
    } catch (error) {
      if (!isWaybillError(error) || error.place.errno !== 'ENOENT') throw error
    }
    return into
  })
  return world.settle(Promise.all(read), limits)
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
