/** *rawlog*, the ceiling of this runtime: a loop that appends the three records of a message to a
 * zeroed file with group commit. The records (message, outcome, finish) are framed and
 * checksummed; it keeps no other state. Nothing could be read back with less. It shares nothing
 * with src/log/: one write in flight on an O_DSYNC descriptor; arrivals meanwhile are the next
 * batch. The payloads are the engine's encodings, made once.
 *
 *     │ crc 4 │ length 4 │ kind 4 │ number 4 │ payload … │ zeroes to 8
 * A batch is padded to a block. */
import fs from 'node:fs'
import { join } from 'node:path'
import { crc32 as zlibCrc32 } from 'node:zlib'
import CRC32 from 'crc-32'
import type { ContenderOptions, Store } from './contender.js'
import { Deliveries } from './deliveries.js'
import { heldDelivery, recordPayloads } from './payloads.js'
import { blockBytes, roundUp, zeroedFile } from './zeroed-file.js'

const fileBytes = 256 * 1024 * 1024
const headerBytes = 16
const tableBelowBytes = 400

/** Appends one framed record. Returns the offset behind it. */
function appendRecord(
  into: Buffer,
  at: number,
  kind: number,
  number: number,
  parts: readonly Buffer[],
): number {
  let end = at + headerBytes
  for (const part of parts) {
    into.set(part, end)
    end += part.length
  }
  into.writeUInt32LE(end - at - headerBytes, at + 4)
  into.writeUInt32LE(kind, at + 8)
  into.writeUInt32LE(number >>> 0, at + 12)
  const checked = into.subarray(at + 4, end)
  const crc = checked.length < tableBelowBytes ? CRC32.buf(checked) >>> 0 : zlibCrc32(checked)
  into.writeUInt32LE(crc, at)
  while ((end & 7) !== 0) into[end++] = 0
  return end
}

export async function rawlog(options: ContenderOptions): Promise<Store> {
  const { data, envelope, delivery, finish } = recordPayloads(options)
  const descriptor = await zeroedFile(join(options.directory, 'rawlog'), fileBytes)
  const deliveries = new Deliveries(heldDelivery(options))
  const message = [data, envelope]
  const [outcome, end] = [[delivery], [finish]] as const
  const messageBytes = data.length + envelope.length + delivery.length + finish.length + 3 * (headerBytes + 8)
  const bufferBytes = Math.max(8 * 1024 * 1024, 256 * messageBytes)
  const buffers = [Buffer.alloc(bufferBytes), Buffer.alloc(bufferBytes)] as const
  let filling = 0
  let used = 0
  let waiting: (() => void)[] = []
  let state: 'idle' | 'soon' | 'writing' = 'idle'
  let offset = 0
  let number = 0
  const written = { syncCount: 0, writtenBytes: 0 }
  let whenIdle: (() => void) | undefined

  const want = (): void => {
    if (state !== 'idle') return
    state = 'soon'
    setImmediate(write)
  }
  const ended = (): void => {
    used = appendRecord(buffers[filling]!, used, 2, number, outcome)
    used = appendRecord(buffers[filling]!, used, 3, number, end)
    want()
  }
  const write = (): void => {
    state = 'idle'
    if (used === 0) return deliveries.isIdle ? whenIdle?.() : undefined
    const bytes = roundUp(used)
    const buffer = buffers[filling]!
    buffer.fill(0, used, bytes)
    const durable = waiting
    waiting = []
    filling = 1 - filling
    used = 0
    if (offset + bytes > fileBytes) offset = 0
    state = 'writing'
    fs.write(descriptor, buffer, 0, bytes, offset, (error, count) => {
      if (error !== null || count !== bytes) throw error ?? new Error('short write')
      state = 'idle'
      offset += bytes
      written.syncCount++
      written.writtenBytes += bytes
      for (const settle of durable) {
        settle()
        deliveries.begin(ended)
      }
      want()
    })
  }
  return {
    submit: () => {
      if (used + messageBytes + blockBytes > bufferBytes)
        throw new RangeError('too many producers for rawlog')
      used = appendRecord(buffers[filling]!, used, 1, number++, message)
      want()
      return new Promise<void>((resolve) => waiting.push(resolve))
    },
    drained: () =>
      new Promise((resolve) => {
        whenIdle = resolve
        want()
      }),
    syncs: () => ({ ...written }),
    close: async () => fs.closeSync(descriptor),
  }
}
