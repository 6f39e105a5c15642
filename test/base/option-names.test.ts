import { expect, test } from 'vitest'
import { checkOptionNames } from '../../src/base/options.js'

interface Options {
  readonly size?: number
  readonly name?: string
}

const check = (given: unknown, within?: string): void =>
  checkOptionNames(given as Options, { size: true, name: true }, within)

test.each([{}, { size: 1 }, { name: undefined, size: 2 }])('%j has names that there are', (given) => {
  expect(() => check(given)).not.toThrow()
})

test.each(['Size', 'constructor', 'toString'])(
  'an option %s is refused, and which there are is told',
  (name) => {
    expect(() => check({ [name]: 1 })).toThrow(`no such option; there are size, name (option ${name})`)
    expect(() => check({ [name]: 1 }, 'attempt')).toThrow(`(option attempt.${name})`)
  },
)

test.each([[null], [false], ['size'], [undefined]])('%j in the place of options is refused', (given) => {
  expect(() => check(given)).toThrow('expected an object with size, name')
  expect(() => check(given, 'attempt')).toThrow('(option attempt)')
})
