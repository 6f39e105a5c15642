/** The list of benches is what is there. */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { benches } from '../../bench/benches.js'
import { machine } from '../../bench/machine.js'

const directory = fileURLToPath(new URL('../../bench/', import.meta.url))

test('every module of bench/ that runs is in the list, under its own name', async () => {
  const running: string[] = []
  for (const name of readdirSync(directory)) {
    if (!name.endsWith('.ts') || ['run.ts', 'deferred-child.ts'].includes(name)) continue
    const module = (await import(`../../bench/${name}`)) as Record<string, unknown>
    if (typeof module['run'] === 'function') running.push(name.replace(/\.ts$/, ''))
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
