/** Programs that change their working directory while a queue opens, or later. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  maildirTransport,
  openQueue,
  pipeTransport,
  serveControl,
  type OpenOptions,
} from '../../../src/index.js'
import { submission } from '../stage.js'

const home = process.cwd()
let directory = ''

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'waybill-working-')))
  mkdirSync(join(directory, 'before'))
  mkdirSync(join(directory, 'after'))
  process.chdir(join(directory, 'before'))
})
afterEach(() => {
  process.chdir(home)
  rmSync(directory, { recursive: true, force: true })
})

const options = (transports: OpenOptions['transports']): OpenOptions => ({
  transports,
  route: () => ({ transport: 'out', nexthop: 'there' }),
  segmentBytes: 32_768,
  laneSegmentBytes: 32_768,
  freeBytesMin: 0,
})

test.each([{}, { history: { retentionMs: 86_400_000 } }])(
  'relative paths are those of the moment in which they were given, with %o',
  async (more) => {
    const out = maildirTransport({ directory: 'mail' })
    const opening = openQueue('queue', { ...options({ out }), ...more })
    process.chdir(join(directory, 'after'))
    const queue = await opening
    await queue.submit(submission())
    await queue.idle()
    await queue.backup({ to: join(directory, 'copy') })
    process.chdir(join(directory, 'before'))
    const serving = serveControl(queue, 'queue')
    process.chdir(join(directory, 'after'))
    const control = await serving
    control.close()
    queue.crash()
    expect(readdirSync('.')).toEqual([])
    expect(readdirSync('../before').sort()).toEqual(['mail', 'queue'])
    expect(readdirSync('../before/queue')).toContain('control')
  },
)

test('an agent works in the directory that was meant', async () => {
  mkdirSync('work')
  const out = pipeTransport({
    command: ['sh', '-c', 'touch here; read line; exit 1'],
    directory: 'work',
    allowsRoot: true,
    user: 'root',
  })
  process.chdir(join(directory, 'after'))
  const queue = await openQueue(join(directory, 'queue'), options({ out }))
  const tried = new Promise((resolve) => queue.on('deferred', resolve))
  await queue.submit(submission())
  await tried
  queue.crash()
  expect(readdirSync('../before/work')).toEqual(['here'])
})
