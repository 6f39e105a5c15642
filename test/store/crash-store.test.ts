/** One round of all faults on three real servers: of the node that delivers, and of the database
 * under it. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { faults } from '../../tools/crash-store/faults.js'
import { postgresMissing } from '../../tools/crash-store/servers.js'

const missing = postgresMissing()
const program = fileURLToPath(new URL('../../dist/tools/crash-store.js', import.meta.url))

describe.skipIf(missing !== undefined)(`three servers${missing === undefined ? '' : `: ${missing}`}`, () => {
  test('what was accepted is delivered, once where only the database fails', async () => {
    // Where something is wrong it exits with an error, and its results say what.
    const { stdout } = await promisify(execFile)(process.execPath, [program, '--json']).catch(
      (error: { readonly stdout: string }) => error,
    )
    const results = JSON.parse(stdout) as { name: string; wrongs: string[]; acceptedCount: number }[]
    expect(results.map(({ name, wrongs }) => [name, wrongs])).toEqual(faults.map(({ name }) => [name, []]))
    for (const { acceptedCount } of results) expect(acceptedCount).toBeGreaterThan(0)
  })
})
