/** The event loop is never blocked by I/O: the engine makes no synchronous call of
 * node:fs once it runs. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { engine } from '../../bench/contenders/engine.js'
import { produced } from '../../bench/contenders/produced.js'

type Functions = Record<string, (...args: unknown[]) => unknown>

const functions = fs as unknown as Functions
const originals: Functions = {}
let calls: string[] = []
let directory: string

beforeEach(() => {
  directory = fs.mkdtempSync(join(tmpdir(), 'waybill-bench-test-'))
  for (const name of Object.keys(functions).filter((key) => key.endsWith('Sync'))) {
    const original = functions[name]!
    originals[name] = original
    functions[name] = (...args) => {
      calls.push(name)
      return original(...args)
    }
  }
  syncBuiltinESMExports()
  calls = []
})

afterEach(() => {
  Object.assign(functions, originals)
  syncBuiltinESMExports()
  fs.rmSync(directory, { recursive: true, force: true })
})

test('a synchronous call is noticed', () => {
  fs.existsSync(directory)
  expect(calls).toEqual(['existsSync'])
})

test('lives of messages, for longer than a checkpoint takes to come, make no synchronous call of node:fs', async () => {
  const options = {
    directory,
    messageBytes: 100_000,
    recipientCount: 1,
    workload: 'Q' as const,
    domainCount: 500,
    deferredOneIn: 0,
    backlogCount: 50,
  }
  const store = await engine(options)
  calls = []
  const slice = await produced(store, directory).slice(20, 2500)
  await store.close()
  expect(slice.messageCount).toBeGreaterThan(20)
  expect(calls).toEqual([])
})
