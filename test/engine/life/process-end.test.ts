/** When a process that has a queue open ends by itself: when neither mail nor a checkpoint
 * waits for its time. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { project } from '../../project.js'

/** Runs to its own end. */
function run(program: string): { readonly stdout: string; readonly status: number | null } {
  const directory = project()
  writeFileSync(
    join(directory, 'main.js'),
    `import { fixedRetry, openQueue } from 'waybill'
     const small = { segmentBytes: 2 ** 20, laneSegmentBytes: 2 ** 20, retry: fixedRetry([300]) }
     const route = () => ({ transport: 'print', nexthop: 'x' })
     const message = { sender: 'a@example.org', recipients: ['b@example.org'], data: 'x' }
     const deferOnce = ({ attempts }) => {
       console.log('attempt', attempts)
       return attempts === 0 ? { kind: 'deferred', status: '4.2.1', reason: 'later' } : { kind: 'delivered' }
     }
     const open = (options) => openQueue('./queue', { ...small, route, transports: { print: { deliver: deferOnce } }, ...options })
     ${program}`,
  )
  const { stdout, status } = spawnSync(process.execPath, ['main.js'], {
    cwd: directory,
    encoding: 'utf8',
    timeout: 120_000,
  })
  return { stdout, status }
}

test('mail that is to be tried again keeps the process alive until it is delivered, and no longer', () => {
  const ended = run('await (await open()).submit(message)')
  expect(ended).toEqual({ stdout: 'attempt 0\nattempt 1\n', status: 0 })
})

test('a queue without mail keeps no process alive', () => {
  expect(run('await open()')).toEqual({ stdout: '', status: 0 })
})

test('a queue that only accepts keeps no process alive for what it has accepted', () => {
  expect(run('await (await open({ deliver: false })).submit(message)')).toEqual({ stdout: '', status: 0 })
})

test.for(['hold', 'delete'] as const)(
  'mail that waited for an hour and is taken away by %s keeps no process alive',
  (verb) => {
    const ended = run(`const queue = await open({ retry: fixedRetry([3_600_000]) })
      const take = async () => console.log((await queue.${verb}({ all: true })).messageCount)
      queue.once('requeued', () => setTimeout(take, 0))
      await queue.submit(message)`)
    expect(ended).toEqual({ stdout: 'attempt 0\n1\n', status: 0 })
  },
)

test('behind a crash neither a flush that waits for its pace nor a retry in a minute keeps the process', () => {
  const ended = run(`const policy = { ...fixedRetry([3_600_000]), decide: () => { throw new Error('none') } }
    const queue = await open({ retry: policy })
    const warned = new Promise((resolve) => queue.once('warning', resolve))
    await queue.submit(message)
    await warned
    queue.crash()
    const next = await open({ retry: fixedRetry([3_600_000]) })
    await new Promise((resolve) => next.once('requeued', resolve))
    for (let i = 0; i < 2; i++) {
      const requeued = new Promise((resolve) => next.once('requeued', resolve))
      await next.submit(message)
      await requeued
    }
    next.flush({ all: true }, { perSecond: 0.01 }).catch(({ code }) => console.log(code))
    setTimeout(() => next.crash(), 300)`)
  expect(ended.status).toBe(0)
  expect(ended.stdout).toContain('QUEUE_CRASHED')
})

test('a process ends at once behind the crash of its queue', () => {
  const ended = run(`const queue = await open({ retry: fixedRetry([3_600_000]) })
    queue.on('requeued', () => queue.crash())
    await queue.submit(message)`)
  expect(ended).toEqual({ stdout: 'attempt 0\n', status: 0 })
})
