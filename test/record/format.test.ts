/** FORMAT.md is the spec: its hex dump is decoded and encoded again, byte for byte, and its tables
 * name what the code has. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { position, type Position } from '../../src/base/position.js'
import { fieldsOf } from '../../src/inspect/records/records.js'
import { commitAt } from '../../src/log/commit-frame.js'
import { GroupCommit } from '../../src/log/group-commit.js'
import {
  decodeSegmentHeader,
  encodeSegmentHeader,
  segmentHeaderBytes,
  SegmentGrid,
  segmentSeed,
} from '../../src/log/segment.js'
import { decodeCheckpoint, encodeCheckpoint } from '../../src/record/checkpoint.js'
import { decodeEnvelope, encodeEnvelope } from '../../src/record/envelope.js'
import {
  classAt,
  frameBytes,
  kindAt,
  kindName,
  kinds,
  payloadAt,
  timeAt,
  verifyFrame,
  type Kind,
} from '../../src/record/frame.js'
import { decodeDelivery, encodeDelivery } from '../../src/record/delivery.js'
import { crc32 } from '../../src/base/checksum.js'
import { logDump } from '../../tools/commands/look/log-dump.js'
import { command } from '../inspect/commanded.js'
import { frozenQueue } from '../inspect/frozen-queue.js'
import { MemoryDisk } from '../inspect/memory-disk.js'
import { dumpOf, parseDump } from './hex-dump.js'

const format = readFileSync(new URL('../../src/record/FORMAT.md', import.meta.url), 'utf8')
const [dumpText = '', noteText = ''] = [...format.matchAll(/```hexdump\n([\s\S]*?)```/g)].map(
  ([, text]) => text!,
)
const dump = parseDump(dumpText)
const header = decodeSegmentHeader(dump.subarray(0, segmentHeaderBytes), {})
const seed = segmentSeed(header.log, header.index, header.epoch)

interface Decoded {
  readonly kind: Kind
  readonly lane: number
  readonly timeMs: number
  readonly payload: Buffer
  readonly at: number
}

function frames(): Decoded[] {
  const found: Decoded[] = []
  for (let at = segmentHeaderBytes; at < dump.length;) {
    const bytes = verifyFrame(dump, at, dump.length, seed ^ at)
    expect(bytes).toBeGreaterThan(0)
    found.push({
      kind: kindAt(dump, at) as Kind,
      lane: classAt(dump, at),
      timeMs: timeAt(dump, at),
      payload: payloadAt(dump, at),
      at,
    })
    at += bytes
  }
  return found
}

/** Every record through its decoder and encoder. */
function encodedAgain({ kind, payload }: Decoded): Buffer {
  if (kind === kinds.checkpoint) return encodeCheckpoint(decodeCheckpoint(payload))
  if (kind === kinds.envelope) return encodeEnvelope(decodeEnvelope(payload))
  expect(kind).toBe(kinds.data)
  return payload
}

test('the dump holds what the text above it says', () => {
  expect(header).toEqual({
    version: 2,
    log: 0,
    index: 3,
    segmentBytes: 65_536,
    life: 2,
    epoch: [0x01020304, 0xa0b0c0d0],
  })
  const found = frames()
  expect(found.map(({ kind }) => kindName(kind))).toEqual(['checkpoint', 'data', 'envelope', 'commit'])
  const [checkpoint, data, envelope, commit] = found as [Decoded, Decoded, Decoded, Decoded]
  expect(decodeCheckpoint(checkpoint.payload)).toMatchObject({ life: 1, suffix: 192_512, laneNext: 3 })
  expect(data.payload.toString()).toBe('Subject: hello\r\n\r\nHello.\r\n')
  const message = decodeEnvelope(envelope.payload)
  expect(message).toMatchObject({
    id: '1M3250V050000001',
    sender: 'ada@example.org',
    recipients: ['grace@example.net'],
    data: { kind: 'before', distanceBytes: envelope.at - data.at },
    dataBytes: 26,
    checksum: crc32(data.payload),
  })
  expect(commitAt(dump, commit.at)).toEqual({
    previousEnd: 192_512,
    checksum: crc32(Buffer.concat([checkpoint, data, envelope].map(({ at }) => dump.subarray(at, at + 4)))),
    checkpoint: checkpoint.at,
  })
})

test('decoding and encoding the dump gives the same bytes', () => {
  const [checkpoint, data, envelope, commit] = frames() as [Decoded, Decoded, Decoded, Decoded]
  const commits = new GroupCommit({
    grid: new SegmentGrid(header.segmentBytes),
    seedOf: () => seed,
    batchBytes: 4096,
    index: header.index,
    previousEnd: commitAt(dump, commit.at).previousEnd,
  })
  commits.begin(encodedAgain(checkpoint), checkpoint.timeMs)
  commits.open(frameBytes(data.payload.length) + frameBytes(envelope.payload.length), data.timeMs)
  const at: Position[] = [data, envelope].map((frame) =>
    commits.append(frame.kind, frame.lane, frame.timeMs, encodedAgain(frame)),
  )
  expect(at).toEqual([data, envelope].map((frame) => position(header.index * header.segmentBytes + frame.at)))
  const batch = commits.take(commit.timeMs)!
  const again = Buffer.concat([encodeSegmentHeader(header), batch.buffer.subarray(0, batch.used)])
  expect(again.equals(dump)).toBe(true)
  expect(dumpOf(again)).toBe(dumpText.trimEnd())
})

test('the dump of a note that names a server is read as it says, and written again', () => {
  const delivery = decodeDelivery(parseDump(noteText))
  expect(delivery).toEqual({
    start: 200_704,
    notes: [
      {
        kind: 'deferred',
        status: '4.2.1',
        text: '451 4.2.1 later',
        ranges: [0, 0],
        remote: 'mx.example.net[192.0.2.1]:25',
      },
    ],
    finishes: false,
  })
  expect(dumpOf(encodeDelivery(delivery))).toBe(noteText.trimEnd())
})

test('a dump with one bit turned over is not accepted', () => {
  const damaged = Buffer.from(dump)
  damaged[segmentHeaderBytes + 20]! ^= 1
  expect(verifyFrame(damaged, segmentHeaderBytes, damaged.length, seed ^ segmentHeaderBytes)).toBe(0)
})

test('the table of kinds names every kind and no other', () => {
  const rows = [...format.matchAll(/^\| *(\d+) *\| `(\w+)` *\|/gm)].map(([, code, name]) => [
    name,
    Number(code),
  ])
  expect(Object.fromEntries(rows)).toEqual(kinds)
})

test('the fields that `log dump` shows have names that stand here, and of a commit all are shown', async () => {
  const { files, directories, nowMs } = frozenQueue()
  const { stdout } = await command(
    logDump,
    ['--json', '--log', 'all'],
    () => new MemoryDisk(files, directories),
    nowMs,
  )
  const names = new Set<string>()
  for (const line of stdout.trim().split('\n')) {
    const { record } = JSON.parse(line) as { record: Record<string, unknown> }
    for (const [name, value] of Object.entries(record)) {
      names.add(name)
      if (name === 'lanes')
        for (const lane of value as object[]) Object.keys(lane).forEach((key) => names.add(key))
    }
  }
  expect(names.size).toBeGreaterThan(30)
  expect([...names].filter((name) => !new RegExp(`\\b${name}\\b`).test(format))).toEqual([])
  const [commit] = frames().slice(-1) as [Decoded]
  expect(fieldsOf('commit', commit.payload)).toEqual(commitAt(dump, commit.at))
})
