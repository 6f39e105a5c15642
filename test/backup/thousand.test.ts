/** A thousand backups that are taken while the queue works. */
import { expect, test } from 'vitest'
import { copiesUnderLoad, troublesOf } from './load.js'

test(
  'a thousand backups that are taken under load all open, and lack nothing',
  { timeout: 1_800_000 },
  async () => {
    let madeCount = 0
    for (let seed = 100; seed < 120; seed++) {
      const { copies, brokenCount } = await copiesUnderLoad({ seed, copyCount: 50 })
      expect(brokenCount).toBe(0)
      for (const [n, copy] of copies.entries())
        expect(await troublesOf(copy), `copy ${n} of seed ${seed}`).toEqual([])
      madeCount += copies.length
    }
    expect(madeCount).toBe(1000)
  },
)
