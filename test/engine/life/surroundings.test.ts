/** A queue in a worker thread, and in a test whose timers are fake. Each runs in a separate
 * process, with the build in dist/. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const built = new URL('../../../dist/src/index.js', import.meta.url).href
let directory = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'waybill-surroundings-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** One mail in, one mail out, in text for a module. */
const exchange = `
  const queue = await openQueue(directory, {
    segmentBytes: 32768, laneSegmentBytes: 32768, freeBytesMin: 0,
    transports: { out: { deliver: () => ({ kind: 'delivered' }) } },
    route: () => ({ transport: 'out', nexthop: 'there' }),
  })
  await queue.submit({ sender: 'ada@example.org', recipients: ['grace@example.net'], data: 'Hello.' })
  await queue.idle()
  queue.crash()`

/** Runs a module. @returns what it wrote, and how it ended */
function run(text: string): { readonly said: string; readonly end: number | string | null } {
  const { stdout, status, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', text], {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    timeout: 120_000,
  })
  return { said: stdout, end: signal ?? status }
}

test('a queue lives in a worker thread, and then in the main thread, in the same directory', () => {
  const inWorker = `
    const { workerData: directory, parentPort } = require('node:worker_threads')
    import('${built}').then(async ({ openQueue }) => { ${exchange}; parentPort.postMessage('delivered') })`
  expect(
    run(`
      import { Worker } from 'node:worker_threads'
      import { openQueue } from '${built}'
      const directory = ${JSON.stringify(directory)} + '/queue'
      const worker = new Worker(${JSON.stringify(inWorker)}, { eval: true, execArgv: [], workerData: directory })
      worker.on('message', (said) => console.log(said))
      await new Promise((resolve) => worker.on('exit', resolve))
      ${exchange}
      console.log('and again')`),
  ).toEqual({ said: 'delivered\nand again\n', end: 0 })
})

test('a queue that was loaded before timers are fake works all the same', () => {
  expect(
    run(`
      import { mock } from 'node:test'
      import { openQueue } from '${built}'
      mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'] })
      const directory = ${JSON.stringify(directory)} + '/queue'
      ${exchange}
      console.log('delivered')`),
  ).toEqual({ said: 'delivered\n', end: 0 })
})
