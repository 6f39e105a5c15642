import { expect, test } from 'vitest'
import { decodeSegmentHeader, segmentHeaderBytes, segmentSeed } from '../../../src/log/segment.js'
import { SeenIds } from '../../../src/inspect/messages/seen-ids.js'
import { decodeEnvelope, encodeEnvelope } from '../../../src/record/envelope.js'
import {
  frameBytesAt,
  frameHeaderBytes,
  kindAt,
  kinds,
  payloadAt,
  payloadBytesAt,
  sealFrame,
  timeAt,
} from '../../../src/record/frame.js'
import { logVerify } from '../../../tools/commands/look/log-verify.js'
import { Anatomy, type TakenApart } from '../anatomy.js'
import { command } from '../commanded.js'
import { fixtureQueue, type Fixture } from '../fixture-queue.js'
import { frozenQueue } from '../frozen-queue.js'
import { MemoryDisk, type Files } from '../memory-disk.js'

const sound = frozenQueue()
const anatomy = new Anatomy(sound.files)

/** The queue with another envelope in the place of a message's, well sealed. */
function resealed(message: TakenApart, change: Partial<TakenApart['envelope']>): Files {
  const [part] = message.parts
  if (part?.kind !== 'frame') throw new Error('a message begins with its envelope')
  const { path, at, bytes } = part.frame
  const { log, index, epoch } = decodeSegmentHeader(bytes.subarray(0, 4096), {})
  const before = payloadAt(bytes, at)
  const after = encodeEnvelope({ ...decodeEnvelope(before), ...change })
  expect(after).toHaveLength(before.length)
  const changed = Buffer.from(bytes)
  after.copy(changed, at + 16)
  const seed = segmentSeed(log, index, epoch) ^ at
  sealFrame(changed, at, kinds.envelope, message.lane, timeAt(bytes, at), after.length, seed)
  return new Map(sound.files).set(path, changed)
}

const verified = async (files: Files): Promise<string[]> => {
  const said = await command(logVerify, [], () => new MemoryDisk(files, sound.directories), sound.nowMs)
  return said.stdout.trim().split('\n')
}

test('a message that is in two lanes is damage, although every checksum holds', async () => {
  const held = anatomy.messages.find(({ lane }) => lane === 1)!
  const deferred = anatomy.messages.find(({ lane }) => lane === 3)!
  const lines = await verified(resealed(deferred, { id: held.envelope.id }))
  expect(lines.filter((line) => line.startsWith('damage'))).toEqual([
    expect.stringMatching(
      `lane 3 envelopes, segment 0, offset \\d+: message ${held.envelope.id} is in the queue twice`,
    ),
  ])
})

test('data that is not what the envelope says is damage, although every checksum on disk holds', async () => {
  const deferred = anatomy.messages.find(({ lane }) => lane === 3)!
  const { id, checksum } = deferred.envelope
  const lines = await verified(resealed(deferred, { checksum: (checksum ^ 1) >>> 0 }))
  expect(lines.filter((line) => line.startsWith('damage'))).toEqual([
    expect.stringMatching(`the data does not match its checksum; lost: message ${id}`),
  ])
})

test('a commit that names another frame as the newest checkpoint is damage, although every checksum holds', async () => {
  const path = 'journal/000000000003.log'
  const bytes = sound.files.get(path)!
  const { log, index, epoch } = decodeSegmentHeader(bytes.subarray(0, segmentHeaderBytes), {})
  const changed = Buffer.from(bytes)
  let at = segmentHeaderBytes
  while (kindAt(changed, at) !== kinds.commit) at += frameBytesAt(changed, at)
  const seed = segmentSeed(log, index, epoch) ^ at
  const seal = async (checkpoint: number): Promise<string[]> => {
    changed.writeUInt32LE(checkpoint, at + frameHeaderBytes + 12)
    sealFrame(changed, at, kinds.commit, 0, timeAt(changed, at), payloadBytesAt(changed, at), seed)
    const lines = await verified(new Map(sound.files).set(path, changed))
    return lines.filter((line) => line.startsWith('damage'))
  }
  expect(await seal(segmentHeaderBytes)).toEqual([])
  expect(await seal(segmentHeaderBytes + 8)).toEqual([expect.stringMatching('a batch does not verify')])
})

/** Damages of the journal, with the places changed as told. */
async function journalDamages(
  subject: Fixture,
  path: string,
  change: (bytes: Buffer) => Buffer | void,
): Promise<string[]> {
  const bytes = Buffer.from(subject.files.get(path)!)
  const files = new Map(subject.files).set(path, change(bytes) ?? bytes)
  const disk = new MemoryDisk(files, subject.directories)
  const { stdout } = await command(logVerify, [], () => disk, subject.nowMs)
  return stdout.split('\n').filter((line) => line.startsWith('damage: journal'))
}

const current = await fixtureQueue('lanes')
const apart = new Anatomy(current.files)
const newestPath = apart.path(0, apart.newest)
const batchAt = (index: number): readonly [number, number] => apart.batches(apart.newest)[index]!
const flip = (bytes: Buffer, at: number): number => (bytes[at]! ^= 1)
const toldAt = (from: number, to: number, what: string): string =>
  expect.stringContaining(`segment ${apart.newest}, offset ${from}: ${what} (${to - from} bytes)`) as string
