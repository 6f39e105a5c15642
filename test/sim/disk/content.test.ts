import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Content } from '../../../src/sim/disk/content.js'

type Step =
  | { readonly kind: 'patch'; readonly position: number; readonly lengthBytes: number; readonly byte: number }
  | { readonly kind: 'resize'; readonly lengthBytes: number }
  | { readonly kind: 'share' }

const bytesMax = 20_000
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('patch' as const),
    position: fc.nat(bytesMax),
    lengthBytes: fc.nat(9_000),
    byte: fc.nat(255),
  }),
  fc.record({ kind: fc.constant('resize' as const), lengthBytes: fc.nat(bytesMax) }),
  fc.record({ kind: fc.constant('share' as const) }),
)

const bytesOf = (content: Content): Buffer => {
  const bytes = Buffer.alloc(content.lengthBytes, 0xee)
  content.read(bytes, 0)
  return bytes
}

/** The same on a plain array, which a `patch` behind the end extends. */
function put(model: Buffer, change: Step): Buffer {
  if (change.kind === 'share') return model
  if (change.kind === 'resize') {
    const resized = Buffer.alloc(change.lengthBytes)
    model.copy(resized)
    return resized
  }
  const longer = Buffer.alloc(Math.max(model.length, change.position + change.lengthBytes))
  model.copy(longer)
  longer.fill(change.byte, change.position, change.position + change.lengthBytes)
  return longer
}

test('content is what a plain array would be, and what was shared never changes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let content = new Content()
      let model: Buffer = Buffer.alloc(0)
      const shared: [Content, Buffer][] = []
      for (const change of steps) {
        model = put(model, change)
        if (change.kind === 'share') shared.push([content.share(), model])
        else if (change.kind === 'resize') content = content.resize(change.lengthBytes)
        else {
          content = content.patch(Buffer.alloc(change.lengthBytes, change.byte), change.position)
          content = content.resize(model.length)
        }
        expect(bytesOf(content).equals(model)).toBe(true)
      }
      for (const [kept, expected] of shared) expect(bytesOf(kept).equals(expected)).toBe(true)
    }),
  )
})

test('room is taken by pages that were written, zeroes too, and by no others', () => {
  let content = new Content().patch(Buffer.alloc(4096), 0).patch(Buffer.from('a'), 5 * 4096)
  content = content.resize(10 * 4096)
  expect(content.allocatedBytes).toBe(2 * 4096)
  expect(content.missingBytes(3 * 4096, 4095)).toBe(3 * 4096)
  content = content.resize(100)
  expect(content.allocatedBytes).toBe(4096)
})
