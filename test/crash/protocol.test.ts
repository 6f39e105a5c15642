/** The record protocol, explored to the end: with all its rules no promise is broken; without any
 * one of them some is. */
import { expect, test } from 'vitest'
import { InvariantError } from '../../src/base/assert.js'
import { recordProtocol } from '../../src/sim/protocol/record-protocol.js'
import { rules, type Rule } from '../../src/sim/protocol/rules.js'
import { search, type Protocol } from '../../src/sim/protocol/search.js'

const timeout = 300_000

test('no order of steps and no two crashes break a promise', { timeout }, () => {
  const protocol = recordProtocol()
  const reached = { finishedAfterTwoCrashes: 0, recycled: 0, marked: 0, madeAgain: 0 }
  const before = process.cpuUsage()
  const verdict = search({
    ...protocol,
    violationOf: (state) => {
      if (state.crashCount === 2 && state.fates.every((fate) => fate === 'finished'))
        reached.finishedAfterTwoCrashes++
      if (state.gone[1].length > 0) reached.recycled++
      if (state.lane.some(({ kind }) => kind === 'marks')) reached.marked++
      if (state.active.some(({ again }) => again)) reached.madeAgain++
      return protocol.violationOf(state)
    },
  })
  print(
    `all rules: ${verdict.stateCount} states, ${verdict.stepCount} steps, ${processorSeconds(before)} s of a processor`,
  )
  expect(verdict.found).toBeUndefined()
  expect(Object.entries(reached).filter(([, count]) => count === 0)).toEqual([])
  expect(verdict.stateCount).toBeGreaterThan(50_000)
})

for (const rule of rules)
  test(`without the rule "${rule}" a promise is broken`, { timeout }, () => {
    const { found, stateCount } = search(recordProtocol(rule))
    printFound(rule, stateCount, found)
    expect(found).toBeDefined()
  })

const counting: Protocol<number> = {
  first: 0,
  keyOf: String,
  stepsOf: (state) => [
    { name: 'one more', next: state + 1 },
    { name: 'twice as many', next: state * 2 },
  ],
  violationOf: (state) => (state === 6 ? 'six' : undefined),
}

test('a search finds the shortest trace', () => {
  const { found } = search(counting)
  expect(found).toEqual({ violation: 'six', trace: ['one more', 'one more', 'one more', 'twice as many'] })
})

test('a search that is cut does not count as one', () => {
  expect(() => search({ ...counting, violationOf: () => undefined }, 100)).toThrow(InvariantError)
})

function printFound(rule: Rule, stateCount: number, found: ReturnType<typeof search>['found']): void {
  const trace = found?.trace.map((step, index) => `  ${index + 1}. ${step}`).join('\n')
  print(
    `without "${rule}", after ${stateCount} states: ${found?.violation ?? 'nothing found'}\n${trace ?? ''}`,
  )
}

function processorSeconds(before: NodeJS.CpuUsage): string {
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 1e6).toFixed(1)
}

const print = (text: string): void => void process.stdout.write(`${text}\n`)
