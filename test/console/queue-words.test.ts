import { expect, test } from 'vitest'
import { isAdopted, nodesOf, renewalText, standbysText } from '../../src/console/facts/queue-words.js'
import { plainQueue } from './fake-relay.js'

test('a node has its queues and those it adopted; one whose queues others have owns none', () => {
  const queues = [
    plainQueue('mx1'),
    plainQueue('mx2', { owner: 'mx1' }),
    plainQueue('mx3', { state: 'silent', address: null }),
    plainQueue('spare', { home: null, owner: null, state: 'none' }),
  ]
  expect(nodesOf(queues)).toEqual([
    { name: 'mx1', address: '192.0.2.1', owned: ['mx1', 'mx2'], homes: ['mx1'], state: 'beats' },
    { name: 'mx2', address: null, owned: [], homes: ['mx2'], state: 'away' },
    { name: 'mx3', address: null, owned: ['mx3'], homes: ['mx3'], state: 'silent' },
  ])
  expect(queues.map(isAdopted)).toEqual([false, true, false, false])
})

test('the age of a renewal is a bound, and is never said to be less than it may be', () => {
  expect(renewalText(plainQueue('mx1', { silentMsMax: 5003 }))).toBe('renewed less than 6s ago')
  expect(renewalText(plainQueue('mx1', { silentMsMax: 0 }))).toBe('renewed less than 1s ago')
  const silent = plainQueue('mx1', { state: 'silent', silentMsMin: 134_000, silentMsMax: null })
  expect(renewalText(silent)).toBe('not renewed for at least 2m14s')
  expect(renewalText(plainQueue('mx1', { state: 'none' }))).toBe('no node has had it yet')
  expect(renewalText(plainQueue('queue', { epoch: null }))).toBe('this relay has it')
})

test('standbys that are not seen are not counted', () => {
  expect([null, 1, 2].map(standbysText)).toEqual([
    'not visible to this role',
    '1 synchronous standby',
    '2 synchronous standbys',
  ])
})
