/** Streams of clients that leave at an inconvenient moment. */
import { once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.js'
import { Feeds } from '../../../src/http/api/outcome-routes.js'
import { EventStreams, streamCountMax } from '../../../src/http/wire/event-streams.js'

/** The answer to a client that has left before it. */
async function leftResponse(): Promise<ServerResponse> {
  const server = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const request = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  request.on('error', () => undefined)
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  const left = once(response, 'close')
  request.destroy()
  await left
  return response
}

test('a stream to a client that has left before it has ended, and takes no place', async () => {
  const streams = new EventStreams()
  const response = await leftResponse()
  for (let i = 0; i <= streamCountMax; i++) {
    const stream = streams.open(response, { clock: systemClock, checkStill: () => undefined })
    expect(stream.signal.aborted).toBe(true)
  }
})

test('nothing is kept of a consumer whose stream was refused', async () => {
  const feeds = new Feeds()
  const streams = new EventStreams()
  const stream = streams.open(await leftResponse(), { clock: systemClock, checkStill: () => undefined })
  const refused = feeds.run('one', stream, () => Promise.reject(new Error('too many consumers')))
  expect(feeds.namedCount).toBe(1)
  await expect(refused).rejects.toThrow('too many consumers')
  expect(feeds.namedCount).toBe(0)
})
