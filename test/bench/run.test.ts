/** The list of benches is what is there. */
import { existsSync, readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { benches } from '../../bench/benches.js'
import { machine } from '../../bench/machine.js'
import { runProgram, type Ended } from '../tools/command-process.js'

const directory = fileURLToPath(new URL('../../bench/', import.meta.url))

test('every module of bench/ that runs is in the list, under its own name', async () => {
  const running: string[] = []
  const names = readdirSync(directory)
  // A bench of several parts has a folder of its name.
  const paths = names.flatMap((name) =>
    name.endsWith('.ts')
      ? [name]
      : existsSync(`${directory}${name}/${name}.ts`)
        ? [`${name}/${name}.ts`]
        : [],
  )
  for (const path of paths) {
    if (['run.ts', 'deferred-child.ts'].includes(path)) continue
    const module = (await import(`../../bench/${path}`)) as Record<string, unknown>
    if (typeof module['run'] === 'function') running.push(basename(path, '.ts'))
  }
  expect(running.sort()).toEqual(Object.keys(benches).sort())
})

test('the machine says what a figure depends on, and not what it is called', () => {
  const facts = machine(directory)
  const missing = ['cpu', 'cores', 'kernel', 'node', 'fileSystem', 'disk', 'packages'].filter(
    (name) => !facts[name],
  )
  expect(missing).toEqual([])
  expect(facts['packages']).toMatch(/waybill \d+\.\d+\.\d+.*msgpackr \d+/)
  expect(facts).not.toHaveProperty('hostname')
})

test('a wrong option, a bench that is not there, and --help get an answer without a stack', async () => {
  const run = (...args: string[]): Promise<Ended> =>
    runProgram(
      process.execPath,
      [fileURLToPath(new URL('../../dist/bench/run.js', import.meta.url)), ...args],
      {
        directory,
      },
    )
  const wrong = await run('--sav')
  expect(wrong.exitCode).toBe(2)
  expect(wrong.stderr).toMatch(/^Unknown option '--sav'.*\n$/)
  const unknown = await run('nothing')
  expect(unknown.exitCode).toBe(2)
  expect(unknown.stderr).toMatch(/^there is no bench 'nothing'.*\n$/)
  const asked = await run('lives', '--help')
  expect(asked.exitCode).toBe(0)
  expect(asked.stdout).toMatch(/^sustained /m)
})
