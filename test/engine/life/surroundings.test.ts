/** A queue in a worker thread, in a test whose timers are fake, in other realms and in a bundle.
 * Each runs in a separate process, with the build in dist/. */
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
function run(
  text: string,
  ...flags: string[]
): { readonly said: string; readonly end: number | string | null } {
  const { stdout, status, signal } = spawnSync(
    process.execPath,
    [...flags, '--input-type=module', '-e', text],
    {
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('../../..', import.meta.url)),
      timeout: 120_000,
    },
  )
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

test('a queue lives in a context of node:vm, as programs under Jest do', () => {
  const text = `
    import { readFileSync } from 'node:fs'
    import { createRequire } from 'node:module'
    import { fileURLToPath, pathToFileURL } from 'node:url'
    import vm from 'node:vm'
    const names = ['process', 'Buffer', 'console', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval',
      'setImmediate', 'clearImmediate', 'queueMicrotask', 'AbortController', 'AbortSignal', 'URL', 'performance',
      'structuredClone', 'TextDecoder', 'TextEncoder']
    const context = vm.createContext(Object.fromEntries(names.map((name) => [name, globalThis[name]])))
    const modules = new Map()
    const foreign = async (name) => {
      const path = name.startsWith('node:') ? name : pathToFileURL(createRequire('${built}').resolve(name)).href
      const exported = await import(path)
      const names = Object.keys(exported)
      return new vm.SyntheticModule(names, function () {
        for (const name of names) this.setExport(name, exported[name])
      }, { context })
    }
    const linked = async (name, from) => {
      const url = name.startsWith('.') ? new URL(name, from.identifier).href : name
      if (!modules.has(url)) modules.set(url, url.startsWith('file:') ? ours(url) : await foreign(name))
      return modules.get(url)
    }
    const ours = (url) => new vm.SourceTextModule(readFileSync(fileURLToPath(url), 'utf8'), {
      context,
      identifier: url,
      initializeImportMeta: (meta) => { meta.url = url },
      importModuleDynamically: async (name, from) => {
        const module = await linked(name, from)
        if (module.status === 'unlinked') await module.link(linked)
        await module.evaluate()
        return module
      },
    })
    const index = await linked('${built}', undefined)
    await index.link(linked)
    await index.evaluate()
    const { openQueue } = index.namespace
    const directory = ${JSON.stringify(directory)} + '/queue'
    ${exchange}
    console.log('delivered')`
  expect(run(text, '--experimental-vm-modules')).toEqual({ said: 'delivered\n', end: 0 })
})

test('what settles where Uint8Array is not that of Node, as in jsdom, is read by the next life', () => {
  const submitted = `
    import vm from 'node:vm'
    globalThis.Uint8Array = vm.runInNewContext('Uint8Array')
    const { openQueue } = await import('${built}')
    const queue = await openQueue(${JSON.stringify(directory)} + '/queue', {
      segmentBytes: 32768, laneSegmentBytes: 32768, freeBytesMin: 0, deliver: false,
      transports: { out: { deliver: () => ({ kind: 'delivered' }) } },
      route: () => ({ transport: 'out', nexthop: 'there' }),
    })
    const mail = { sender: 'ada@example.org', recipients: ['grace@example.net'] }
    const { Readable } = await import('node:stream')
    const kinds = ['a text', Buffer.from('a buffer'), Readable.from(['a stream'])]
    for (const data of kinds) await queue.submit({ ...mail, data })
    await queue.submit({ ...mail, data: 'a key', idempotencyKey: 'k' })
    await queue.submit({ ...mail, data: 'tags', tags: ['a'] })
    console.log('settled')`
  expect(run(submitted)).toEqual({ said: 'settled\n', end: 0 })
  const delivered = `
    import { openQueue } from '${built}'
    const got = []
    const queue = await openQueue(${JSON.stringify(directory)} + '/queue', {
      segmentBytes: 32768, laneSegmentBytes: 32768, freeBytesMin: 0,
      transports: { out: { deliver: async (request) => {
        got.push(String(await request.data()))
        return { kind: 'delivered' }
      } } },
      route: () => ({ transport: 'out', nexthop: 'there' }),
    })
    await queue.idle()
    console.log(got.sort().join())
    queue.crash()`
  expect(run(delivered)).toEqual({ said: 'a buffer,a key,a stream,a text,tags\n', end: 0 })
})

/** A module for both sides of a bundle: a message fails, and its sender gets the report. */
const reported = `
  const reports = []
  const deliver = async ({ recipients, data }) => {
    if (recipients[0] === 'gone@example.net') return { kind: 'failed', status: '5.1.1', reason: 'gone' }
    reports.push(String(await data()))
    return { kind: 'delivered' }
  }
  const queue = await openQueue(directory, {
    segmentBytes: 32768, laneSegmentBytes: 32768, freeBytesMin: 0,
    transports: { out: { deliver } },
    route: () => ({ transport: 'out', nexthop: 'there' }),
  })
  queue.on('warning', ({ message }) => console.log(message))
  await queue.submit({ sender: 'ada@example.org', recipients: ['gone@example.net'], data: 'Hello.' })
  await queue.idle()
  queue.crash()
  console.log(reports.length, reports[0]?.includes('Status: 5.1.1'))
  const inStore = openQueue('postgres://a@127.0.0.1/b?queue=c', {
    transports: { out: { deliver } },
    route: () => ({ transport: 'out', nexthop: 'there' }),
  })
  await inStore.catch(({ code, message }) => console.log(code, message))`

const withoutPg =
  "OPTION_INVALID a queue in a store needs the package 'pg': npm install pg, with --global if waybill is global (option store)"

/** One file, in a directory that has no packages, made where `pg` is not installed. */
async function bundled(format: 'cjs' | 'es'): Promise<string> {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({ input: fileURLToPath(built), platform: 'node', external: ['pg'] })
  const file = join(directory, format === 'cjs' ? 'bundle.cjs' : 'bundle.mjs')
  await bundle.write({ file, format, codeSplitting: false })
  await bundle.close()
  return file
}

test.each(['cjs', 'es'] as const)(
  'a bundle (%s) in one file needs no package beside it, for a report neither',
  async (format) => {
    const file = JSON.stringify(await bundled(format))
    const text = `
      import { createRequire } from 'node:module'
      const { openQueue } = ${format === 'cjs' ? `createRequire('${built}')(${file})` : `await import(${file})`}
      const directory = ${JSON.stringify(directory)} + '/queue'
      ${reported}`
    expect(run(text)).toEqual({ said: `1 true\n${withoutPg}\n`, end: 0 })
  },
)

test('a bundle asks the DNS without the package beside it', async () => {
  const file = JSON.stringify(await bundled('es'))
  const text = `
    import { createSocket } from 'node:dgram'
    const { mxTransport } = await import(${file})
    const server = createSocket('udp4')
    server.on('message', (question, { port }) => {
      // NXDOMAIN
      question[2] |= 0x80
      question[3] = 0x03
      server.send(question, port, '127.0.0.1')
    })
    await new Promise((resolve) => server.bind(0, '127.0.0.1', resolve))
    const transport = mxTransport({ dane: true, daneServers: ['127.0.0.1:' + server.address().port] })
    const request = { id: 'A', nexthop: 'example.net', recipients: ['a@example.net'] }
    const result = await transport.deliver(request, new AbortController().signal)
    console.log([result].flat()[0].reason)
    server.close()`
  expect(run(text)).toEqual({ said: 'there is no domain example.net\n', end: 0 })
})
