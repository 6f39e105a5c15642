/** What a relay uses is the sum over its processes. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { treeUsage } from '../../bench/process-tree.js'

test('the processor time of a child that has ended counts as its parent’s', () => {
  const before = treeUsage(process.pid).cpuMs
  execFileSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 300_000);'])
  expect(treeUsage(process.pid).cpuMs - before).toBeGreaterThan(150)
})

test('the memory of a living child counts, and it is one process more', async () => {
  const before = treeUsage(process.pid)
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log("up")'])
  await once(child.stdout, 'data')
  const during = treeUsage(process.pid)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(during.processCount).toBe(before.processCount + 1)
  expect(during.rssBytes - before.rssBytes).toBeGreaterThan(10 * 1024 * 1024)
})

test('the first thread has what it worked itself, not what a child did', () => {
  const before = treeUsage(process.pid)
  execFileSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 300_000);'])
  const after = treeUsage(process.pid)
  const own = after.firstThreadCpuMs - before.firstThreadCpuMs
  expect(after.cpuMs - before.cpuMs - own).toBeGreaterThan(150)
})

test('a process that is not there is an error, not zero', () => {
  expect(() => treeUsage(2 ** 22)).toThrow('is gone')
})
