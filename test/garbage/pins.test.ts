/** Pins against a model: a segment goes only when a confirmed capture came after the last release,
 * and it is below the floor. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Garbage, SegmentPins } from '../../src/garbage/pins.js'

test('a segment given up after the capture is not garbage when that checkpoint is durable', () => {
  const pins = new SegmentPins()
  pins.add(0)
  pins.pin(0)
  const captured = pins.capture()
  pins.release(0)
  expect(pins.confirm(captured, 9)).toEqual([])
  expect(pins.confirm(pins.capture(), 9)).toEqual([0])
})

test('a segment goes once, and not while another message holds it', () => {
  const pins = new SegmentPins()
  pins.add(0)
  pins.pin(0)
  pins.pin(0)
  pins.release(0)
  expect(pins.confirm(pins.capture(), 9)).toEqual([])
  pins.release(0)
  expect(pins.confirm(pins.capture(), 9)).toEqual([0])
  expect(pins.confirm(pins.capture(), 9)).toEqual([])
})

test('what is given up without having been held stops the process', () => {
  const pins = new SegmentPins()
  pins.add(0)
  pins.release(0)
  expect(() => pins.confirm(pins.capture(), 9)).toThrow('what is given up was held')
})

const anySteps = fc.array(
  fc.oneof(
    fc.tuple(fc.constant('pin' as const), fc.nat(5)),
    fc.tuple(fc.constant('release' as const), fc.nat(5)),
    fc.tuple(fc.constant('capture' as const), fc.constant(0)),
    fc.tuple(fc.constant('confirm' as const), fc.nat(7)),
  ),
  { maxLength: 120, size: 'max' },
)

/** The rule, spelled out: what each holder's state is, and what a durable checkpoint says of it. */
class Model {
  readonly existing: Set<number> = new Set([0, 1, 2, 3, 4, 5])
  holders: { index: number; released: number | undefined }[] = []
  captures = 0

  confirm(capture: number, floor: number): number[] {
    this.holders = this.holders.filter(({ released }) => released === undefined || released >= capture)
    const garbage = [...this.existing].filter(
      (index) => index < floor && this.holders.every((holder) => holder.index !== index),
    )
    for (const index of garbage) this.existing.delete(index)
    return garbage
  }
}

test('through any order of pins, releases, captures and confirms, exactly what the rule allows is garbage', () => {
  fc.assert(
    fc.property(anySteps, (steps) => {
      const pins = new SegmentPins()
      const model = new Model()
      for (const index of model.existing) pins.add(index)
      const confirmed: [number[], number[]][] = []
      let captured: readonly number[] | undefined
      for (const [verb, value] of steps) {
        if (verb === 'pin' && model.existing.has(value)) {
          pins.pin(value)
          model.holders.push({ index: value, released: undefined })
        } else if (verb === 'release') {
          const holder = model.holders.find(
            ({ index, released }) => index === value && released === undefined,
          )
          if (holder === undefined) continue
          holder.released = model.captures
          pins.release(value)
        } else if (verb === 'capture' && captured === undefined) {
          captured = pins.capture()
          model.captures++
        } else if (verb === 'confirm' && captured !== undefined) {
          confirmed.push([pins.confirm(captured, value), model.confirm(model.captures, value)])
          captured = undefined
        }
        expect(pins.existingCount).toBe(model.existing.size)
        expect(pins.hasPins).toBe(model.holders.length > 0)
      }
      for (const [garbage, expected] of confirmed) expect(garbage).toEqual(expected)
    }),
    { numRuns: 200 },
  )
})

test('the logs of a queue are captured together and forgotten one by one', () => {
  const garbage = new Garbage()
  for (const log of [0, 4]) {
    garbage.of(log).add(1)
    garbage.of(log).pin(1)
    garbage.of(log).release(1)
  }
  const captured = garbage.capture()
  expect([...captured]).toEqual([
    [0, [1, 1]],
    [4, [1, 1]],
  ])
  garbage.drop(4)
  expect([garbage.of(0).existingCount, garbage.of(4).existingCount]).toEqual([1, 0])
})
