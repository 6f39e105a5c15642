/** A relay is paid for what the sink has read, and for nothing else. */
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { flow, flowMissing, Sink } from '../../bench/relays/mail-flow.js'
import { passage } from '../../bench/relays/passage.js'
import type { Relay } from '../../bench/relays/relay.js'
import { temporaryDirectory } from '../temporary-directory.js'

const missing = flowMissing()
const load = { messageBytes: 1024, sessionCount: 5, isReused: true }
const relayAt = (port: number): Relay => ({
  name: 'waybill',
  version: '',
  port,
  processId: process.pid,
  stop: () => Promise.resolve(),
})

let sink: Sink
let swallowing: Server
beforeEach(async (context) => {
  if (missing !== undefined) return context.skip(missing)
  sink = await Sink.start()
  swallowing = swallower().listen(0, '127.0.0.1')
  await once(swallowing, 'listening')
})
afterEach(async () => {
  if (missing !== undefined) return
  swallowing.close()
  await sink.stop()
})

/** Says yes to everything and delivers nothing. */
const swallower = (): Server =>
  createServer((socket) => {
    let isData = false
    socket.on('error', () => {})
    socket.write('220 hole ESMTP\r\n')
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      if (isData && !text.endsWith('\r\n.\r\n')) return
      isData = text.startsWith('DATA')
      socket.write(isData ? '354 go on\r\n' : '250 2.0.0 yes\r\n')
    })
  })

test('every message that the sink has read counts, once', async () => {
  for (const isReused of [true, false]) {
    const before = sink.messageCount
    const slice = await flow(relayAt(sink.port), sink, { ...load, isReused }, 60)
    expect(slice.messageCount).toBe(60)
    expect(sink.messageCount - before).toBe(60)
  }
})

test('a bare passage passes every message on, and writes its bytes', async () => {
  const directory = await temporaryDirectory('passage')
  const relay = await passage({ directory, sinkPort: sink.port })
  try {
    const before = sink.messageCount
    await flow(relay, sink, load, 60)
    expect(sink.messageCount - before).toBe(60)
    expect((await stat(join(directory, 'data'))).size).toBeGreaterThan(60 * load.messageBytes)
  } finally {
    await relay.stop()
  }
})

test('a relay that says yes and delivers nothing has no figure', async () => {
  const { port } = swallowing.address() as AddressInfo
  await expect(flow(relayAt(port), sink, load, 10, 1000)).rejects.toThrow('10 of 10 messages do not arrive')
})

test('a relay that is not there has no figure', async () => {
  const { port } = swallowing.address() as AddressInfo
  swallowing.close()
  await once(swallowing, 'close')
  await expect(flow(relayAt(port), sink, load, 10, 5000)).rejects.toThrow('do not arrive')
})
