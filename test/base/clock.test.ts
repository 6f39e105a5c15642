import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'

test('a timer runs once and not before its time', async () => {
  const startedAt = systemClock.monotonicMs()
  await new Promise<void>((resolve) => systemClock.after(20, resolve))
  expect(systemClock.monotonicMs() - startedAt).toBeGreaterThanOrEqual(19)
})

test('a timer that was cancelled does not run', async () => {
  let ran = false
  const timer = systemClock.after(1, () => {
    ran = true
  })
  timer.cancel()
  await new Promise<void>((resolve) => systemClock.after(20, resolve))
  timer.cancel()
  expect(ran).toBe(false)
})

test('a delay beyond what a timer of Node can hold does not run at once', async () => {
  let ran = false
  const timer = systemClock.after(2 ** 40, () => {
    ran = true
  })
  await new Promise<void>((resolve) => systemClock.after(20, resolve))
  timer.cancel()
  expect(ran).toBe(false)
})

test('soon comes before any timer and after the turn that asked', async () => {
  const order: string[] = []
  await new Promise<void>((resolve) => {
    systemClock.soon(() => {
      order.push('soon')
      resolve()
    })
    order.push('turn')
  })
  expect(order).toEqual(['turn', 'soon'])
})
