/** One short round on three real servers: a node dies, and the database under a node fails over. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { postgresMissing } from '../../tools/crash-store/servers.js'

const missing = postgresMissing()
const program = fileURLToPath(new URL('../../dist/tools/crash-store.js', import.meta.url))
const chosen = ['owner killed', 'questions held', 'primary killed'].flatMap((name) => ['--only', name])

describe.skipIf(missing !== undefined)(`three servers${missing === undefined ? '' : `: ${missing}`}`, () => {
  test('what was accepted is delivered, once where only the database fails', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, ...chosen, '--json'])
    const results = JSON.parse(stdout) as { name: string; wrongs: string[]; acceptedCount: number }[]
    expect(results.map(({ name, wrongs }) => [name, wrongs])).toEqual([
      ['owner killed', []],
      ['questions held for 2.2 s, and delivered later', []],
      ['primary killed, standby promoted', []],
    ])
    for (const { acceptedCount } of results) expect(acceptedCount).toBeGreaterThan(0)
  })
})
