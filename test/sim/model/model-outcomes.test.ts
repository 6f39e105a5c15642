/** What a consumer may be told: nothing that is not durable, and all that an earlier life told. */
import { expect, test } from 'vitest'
import { ModelOutcomes, type Happened } from '../../../src/sim/model/model-outcomes.js'
import type { QueueOutcome } from '../../../src/record/outcome.js'

const happened: Happened = { kind: 'deferred', id: 'A', attempt: 1, recipients: ['ada@a.test'] }
const outcome = { ...happened, number: 1 } as QueueOutcome

/** A consumer has come in this life, and no checkpoint names it. */
function consumed(): {
  outcomes: ModelOutcomes
  found: string[]
  violate: (kind: string, what: string) => void
} {
  const found: string[] = []
  const outcomes = new ModelOutcomes()
  const violate = (_: string, what: string): void => void found.push(what)
  outcomes.beginLife(false)
  outcomes.opened(false, violate)
  return { outcomes, found, violate }
}

test('what was recorded before a checkpoint named the consumer may be told by the next life', () => {
  const { outcomes, found, violate } = consumed()
  outcomes.recorded(happened, 100)
  outcomes.durable(100)
  outcomes.look(true)
  outcomes.beginLife(false)
  outcomes.opened(true, violate)
  // It is attempted again: the same, with the same number of the attempt.
  outcomes.recorded(happened, 200)
  outcomes.gave(outcome, violate)
  expect(found).toEqual([])
})

test('nothing is told before it is durable, known consumer or not', () => {
  const { outcomes, found, violate } = consumed()
  outcomes.recorded(happened, 100)
  outcomes.durable(99)
  outcomes.gave(outcome, violate)
  expect(found).toEqual(["'deferred A 1 ada@a.test' is told before it is durable"])
})
