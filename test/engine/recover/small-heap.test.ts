/** Active mail with many recipients fits a small heap, in the life that accepts it and in the one
 * that recovers it. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { project } from '../../project.js'

/** Kept whole, the addresses of these messages take more than this heap. */
const heapMebibytes = 128
const messageCount = 2500

const program = `
  import { fixedRetry, openQueue } from 'waybill'
  const deliver = ({ nexthop }) => (nexthop === 'slow.example' ? new Promise(() => {}) : { kind: 'delivered' })
  const queue = await openQueue('queue', {
    transports: { it: { deliver } },
    route: (address) => ({ transport: 'it', nexthop: address.split('@')[1] }),
    retry: fixedRetry([3600000]),
  })
  const recipientsOf = (message) =>
    Array.from({ length: 1000 }, (_, i) => 'some.user.name.' + message + '.' + i + '@slow.example')
  const submit = (recipients) => queue.submit({ sender: 'a@example.org', recipients, data: 'x' })
  if (process.argv[2] === 'fill')
    for (let i = 0; i < ${messageCount}; i += 10)
      await Promise.all(Array.from({ length: 10 }, (_, j) => submit(recipientsOf(i + j))))
  const delivered = new Promise((resolve) => queue.once('delivered', resolve))
  await submit(['b@good.example'])
  await delivered
  process.stdout.write('all active: ' + (queue.stats().activeCount >= ${messageCount}))
  process.exit(0)`

test('two lives, one of them a recovery, go on with 2.5 million recipients in 128 MiB', () => {
  const directory = project()
  writeFileSync(join(directory, 'main.js'), program)
  const life = (...args: string[]): object => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [`--max-old-space-size=${heapMebibytes}`, 'main.js', ...args],
      { cwd: directory, encoding: 'utf8' },
    )
    return { stdout, status, isOutOfMemory: stderr.includes('heap out of memory') }
  }
  const alive = { stdout: 'all active: true', status: 0, isOutOfMemory: false }
  expect(life('fill')).toEqual(alive)
  expect(life()).toEqual(alive)
})
