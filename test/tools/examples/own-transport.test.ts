/** The example of a transport, and its crash test, which has to be able to fail. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const path = fileURLToPath(new URL('../../../tools/examples/own-transport-crash-test.mjs', import.meta.url))

const run = (environment: Readonly<Record<string, string>>): ReturnType<typeof spawnSync> =>
  spawnSync(process.execPath, [path], { env: { ...process.env, ...environment }, encoding: 'utf8' })

test('a transport that delivers what the other side has loses nothing in any crash', () => {
  const { status, stdout, stderr } = run({ SEEDS: '40' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/^40 runs, \d+ crashes$/m)
})

test('the crash test finds a transport that answers too early, and tells its seed', () => {
  const { status, stderr } = run({ SEEDS: '40', HASTY: 'yes' })
  expect(status).toBe(1)
  expect(stderr).toMatch(/^seed \d+: message \d was promised, and is kept 0 times$/m)
})