const isOfBatches = (line: string): boolean => / do(es)? not verify \(/.test(line) && / batch/.test(line)

test('each bad batch of a segment is told with its place, and none that verifies', async () => {
  const [one, other] = [batchAt(3), batchAt(9)]
  const lines = await journalDamages(current, newestPath, (bytes) => {
    flip(bytes, one[0] + 20)
    flip(bytes, other[0] + 20)
  })
  expect(lines.filter(isOfBatches)).toEqual([
    toldAt(...one, 'a batch does not verify'),
    toldAt(...other, 'a batch does not verify'),
  ])
})

test('bad batches one behind the other are told as one stretch, and how many they are', async () => {
  const lines = await journalDamages(current, newestPath, (bytes) => {
    for (const index of [3, 4, 5]) flip(bytes, batchAt(index)[0] + 20)
  })
  expect(lines.filter(isOfBatches)).toEqual([toldAt(batchAt(3)[0], batchAt(5)[1], '3 batches do not verify')])
})

test('where commit frames are gone it is told up to the next one, and that there may be more batches', async () => {
  const lines = await journalDamages(current, newestPath, (bytes) => {
    bytes.fill(0, batchAt(12)[0] + 100, batchAt(14)[1])
    flip(bytes, batchAt(18)[1] - 1)
  })
  expect(lines.filter(isOfBatches)).toEqual([
    toldAt(batchAt(12)[0], batchAt(14)[1], 'a batch or more does not verify'),
    toldAt(...batchAt(18), 'a batch or more does not verify'),
  ])
})

test('a checkpoint that is gone with its batch makes none bad that names it', async () => {
  const bytes = current.files.get(newestPath)!
  const index = apart
    .batches(apart.newest)
    .findIndex(([from], i) => i > 0 && kindAt(bytes, from) === kinds.checkpoint)
  const lines = await journalDamages(current, newestPath, (changed) => {
    flip(changed, batchAt(index)[0] + 20)
  })
  expect(lines.filter(isOfBatches)).toEqual([toldAt(...batchAt(index), 'a batch does not verify')])
})

test('what is bad in a segment before the place where it is cut short is told too', async () => {
  const lines = await journalDamages(current, newestPath, (bytes) => {
    flip(bytes, batchAt(3)[0] + 20)
    return bytes.subarray(0, batchAt(9)[0])
  })
  expect(lines.filter(isOfBatches)).toEqual([toldAt(...batchAt(3), 'a batch does not verify')])
  expect(lines).toContainEqual(toldAt(batchAt(9)[0], apart.segmentBytes, 'the segment is cut short'))
})

test('a segment whose end no batch names any more may have had more, and that is told', async () => {
  const single = await fixtureQueue('single')
  const taken = new Anatomy(single.files)
  const index = taken.indexes.find((i) => i >= taken.floor / taken.segmentBytes && i < taken.newest)!
  const [, firstEnd] = taken.batches(index + 1)[0]!
  const end = taken.batches(index).at(-1)![1]
  const before = Buffer.from(single.files.get(taken.path(0, index))!)
  before.fill(0, taken.batches(index).at(-1)![0], end)
  const isUnknown = (line: string): boolean => line.includes('the end of the segment is unknown')
  const withFirst = (at: number): Promise<string[]> =>
    journalDamages(
      { ...single, files: new Map(single.files).set(taken.path(0, index), before) },
      taken.path(0, index + 1),
      (bytes) => void flip(bytes, at),
    )
  // Its commit frame names the end, though the batch does not verify.
  const named = await withFirst(4096 + 20)
  expect(named.filter(isUnknown)).toEqual([])
  expect(named).toContainEqual(
    expect.stringContaining(`segment ${index}, offset ${taken.batches(index).at(-1)![0]}`),
  )
  const unnamed = await withFirst(firstEnd - 1)
  expect(unnamed.filter(isUnknown)).toEqual([
    expect.stringContaining(`segment ${index}, offset ${taken.batches(index).at(-1)![0]}`),
  ])
})

test('a torn tail is told with its length, and is no damage', async () => {
  const frozenAnatomy = new Anatomy(sound.files)
  const path = frozenAnatomy.path(0, frozenAnatomy.newest)
  const bytes = Buffer.from(sound.files.get(path)!)
  const [from, to] = frozenAnatomy.batches(frozenAnatomy.newest).at(-1)!
  const wholeBytes = frameBytesAt(bytes, from)
  const files = new Map(sound.files).set(path, bytes.fill(0, from + wholeBytes, to))
  const lines = await verified(files)
  expect(lines).toContain(
    `torn tail: ${wholeBytes} bytes behind it, of a batch that was never settled; normal after a crash`,
  )
  expect(lines.at(-1)).toBe('sound')
})

test('an id that was seen is always told, one that was not hardly ever', () => {
  const ids = new SeenIds()
  const idOf = (number: number): string => `1KE70EHG0${number.toString(32).toUpperCase().padStart(7, '0')}`
  for (let i = 0; i < 100_000; i++) expect(ids.add(idOf(i))).toBe(false)
  for (let i = 0; i < 100_000; i += 17) expect(ids.add(idOf(i))).toBe(true)
  expect(ids.count).toBe(100_000)
})
