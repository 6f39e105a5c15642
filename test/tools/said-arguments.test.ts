/** Wrong arguments of the project's tools. A crash hunt must not hunt something else, and say that
 * all is well. */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../project.js'
import { runProgram } from './command-process.js'

test.each([
  [['--seed', 'x'], '--seed is no whole number of at least 0'],
  [['--seed', '1.5'], '--seed is no whole number of at least 0'],
  [['--seed', ''], '--seed is no whole number of at least 0'],
  [['--seeds', '0'], '--seeds is no whole number of at least 1'],
  [['--minutes', 'x'], '--minutes is no number of at least 0'],
  [['--torture', '--seed', '5', '--minutes', '1'], '--seed runs one again: no --minutes goes with it'],
  [['--seed', '5', '--from', '1'], '--seed runs one again: no --from goes with it'],
  [['--op', '3'], '--op goes with --seed'],
  [['--seed', '5', '--op', 'x'], '--op is no whole number of at least 0'],
  [['--seed', '5', '--only', '0,x'], '--only is whole numbers with commas between them'],
  [['--disk', 'x'], '--disk is one of file system, fresh segments, store'],
  [['--seconds', '1'], "Unknown option '--seconds'"],
])('%j is refused', async (args, problem) => {
  const tool = join(root, 'dist/tools/crash.js')
  const { exitCode, stdout, stderr } = await runProgram(process.execPath, [tool, ...args], {
    directory: tmpdir(),
  })
  const [first = '', , usage = ''] = stderr.split('\n')
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(first).toContain(problem)
  expect(usage).toMatch(/^npm run crash -- /)
})

test.each(['--nosuch', 'src/ERRORS.md'])('the writer of pages refuses %s', async (arg) => {
  const tool = join(root, 'dist/tools/pages.js')
  const { exitCode, stdout, stderr } = await runProgram(process.execPath, [tool, arg], {
    directory: tmpdir(),
  })
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(stderr).toContain('usage: npm run pages')
})
