import { expect, test } from 'vitest'
import type { Clock } from '../../src/base/clock.js'
import { Proof } from '../../src/store/ownership-proof.js'

/** A clock that a test moves. */
class HandClock implements Clock {
  monotonic = 1000
  wall = 1_800_000_000_000
  wallMs = (): number => this.wall
  monotonicMs = (): number => this.monotonic
  after = (): never => {
    throw new Error('a proof waits for nothing')
  }
  soon = this.after

  pass(ms: number): void {
    this.monotonic += ms
    this.wall += ms
  }
}

test('nothing is proven before the first answer', () => {
  expect(new Proof(new HandClock(), 500).isProven).toBe(false)
})

test('a proof is as old as its question: a late answer proves little, or nothing', () => {
  const clock = new HandClock()
  const proof = new Proof(clock, 500)
  clock.pass(400)
  proof.prove(1000)
  expect(proof.ageMs).toBe(400)
  expect(proof.isProven).toBe(true)
  clock.pass(100)
  expect(proof.isProven).toBe(false)
  clock.pass(400)
  proof.prove(1400)
  expect(proof.isProven).toBe(false)
})

test('an answer to an older question takes nothing back', () => {
  const clock = new HandClock()
  const proof = new Proof(clock, 500)
  clock.pass(100)
  proof.prove(1100)
  proof.prove(1000)
  expect(proof.ageMs).toBe(0)
})

test('a caller that waits is told once, when ownership is proven again', () => {
  const clock = new HandClock()
  const proof = new Proof(clock, 500)
  let toldCount = 0
  proof.onProven(() => toldCount++)
  clock.pass(600)
  proof.prove(1000)
  expect(toldCount).toBe(0)
  proof.prove(1600)
  proof.prove(1600.5)
  expect(toldCount).toBe(1)
})

test('a machine that was suspended has no proof, though its monotonic clock stood still', () => {
  const clock = new HandClock()
  const proof = new Proof(clock, 500)
  proof.prove(1000)
  clock.wall += 60_000
  expect(proof.isProven).toBe(false)
})

test('what has ended is proven no more', () => {
  const clock = new HandClock()
  const proof = new Proof(clock, 500)
  proof.prove(1000)
  proof.end()
  clock.pass(1)
  proof.prove(1001)
  expect(proof.isProven).toBe(false)
})
