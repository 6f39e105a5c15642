/** The ring beside an array, by random commands. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Ring } from '../../src/base/ring.js'
import { heldBytes } from '../held-bytes.js'

const anyCommands = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant('push' as const) },
    { weight: 3, arbitrary: fc.constant('shift' as const) },
    { weight: 1, arbitrary: fc.constant('peek' as const) },
    { weight: 1, arbitrary: fc.nat(40).map((index) => index) },
  ),
  { maxLength: 300, size: 'max' },
)

type Command = 'push' | 'shift' | 'peek' | number

function obey(command: Command, value: number, ring: Ring<number>): number | undefined {
  if (command === 'push') ring.push(value)
  return command === 'push'
    ? value
    : command === 'shift'
      ? ring.shift()
      : command === 'peek'
        ? ring.peek()
        : ring.at(command)
}

function obeyArray(command: Command, value: number, array: number[]): number | undefined {
  if (command === 'push') array.push(value)
  return command === 'push'
    ? value
    : command === 'shift'
      ? array.shift()
      : command === 'peek'
        ? array[0]
        : array[command]
}

test('a ring behaves like an array, through every growth', () => {
  fc.assert(
    fc.property(anyCommands, (commands) => {
      const ring = new Ring<number>()
      const array: number[] = []
      commands.forEach((command, i) => {
        expect(obey(command, i, ring)).toBe(obeyArray(command, i, array))
        expect(ring.length).toBe(array.length)
      })
      while (array.length > 0) expect(ring.shift()).toBe(array.shift())
      expect(ring.shift()).toBeUndefined()
    }),
  )
})

test('an empty ring has nothing at its head after it was cleared', () => {
  const ring = new Ring<number>()
  for (let i = 0; i < 100; i++) ring.push(i)
  ring.clear()
  expect([ring.length, ring.peek(), ring.shift()]).toEqual([0, undefined, undefined])
})

test('an empty ring has nothing at its head, however many went through it, and keeps none of them', () => {
  const ring = new Ring<object>()
  const bytes = heldBytes(() => {
    for (let i = 0; i < 40; i++) {
      ring.push(Array.from({ length: 10_000 }, () => i))
      ring.shift()
      expect(ring.peek()).toBeUndefined()
    }
    return [ring]
  })
  expect(bytes).toBeLessThan(100_000)
})
