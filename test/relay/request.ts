/** Delivery requests for tests of transports. */
import { Readable } from 'node:stream'
import type { DeliveryRequest, DeliveryResult, Transport } from '../../src/delivery/transport.js'

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

/** Delivers with a signal that never aborts. */
export async function deliver(
  transport: Transport,
  more: Partial<DeliveryRequest> = {},
  data: Buffer = someData,
): Promise<DeliveryResult> {
  return transport.deliver(requestOf(data, more), new AbortController().signal)
}
