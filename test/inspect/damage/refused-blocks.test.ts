/** A disk that refuses a block in the middle of a file, one block after the other: what stands
 * around it is verified, listed and rescued, and what it took is named with its place. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Disk } from '../../../src/disk/disk.js'
import { diskFailure } from '../../../src/disk/failure.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { aroundRefusals } from '../../../src/inspect/damage/refused-blocks.js'
import type { InspectCommand } from '../../../tools/commands/look/inspection.js'
import { logDump } from '../../../tools/commands/look/log-dump.js'
import { logRescue } from '../../../tools/commands/look/log-rescue.js'
import { logVerify } from '../../../tools/commands/look/log-verify.js'
import { mailq } from '../../../tools/commands/look/mailq.js'
import { Anatomy } from '../anatomy.js'
import { command, damagesIn, type Commanded, type Told } from '../commanded.js'
import { BytesThatCount } from '../damage-class.js'
import { frozenQueue } from '../frozen-queue.js'
import { MemoryDisk, type Files } from '../memory-disk.js'
import { RefusingDisk, type BadPlace } from '../refusing-disk.js'

const sound = frozenQueue()
const anatomy = new Anatomy(sound.files)
const bytesThatCount = new BytesThatCount(anatomy)
const blockBytes = 4096

const allBlocks: readonly BadPlace[] = [...sound.files].flatMap(([path, { length }]) =>
  Array.from({ length: Math.ceil(length / blockBytes) }, (_, i): BadPlace => {
    const offset = i * blockBytes
    return { path, offset, bytes: Math.min(blockBytes, length - offset) }
  }),
)

/** Something but zeroes stands there. */
const isWritten = ({ path, offset, bytes }: BadPlace): boolean =>
  sound.files
    .get(path)!
    .subarray(offset, offset + bytes)
    .some((byte) => byte !== 0)

/** Of those in which nothing stands one in seven. */
const blocks = allBlocks.filter((bad, i) => isWritten(bad) || i % 7 === 0)

const isOfLogs = ({ path }: BadPlace): boolean => /^(?:journal\/0|lanes)/.test(path)
const written = allBlocks.filter((bad) => isOfLogs(bad) && isWritten(bad))

/** As the bytes would be if nothing of the place were left. */
function without({ path, offset, bytes }: BadPlace): Files {
  const content = Buffer.from(sound.files.get(path)!)
  for (let at = offset; at < offset + bytes; at++) content[at]! ^= 0xff
  return new Map(sound.files).set(path, content)
}

const withOther = (bad: BadPlace): MemoryDisk => new MemoryDisk(without(bad), sound.directories)

async function said(inspect: InspectCommand, args: readonly string[], bad: BadPlace): Promise<Commanded> {
  const disk = new RefusingDisk(sound.files, sound.directories, bad)
  const commanded = await command(inspect, args, () => disk, sound.nowMs)
  expect(disk.writeCount).toBe(0)
  // A disk takes seconds to refuse.
  expect(disk.refusedCount).toBeLessThanOrEqual(100)
  return commanded
}

const jsonLines = <T>(text: string): T[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T)

const refusalsIn = (commanded: Commanded): Told[] =>
  damagesIn(commanded).filter(({ reason }) => reason === 'the disk refused to read it: EIO')

const placeIn = ({ log, segment, offset, bytes }: Told): unknown[] => [log, segment, offset, bytes]

/** The place as findings name it. A file that is one message is named as a whole. */
function placeOf({ path, offset, bytes }: BadPlace): unknown[] {
  const [, lane, part, name] = /^(?:journal|lanes\/(\d+)\/(\w+))\/([0-9a-f]+)\.log$/.exec(path) ?? []
  if (path.startsWith('spool/')) return [path, undefined, undefined, 0]
  if (name === undefined) return [path, undefined, offset, bytes]
  const log = lane === undefined ? 'journal' : `lane ${lane} ${part}`
  return [log, Number.parseInt(name, 16), offset, bytes]
}

/** Is it missed where nothing of the place is left? */
const isCounted = (bad: BadPlace): boolean =>
  bytesThatCount.classOf({ files: without(bad), paths: [bad.path] }).kind !== 'idle'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-refused-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** Ids. */
async function listedFrom(disk: MemoryDisk): Promise<string[]> {
  const { stdout } = await command(mailq, ['--json'], () => disk, sound.nowMs)
  return jsonLines<{ queue_id: string }>(stdout).map(({ queue_id: id }) => id)
}

