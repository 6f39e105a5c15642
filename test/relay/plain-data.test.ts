/** Data that leaves as it stands, against what RFC 5321 makes of it. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { leavesAsItStands } from '../../src/relay/plain-data.js'
import { deliver } from './request.js'
import { between } from './smtp-out-fixture.js'

const anyData = fc
  .array(fc.constantFrom('\r', '\n', '\r\n', '.', 'a', '\0', '\xff', '\r\n.', '\n.'), { maxLength: 12 })
  .map((parts) => parts.join(''))

/** Its lines as a server has them. */
function linesOf(data: string): string {
  const mended = data.replace(/\r\n|\r|\n/g, '\r\n')
  return mended.endsWith('\r\n') ? mended : `${mended}\r\n`
}

test('data leaves as it stands when nothing is to be mended and nothing to be dotted', () => {
  fc.assert(
    fc.property(anyData, (data) => {
      const isMended = linesOf(data) === data || linesOf(data) === `${data}\r\n`
      expect(leavesAsItStands(Buffer.from(data, 'latin1'))).toBe(isMended && !/^\./m.test(data))
    }),
    { numRuns: 2000 },
  )
})

test('whatever the data is, the server has its lines', async () => {
  const { server, transport } = await between()
  await fc.assert(
    fc.asyncProperty(anyData, async (data) => {
      expect(await deliver(transport, {}, Buffer.from(data, 'latin1'))).toMatchObject({ kind: 'delivered' })
      expect(server.taken.at(-1)?.data.toString('latin1')).toBe(linesOf(data))
    }),
    { numRuns: 300 },
  )
})
