/** The example of a campaign, a small one. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../temporary-directory.js'

const path = fileURLToPath(new URL('../../../tools/examples/campaign.mjs', import.meta.url))

test('a campaign waits for its time, a password reset passes it, and half of it is cancelled', async () => {
  const directory = await temporaryDirectory('campaign')
  const environment = { ...process.env, QUEUE: join(directory, 'queue'), COUNT: '500' }
  const run = () => promisify(execFile)(process.execPath, [path], { env: environment })
  expect((await run()).stdout).toMatch(
    /^500 wait, 1 sent, \d+\.\d MiB more memory\n250 cancelled, 0 missed\n250 left\n$/,
  )
  // Keys are known: nothing is submitted again, what was cancelled stays so.
  expect((await run()).stdout).toMatch(
    /^500 wait, 1 sent, \d+\.\d MiB more memory\n0 cancelled, 0 missed\n250 left\n$/,
  )
})
