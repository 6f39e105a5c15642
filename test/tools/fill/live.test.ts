import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import type { Queue } from '../../../src/index.js'
import { playDay } from '../../../tools/commands/fill/live.js'
import type { Surroundings } from '../../../tools/commands/text/output.js'
import { temporaryDirectory } from '../../temporary-directory.js'

test('a day is played to its end: mail is accepted, and the made-up sites answer it', async () => {
  const directory = await temporaryDirectory('live')
  let said = ''
  const surroundings: Surroundings = {
    write: (text) => Promise.resolve(void (said += text)),
    complain: () => undefined,
    nowMs: () => 0,
    isTerminal: false,
    complainsToTerminal: false,
    openDisk: nodeDisk,
    stopped: new AbortController().signal,
  }
  const shown: Queue[] = []
  const show = async (queue: Queue): Promise<void> => {
    shown.push(queue)
    // A day begins when it is seen.
    await new Promise<void>((resolve) => setTimeout(resolve, 1600))
  }
  await playDay(join(directory, 'queue'), { dayMs: 1500, peak: 60, seed: 1, show }, surroundings)
  expect(said).toMatch(
    /^24:00 of a busy day: \d[\d ]* messages? accepted; of recipients [1-9]\d* delivered, /,
  )
  expect(shown.map(({ isCrashed }) => isCrashed)).toEqual([true])
})
