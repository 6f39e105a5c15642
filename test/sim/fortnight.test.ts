/** A fortnight of a relay: each recipient ends when the documents say (tools/fortnight/README.md).
 * `npm run fortnight > test/sim/fortnight.txt` renews its timeline. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { root } from '../tree/sources.js'

/** Less than a minute of a quiet processor. */
const timeoutMs = 1_800_000

test(
  'every recipient is delivered, bounced or expired when the documents say',
  async () => {
    const run = promisify(execFile)(process.execPath, ['dist/tools/fortnight.js'], { cwd: root })
    const { stdout, stderr } = await run
    expect(stderr).toBe('')
    await expect(stdout).toMatchFileSnapshot('fortnight.txt')
  },
  timeoutMs,
)