/** Sizes and senders. */
async function rescuedFrom(source: MemoryDisk): Promise<string[]> {
  const to = join(directory, 'to')
  const disk = (path: string): Disk => (path === 'from' ? source : nodeDisk(path))
  await command(logRescue, ['from', '--to', to, '--json'], disk, sound.nowMs)
  const { stdout } = await command(mailq, ['--queue', to, '--json'], nodeDisk, sound.nowMs)
  await rm(to, { recursive: true })
  return jsonLines<{ sender: string; message_size: number }>(stdout).map(
    ({ sender, message_size: size }) => `${sender} ${size}`,
  )
}

test('whichever block is refused: verify names it where it counts, and never another', async () => {
  const violations: unknown[] = []
  for (const bad of blocks) {
    const verdict = await said(logVerify, ['--json'], bad)
    const refusals = refusalsIn(verdict)
    // Without its header a segment is reported as a whole, too.
    const isNamed = refusals.some((told) => isDeepStrictEqual(placeIn(told), placeOf(bad)))
    const [log, , offset] = placeOf(bad)
    const isElsewhere = refusals.some((told) => told.log !== log || (told.offset ?? 0) !== (offset ?? 0))
    const isSaid = verdict.exitCode === 1 && isNamed && !isElsewhere
    if (!isSaid && (isCounted(bad) || refusals.length > 0)) violations.push([bad, verdict.stdout])
  }
  expect(violations).toEqual([])
})

test.each([
  [0, 16_384],
  [100, 9000],
  [100, 170],
  [16_000, 16_384],
])(
  'of a stretch from block %i to %i not every block is asked for, and its ends are told',
  async (from, to) => {
    let askedCount = 0
    const fileBytes = 16_384 * blockBytes
    const disk = {
      open: async () => ({
        size: async () => fileBytes,
        read: async (into: Buffer, at: number) => {
          askedCount++
          const isBad = at < to * blockBytes && at + into.length > from * blockBytes
          if (isBad) throw diskFailure('read', 'file', 'EIO')
          return into.length
        },
      }),
    } as unknown as Disk
    const told: unknown[] = []
    const file = await aroundRefusals(disk, (refused) => told.push(refused)).open('file', 'read')
    expect(await file.read(Buffer.alloc(10), Math.floor((from + to) / 2) * blockBytes)).toBe(10)
    const offsetBytes = from * blockBytes
    expect(told).toEqual([{ path: 'file', offsetBytes, bytes: to * blockBytes - offsetBytes }])
    expect(askedCount).toBeLessThan(800)
    const once = askedCount
    expect(await file.read(Buffer.alloc(10), from * blockBytes)).toBe(10)
    expect(askedCount).toBe(once)
  },
)

test('a refused block costs a listing no more than one that holds something else', async () => {
  const violations: unknown[] = []
  for (const bad of written) {
    const listed = await listedFrom(new RefusingDisk(sound.files, sound.directories, bad))
    const missing = (await listedFrom(withOther(bad))).filter((id) => !listed.includes(id))
    if (missing.length > 0) violations.push([bad, missing])
  }
  expect(violations).toEqual([])
})

test('nor does it cost a rescue more', async () => {
  const violations: unknown[] = []
  for (const bad of written.filter((_, i) => i % 3 === 0)) {
    const saved = await rescuedFrom(new RefusingDisk(sound.files, sound.directories, bad))
    const missing = (await rescuedFrom(withOther(bad))).filter((data) => !saved.includes(data))
    if (missing.length > 0) violations.push([bad, missing])
  }
  expect(violations).toEqual([])
}, 60_000)

test('a stretch of many blocks is told once, as far as it goes, and asked for few times more than it has blocks', async () => {
  const path = anatomy.path(0, anatomy.newest)
  const bad = { path, offset: 5 * blockBytes, bytes: 50 * blockBytes }
  const disk = new RefusingDisk(sound.files, sound.directories, bad)
  const verdict = await command(logVerify, ['--json'], () => disk, sound.nowMs)
  expect(refusalsIn(verdict).map(placeIn)).toEqual([placeOf(bad)])
  expect(disk.refusedCount).toBeLessThan(20 * 50)
})

test('records behind a refused block are dumped, and the block is told of', async () => {
  const path = anatomy.path(4, 0)
  const bad = { path, offset: 3 * blockBytes, bytes: blockBytes }
  const { exitCode, stdout, stderr } = await said(logDump, ['--log', '2/envelopes', '--json'], bad)
  const positions = jsonLines<{ position: number }>(stdout).map(({ position }) => position)
  expect(Math.max(...positions)).toBeGreaterThan(4 * blockBytes)
  expect(exitCode).toBe(1)
  expect(stderr).toContain(
    'damage: lane 2 envelopes, segment 0, offset 12288: the disk refused to read it: EIO (4096 bytes); lost: the bytes there',
  )
})
