import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DiskFile } from '../../src/disk/disk.js'
import type { DiskImage } from '../../src/sim/disk/disk-image.js'
import { SimDisk } from '../../src/sim/disk/sim-disk.js'
import { describeOperation as line } from '../../src/sim/disk/operation.js'
import { SimWorld } from '../../src/sim/world/world.js'
import { writeDurably } from './fixture.js'

type Step =
  | { readonly kind: 'write' | 'writeSynced'; readonly position: number; readonly lengthBytes: number }
  | { readonly kind: 'truncate'; readonly lengthBytes: number }
  | { readonly kind: 'sync' }

const write = (kind: 'write' | 'writeSynced'): fc.Arbitrary<Step> =>
  fc.record({
    kind: fc.constant(kind),
    position: fc.nat(3_000),
    lengthBytes: fc.integer({ min: 1, max: 1_500 }),
  })
const step: fc.Arbitrary<Step> = fc.oneof(
  write('write'),
  write('writeSynced'),
  fc.record({ kind: fc.constant('truncate' as const), lengthBytes: fc.nat(4_000) }),
  fc.record({ kind: fc.constant('sync' as const) }),
)

const bytesMax = 4_500

/** What each byte, and the length, may be after a power loss: told by the promises of
 * the port alone. */
class Expectation {
  readonly bytes: Set<number>[] = Array.from({ length: bytesMax }, () => new Set([0]))
  lengths = new Set([0])
  #current = Buffer.alloc(bytesMax)
  #lengthBytes = 0

  put(change: Step, byte: number): void {
    if (change.kind === 'sync') {
      for (const [at, set] of this.bytes.entries()) {
        set.clear()
        set.add(this.#current[at] ?? 0)
      }
      this.lengths = new Set([this.#lengthBytes])
      return
    }
    if (change.kind === 'truncate') {
      this.#current.fill(0, change.lengthBytes)
      for (let at = change.lengthBytes; at < bytesMax; at++) this.bytes[at]?.add(0)
      this.#lengthBytes = change.lengthBytes
      this.lengths.add(this.#lengthBytes)
      return
    }
    const endBytes = change.position + change.lengthBytes
    this.#current.fill(byte, change.position, endBytes)
    for (let at = change.position; at < endBytes; at++) {
      if (change.kind === 'writeSynced') this.bytes[at]?.clear()
      this.bytes[at]?.add(byte)
    }
    this.#lengthBytes = Math.max(this.#lengthBytes, endBytes)
    this.lengths.add(this.#lengthBytes)
    // A synced write makes the length that reaches it durable; shorter ones are past.
    if (change.kind === 'writeSynced')
      for (const length of this.lengths) if (length < endBytes) this.lengths.delete(length)
  }

  allows(image: DiskImage): boolean {
    const bytes = image.bytes('a')
    return this.lengths.has(bytes.length) && bytes.every((byte, at) => this.bytes[at]?.has(byte) === true)
  }
}

test('after a power loss each byte is one that the port allows, whatever was written, cut and synced', async () => {
  let stateCount = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), fc.nat(), async (steps, seed) => {
      const world = new SimWorld({ seed })
      const disk = new SimDisk(world)
      const expected = new Expectation()
      await world.settle(writeDurably(disk, 'a', Buffer.alloc(0)))
      const plain = await world.settle(disk.open('a', 'write'))
      const synced = await world.settle(disk.open('a', 'synced'))
      for (const [index, change] of steps.entries()) {
        await world.settle(issue(plain, synced, change, index + 1))
        expected.put(change, index + 1)
        for (const { image, describe } of disk.crashStates({ garbage: 'none', statesMax: 40 })) {
          stateCount++
          expect(expected.allows(image) ? 'allowed' : describe()).toBe('allowed')
        }
      }
    }),
    { numRuns: 200 },
  )
  expect(stateCount).toBeGreaterThan(1_000)
})

function issue(plain: DiskFile, synced: DiskFile, change: Step, byte: number): Promise<void> {
  switch (change.kind) {
    case 'write':
      return plain.write(Buffer.alloc(change.lengthBytes, byte), change.position)
    case 'writeSynced':
      return synced.write(Buffer.alloc(change.lengthBytes, byte), change.position)
    case 'truncate':
      return plain.truncate(change.lengthBytes)
    case 'sync':
      return plain.sync()
  }
}

/** Three tasks that meet on one disk, with timers between. */
async function busyTrace(seed: number): Promise<string[]> {
  const trace: string[] = []
  const world = new SimWorld({ seed })
  const disk: SimDisk = new SimDisk(world, {
    observer: {
      before: ({ n, operation }) => {
        let states = 0
        for (const { image } of disk.crashStates()) states += image.files().length + 1
        trace.push(`${n} at ${world.nowMs}: ${line(operation)}, ${states}`)
      },
      after: (_, error) => error !== undefined && trace.push(error.message),
    },
    faults: [{ at: 9, kinds: ['write'], errno: 'EIO' }],
  })
  const task = async (name: string): Promise<void> => {
    await writeDurably(disk, name, Buffer.alloc(700, name))
    for (let turn = 0; turn < 4; turn++) {
      await new Promise<void>((resolve) => world.clock.after(turn, resolve))
      const file = await disk.open(name, 'write')
      await Promise.all([file.write(Buffer.alloc(512, turn), turn * 512), file.sync()])
    }
  }
  await world.settle(Promise.allSettled(['a', 'b', 'c'].map(task)))
  return trace
}

test('one seed is one run: the same calls in the same order with the same states after a crash', async () => {
  const traces = await Promise.all([1, 2, 3].map(busyTrace))
  expect(await Promise.all([1, 2, 3].map(busyTrace))).toEqual(traces)
  expect(traces[0]?.length).toBeGreaterThan(40)
  expect(traces[0]).not.toEqual(traces[1])
})
