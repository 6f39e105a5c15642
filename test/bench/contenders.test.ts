/** A contender that did less than it says would make every ratio wrong. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ContenderOptions, Store } from '../../bench/contenders/contender.js'
import { engine, realEngine } from '../../bench/contenders/engine.js'
import { files } from '../../bench/contenders/files.js'
import { bodyOf, deliveryOf, recordPayloads } from '../../bench/contenders/payloads.js'
import { produced } from '../../bench/contenders/produced.js'
import { rawlog } from '../../bench/contenders/rawlog.js'
import { openQueue } from '../../src/index.js'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'waybill-bench-test-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const options = (): ContenderOptions => ({
  directory,
  messageBytes: 1024,
  recipientCount: 1,
  workload: 'Q',
  domainCount: 500,
  deferredOneIn: 0,
  backlogCount: 0,
})

/** Kind and payload of every record whose checksum holds, batch by batch. */
function recordsIn(file: Buffer): { kind: number; payload: Buffer }[] {
  const records: { kind: number; payload: Buffer }[] = []
  for (let at = 0; at < file.length;) {
    const bytes = file.readUInt32LE(at + 4)
    if (bytes === 0) {
      const next = (Math.floor(at / 4096) + 1) * 4096
      if (at % 4096 === 0) break
      at = next
      continue
    }
    expect(crc32(file.subarray(at + 4, at + 16 + bytes))).toBe(file.readUInt32LE(at))
    records.push({ kind: file.readUInt32LE(at + 8), payload: file.subarray(at + 16, at + 16 + bytes) })
    at += Math.ceil((16 + bytes) / 8) * 8
  }
  return records
}

test('rawlog leaves three records of every message in its file, the data among them', async () => {
  const store = await rawlog(options())
  const slice = await produced(store, directory).slice(7, 50)
  await store.close()
  const records = recordsIn(readFileSync(join(directory, 'rawlog')))
  for (const kind of [1, 2, 3])
    expect(records.filter((record) => record.kind === kind)).toHaveLength(slice.messageCount)
  const { data, envelope } = recordPayloads(options())
  expect(records[0]!.payload.equals(Buffer.concat([data, envelope]))).toBe(true)
})

test('rawlog writes the bytes that the engine writes for a life, without what keeps its state', async () => {
  const bytesOf = async (open: (given: ContenderOptions) => Promise<Store>): Promise<number> => {
    const store = await open(options())
    const { writtenBytes, messageCount } = await produced(store, directory).slice(500, 300)
    await store.close()
    return writtenBytes / messageCount
  }
  const ratio = (await bytesOf(engine)) / (await bytesOf(rawlog))
  expect(ratio).toBeGreaterThan(0.97)
  expect(ratio).toBeLessThan(1.25)
})

test('a producer of rawlog is told only when its bytes are in the file', async () => {
  const store = await rawlog(options())
  await store.submit()
  const [message] = recordsIn(readFileSync(join(directory, 'rawlog')))
  expect(message?.kind).toBe(1)
  await store.drained()
  await store.close()
})

test('a slice of the engine is over only when a crash finds nothing left to do', async () => {
  const store = await engine(options())
  const slice = await produced(store, directory).slice(5, 100)
  await store.close()
  expect(slice.messageCount).toBeGreaterThan(0)
  const attempts: string[] = []
  const queue = await openQueue(join(directory, 'queue'), {
    transports: { again: { deliver: ({ id }) => (attempts.push(id), { kind: 'delivered' }) } },
    route: () => ({ transport: 'again', nexthop: 'example.net' }),
  })
  await new Promise((resolve) => queue.once('recovered', resolve))
  for await (const { id } of queue.list()) attempts.push(id)
  queue.crash()
  expect(attempts).toEqual([])
})

test('files leaves no file behind, and synced each message and each outcome', async () => {
  const store = await files(options())
  const slice = await produced(store, directory).slice(3, 50)
  await store.close()
  expect(slice.messageCount).toBeGreaterThan(0)
  expect(readdirSync(join(directory, 'messages'))).toEqual([])
  expect(slice.syncCount).toBeGreaterThanOrEqual(2 * slice.messageCount)
})

test('a slice is not over before the store has done what it owes', async () => {
  let owed = 0
  const store: Store = {
    submit: async () => {
      owed++
    },
    drained: async () => {
      await new Promise((resolve) => setTimeout(resolve, 30))
      owed = 0
    },
    syncs: () => ({ syncCount: 0, writtenBytes: 0 }),
    close: async () => undefined,
  }
  const { messageCount, durationMs } = await produced(store, directory).slice(1, 5)
  expect(owed).toBe(0)
  expect(messageCount).toBeGreaterThan(0)
  expect(durationMs).toBeGreaterThanOrEqual(34)
})

test('a body has the bytes that were asked for, in lines that SMTP can carry', () => {
  for (const bytes of [1, 100, 1024, 102_400]) {
    const body = bodyOf(bytes)
    expect(body).toHaveLength(bytes)
    expect(
      Math.max(
        ...body
          .toString('latin1')
          .split('\r\n')
          .map((line) => line.length),
      ),
    ).toBeLessThan(998)
  }
})

test('in workload R the engine and rawlog end every message behind a delivery that reads its data', async () => {
  for (const open of [realEngine, rawlog]) {
    const store = await open({ ...options(), workload: 'R', directory: mkdtempSync(join(directory, 'r-')) })
    const slice = await produced(store, directory).slice(3, 10_000, 50)
    await store.close()
    expect(slice.messageCount).toBe(50)
  }
  const deliver = deliveryOf(1024)
  await expect(deliver(bodyOf(1024))).resolves.toBeUndefined()
  await expect(deliver(bodyOf(1023))).rejects.toThrow('not those that were submitted')
})
