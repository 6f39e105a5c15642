/** What a transport makes of its request. */
import { expect, test } from 'vitest'
import type { DeliveryRequest } from '../../../src/delivery/transport.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { simulatedLife } from '../simulated-life.js'
import { mail } from '../stage.js'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

test('a copy of a request has all that the request has, its data too', async () => {
  const world = new SimWorld({ seed: 1 })
  const copies: DeliveryRequest[] = []
  const texts: string[] = []
  const transport = {
    deliver: async (request: DeliveryRequest): Promise<{ kind: 'delivered' }> => {
      const copy = { ...request }
      copies.push(copy)
      const data = await copy.data()
      texts.push(Buffer.isBuffer(data) ? data.toString() : 'a reference')
      for await (const piece of copy.stream()) texts.push((piece as Buffer).toString())
      return { kind: 'delivered' }
    },
  }
  const options = { retry: fixedRetry([1000]), transports: { out: transport } }
  await simulatedLife(
    { world, seed: 1, image: undefined, before: () => undefined, options },
    async (queue) => {
      const sender = 'ada@example.org'
      const { id } = await queue.submit({
        sender,
        recipients: ['grace@example.net'],
        data: mail('x'),
        traceparent,
      })
      await queue.idle()
      const said = { id, sender, recipients: ['grace@example.net'], nexthop: 'n', attempts: 0, traceparent }
      expect(copies).toMatchObject([{ ...said, smtputf8: false, dataBytes: mail('x').length }])
      expect(copies[0]!.acceptedAt).toBeGreaterThan(0)
      expect(texts).toEqual([String(mail('x')), String(mail('x'))])
      expect(JSON.parse(JSON.stringify(copies[0]))).toMatchObject(said)
    },
  )
})
