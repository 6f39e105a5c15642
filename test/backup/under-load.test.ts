/** Backups that are taken while the queue works: each opens, and has what it must have. */
import { expect, test } from 'vitest'
import { copiesUnderLoad, troublesOf, type LoadOptions } from './load.js'

/** Of all copies, by their number. */
async function troublesUnder(options: LoadOptions): Promise<string[]> {
  const { copies, brokenCount } = await copiesUnderLoad(options)
  const troubles = brokenCount > 0 ? [`${brokenCount} could not be made`] : []
  for (const [n, copy] of copies.entries())
    troubles.push(...(await troublesOf(copy)).map((trouble) => `copy ${n}: ${trouble}`))
  return troubles
}

test.each([1, 2, 3])('backups that are taken under load open, and lack nothing; seed %i', async (seed) => {
  expect(await troublesUnder({ seed, copyCount: 30 })).toEqual([])
})

test('a backup of files that nobody keeps is found wanting', async () => {
  const keep: LoadOptions['keep'] = async (queue) => {
    const kept = await queue.pinFiles()
    kept.release()
    return kept
  }
  expect(await troublesUnder({ seed: 1, copyCount: 20, keep })).not.toEqual([])
})

test('a backup whose files are kept after its end was taken is found wanting', async () => {
  const keep: LoadOptions['keep'] = async (queue, pause) => {
    const early = await queue.pinFiles()
    early.release()
    await pause(100)
    return { ...(await queue.pinFiles()), journalEnd: early.journalEnd }
  }
  expect(await troublesUnder({ seed: 1, copyCount: 20, keep })).not.toEqual([])
})
