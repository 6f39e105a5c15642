import { expect, test } from 'vitest'
import { unsafeReasons } from '../../src/store/replication-safety.js'
import type { SafetyFacts } from '../../src/store/store.js'

const settings = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  synchronous_standby_names: 'ANY 1 (n1, n2, n3)',
}
const safe: SafetyFacts = { versionNumber: 150_018, settings, standbyCount: 1, subscribers: [] }

test('a quorum with a standby that is there is safe', () => {
  expect(unsafeReasons(safe)).toEqual([])
  expect(unsafeReasons({ ...safe, settings: { ...settings, synchronous_commit: 'remote_apply' } })).toEqual(
    [],
  )
})

test.each([
  [{ versionNumber: 140_010 }, 'PostgreSQL 15 or later is needed, this is 14'],
  [{ settings: { ...settings, fsync: 'off' } }, 'fsync is not on'],
  [{ settings: { ...settings, full_page_writes: 'off' } }, 'full_page_writes is not on'],
  [{ settings: { ...settings, synchronous_commit: 'local' } }, 'synchronous_commit is local, not on'],
  [
    { settings: { ...settings, synchronous_commit: 'remote_write' } },
    'synchronous_commit is remote_write, not on',
  ],
  [
    { settings: { ...settings, synchronous_standby_names: '' } },
    'synchronous_standby_names is empty: a commit waits for no standby',
  ],
  [
    { subscribers: ['shop'] },
    'a commit waits for a logical subscriber, shop: synchronous_standby_names has to name the standbys',
  ],
  [{ standbyCount: 0 }, 'no synchronous standby is connected'],
  [{ standbyCount: undefined }, 'standbys are not visible: the role needs pg_monitor'],
] satisfies [Partial<SafetyFacts>, string][])('%j is not', (facts, reason) => {
  expect(unsafeReasons({ ...safe, ...facts })).toEqual([reason])
})
