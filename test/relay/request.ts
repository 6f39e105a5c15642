/** Delivery requests for tests of transports. */
import { getEventListeners } from 'node:events'
import { Readable } from 'node:stream'
import { expect } from 'vitest'
import type {
  DeliveryRequest,
  DeliveryResult,
  Outcome,
  SiteTrouble,
  Transport,
} from '../../src/delivery/transport.js'

export const someData: Buffer = Buffer.from('Subject: a test\r\n\r\nHello.\r\n')

export function requestOf(data: Buffer, more: Partial<DeliveryRequest> = {}): DeliveryRequest {
  return {
    id: 'q1',
    attempts: 0,
    sender: 'sender@example.org',
    recipients: ['one@example.net'],
    nexthop: 'example.net',
    acceptedAt: 1_700_000_000_000,
    dataBytes: data.length,
    smtputf8: false,
    data: () => Promise.resolve(data),
    stream: () => Readable.from([data]),
    ...more,
  }
}

/** As `deliverWhole`, without the server that said it: tests of what is said do not
 * repeat who said it. */
export async function deliver(
  transport: Transport,
  more: Partial<DeliveryRequest> = {},
  data: Buffer = someData,
): Promise<DeliveryResult> {
  const result = await deliverWhole(transport, more, data)
  return 'kind' in result ? withoutServer(result) : result.map(withoutServer)
}

const withoutServer = <T extends Outcome | SiteTrouble>(outcome: T): T =>
  Object.fromEntries(Object.entries(outcome).filter(([name]) => name !== 'remote' && name !== 'tls')) as T

/** Delivers with a signal that never aborts; nobody listens to it any more when there is an answer,
 * whatever that is. */
export async function deliverWhole(
  transport: Transport,
  more: Partial<DeliveryRequest> = {},
  data: Buffer = someData,
): Promise<DeliveryResult> {
  const { signal } = new AbortController()
  try {
    return await transport.deliver(requestOf(data, more), signal)
  } finally {
    if (transport.releasesSignal === true) expect(getEventListeners(signal, 'abort')).toEqual([])
  }
}
