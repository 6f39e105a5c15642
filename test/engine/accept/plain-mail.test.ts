/** Two ways to write a submission: where it stands, and as a group that is copied there. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32 } from '../../../src/base/checksum.js'
import { MessageIds } from '../../../src/base/message-id.js'
import { nowhere } from '../../../src/base/position.js'
import { seededPrng } from '../../../src/base/prng.js'
import { appendGroup, messageGroup } from '../../../src/engine/message/message-group.js'
import { untouched } from '../../../src/record/envelope.js'
import type { AcceptedKey } from '../../../src/record/keys.js'
import type { Parts } from '../../../src/engine/life/parts.js'
import { PlainMail } from '../../../src/engine/accept/plain-mail.js'
import { incomingLane } from '../../../src/lane/lane.js'
import type { Candidate } from '../../../src/lane/runner.js'
import { GroupCommit } from '../../../src/log/group-commit.js'
import { SegmentGrid } from '../../../src/log/segment.js'

const grid = new SegmentGrid(1024 * 1024)
const timeMs = 1_800_000_000_000

const newCommits = (): GroupCommit =>
  new GroupCommit({ grid, seedOf: () => 7, batchBytes: 16 * 1024, index: 0, previousEnd: nowhere })

const written = (commits: GroupCommit): Buffer[] => {
  const batches: Buffer[] = []
  for (let batch = commits.take(timeMs); batch !== undefined; batch = commits.take(timeMs)) {
    batches.push(Buffer.from(batch.buffer.subarray(0, batch.used)))
    commits.written()
  }
  return batches
}

const address = fc.tuple(fc.stringMatching(/^[a-z]{1,60}$/), fc.constantFrom('example.net', 'müller.example'))
const anyTime = fc.oneof(fc.constant(0), fc.constant(timeMs + 86_400_000))
const anyTerms = fc.record({
  tags: fc.array(fc.stringMatching(/^[a-zé]{1,32}$/), { minLength: 1, maxLength: 16 }),
  notBefore: anyTime,
  expiresAt: anyTime,
  warnAt: anyTime,
  trace: fc.option(
    fc.record({
      traceparent: fc.constant('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'),
      tracestate: fc.stringMatching(/^[a-z=]{0,512}$/),
    }),
    { nil: undefined },
  ),
})
const anySubmission = fc.record({
  sender: address.map((parts) => parts.join('@')),
  recipients: fc.uniqueArray(
    address.map((parts) => parts.join('@')),
    { minLength: 1, maxLength: 30 },
  ),
  smtputf8: fc.boolean(),
  // Some of it longer than a batch, so that its envelope would stand behind the end of the buffer.
  data: fc
    .oneof(fc.nat(6000), fc.nat(40_000))
    .map((bytes) => Buffer.alloc(bytes, `text of ${bytes} octets `)),
  key: fc.option(fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }), { nil: undefined }),
  terms: fc.option(anyTerms, { nil: undefined }),
})

test('mail that is written where it stands is, byte for byte, the group that would have been copied there', () => {
  fc.assert(
    fc.property(fc.array(anySubmission, { minLength: 1, maxLength: 12 }), (submissions) => {
      const inPlace = newCommits()
      const copied = newCommits()
      const handedOver: Candidate[] = []
      const journal = {
        grid,
        room: () => 'yes',
        aim: () => inPlace.aim(),
        open: (bytes: number) => inPlace.open(bytes, timeMs),
        appendData: inPlace.appendData.bind(inPlace),
        appendWritten: inPlace.appendWritten.bind(inPlace),
      }
      const lanes = {
        hold: { logs: { envelopes: { files: { grid } } } },
        incoming: { runner: { handOver: (candidate: Candidate) => handedOver.push(candidate) } },
      }
      const known: AcceptedKey[] = []
      const keys = { hasRoom: true, appended: (key: AcceptedKey) => known.push(key) }
      const parts = { journal, lanes, keys, options: { clock: { wallMs: () => timeMs } } } as unknown as Parts
      const plain = new PlainMail(parts)
      const [ids, sameIds] = [new MessageIds(seededPrng(1)), new MessageIds(seededPrng(1))]
      const places: number[] = []
      for (const { data, ...drawn } of submissions) {
        const envelope = {
          ...drawn,
          dsn: undefined,
          id: undefined,
          held: false,
          priority: 'normal' as const,
        }
        const roomBytes = plain.roomBytes(envelope, data)
        expect(roomBytes).toBeGreaterThan(0)
        plain.append(ids, envelope, data, roomBytes)
        const facts = {
          id: sameIds.next(timeMs),
          sender: envelope.sender,
          acceptedAt: timeMs,
          smtputf8: envelope.smtputf8,
          dataBytes: data.length,
          checksum: crc32(data),
          ...untouched,
          key: envelope.key,
          terms: envelope.terms,
        }
        const group = messageGroup(facts, envelope.recipients, data)
        expect(group.bytes).toBeLessThanOrEqual(roomBytes)
        copied.open(roomBytes, timeMs)
        places.push(appendGroup(copied, group, incomingLane, timeMs))
        expect(handedOver.at(-1)).toMatchObject({ envelope: group.envelope, bytes: group.envelopeBytes })
        const { key } = envelope
        const kept = { key, id: group.envelope.id, acceptedAt: timeMs, envelope: places.at(-1) }
        expect(known.splice(0)).toEqual(key === undefined ? [] : [kept])
      }
      expect(handedOver.map(({ position }) => position)).toEqual(places)
      expect(written(inPlace)).toEqual(written(copied))
    }),
  )
})
