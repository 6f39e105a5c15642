import { expect, test } from 'vitest'
import { decodeSegmentHeader, segmentHeaderBytes, segmentSeed } from '../../src/log/segment.js'
import { SeenIds } from '../../src/inspect/seen-ids.js'
import { decodeEnvelope, encodeEnvelope } from '../../src/record/envelope.js'
import {
  frameBytesAt,
  frameHeaderBytes,
  kindAt,
  kinds,
  payloadAt,
  payloadBytesAt,
  sealFrame,
  timeAt,
} from '../../src/record/frame.js'
import { logVerify } from '../../tools/commands/log-verify.js'
import { Anatomy, type TakenApart } from './anatomy.js'
import { command } from './commanded.js'
import { frozenQueue } from './frozen-queue.js'
import { MemoryDisk, type Files } from './memory-disk.js'

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
    expect.stringMatching(`the data is not what was submitted; lost: message ${id}`),
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

test('an id that was seen is always told, one that was not hardly ever', () => {
  const ids = new SeenIds()
  const idOf = (number: number): string => `1KE70EHG0${number.toString(32).toUpperCase().padStart(7, '0')}`
  for (let i = 0; i < 100_000; i++) expect(ids.add(idOf(i))).toBe(false)
  for (let i = 0; i < 100_000; i += 17) expect(ids.add(idOf(i))).toBe(true)
  expect(ids.count).toBe(100_000)
})
