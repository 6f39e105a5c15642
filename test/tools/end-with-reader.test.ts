/** The tools of the tree, behind a pipe whose reader has gone: `| head`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../temporary-directory.js'

const pathOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

test.each([
  ['dist/tools/crash.js', ['--seed', '5']],
  ['dist/tools/crash-real.js', ['--only', 'kill', '--cycles', '1']],
  ['dist/tools/conformance.js', [pathOf('test/conformance/nqmgr')]],
  ['dist/bench/run.js', ['checksum', '--smoke', '--directory', '.']],
])('%s ends quietly when nobody reads on, and leaves nothing', async (tool, args) => {
  const directory = await temporaryDirectory('pipe')
  const child = spawn(process.execPath, [pathOf(tool), ...args], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()))
  const [exitCode] = (await once(child, 'close')) as [number | null]
  expect({ exitCode, stderr, left: await readdir(directory) }).toEqual({ exitCode: 0, stderr: '', left: [] })
})
