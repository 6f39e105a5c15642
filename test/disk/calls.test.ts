import { expect, test } from 'vitest'
import { Calls, type Answer } from '../../src/disk/calls.js'
import { NodeFile } from '../../src/disk/node-file.js'
import { refusal } from './fixture.js'

test('what an abandoned disk holds is released once, after the last call under way has answered', async () => {
  const calls = new Calls('/queue')
  const answers: Answer<number>[] = []
  const outcomes = [1, 2].map((at) =>
    refusal(calls.run<number>(`call ${at}`, 'a', (answer) => answers.push(answer))),
  )
  let released = 0
  calls.abandon(() => released++)
  calls.abandon(() => released++)
  answers[0]?.(null, 1)
  expect(released).toBe(0)
  answers[1]?.(null, 2)
  expect(released).toBe(1)
  expect(await Promise.all(outcomes)).toEqual(['QUEUE_CRASHED', 'QUEUE_CRASHED'])
})

test('an abandoned disk that has nothing under way is released at once', () => {
  let released = 0
  new Calls('/queue').abandon(() => released++)
  expect(released).toBe(1)
})

test('a call that could not begin is not under way: what is abandoned behind it is released', async () => {
  const calls = new Calls('/queue')
  const begin = (): void => {
    throw new TypeError('no bytes')
  }
  await expect(calls.run('write', 'a', begin)).rejects.toThrow('no bytes')
  let released = 0
  calls.abandon(() => released++)
  expect(released).toBe(1)
})

test('a call that the permission model of Node refuses before it begins is a call of the disk', async () => {
  const begin = (): void => {
    throw Object.assign(new Error('Access to this API has been restricted.'), { code: 'ERR_ACCESS_DENIED' })
  }
  await expect(new Calls('/queue').run('makeDirectory', '', begin)).rejects.toMatchObject({
    code: 'DISK_FAILED',
    message: expect.stringMatching(/permission model \(--permission\) forbids it \(path \/queue,/) as string,
  })
})

/** A disk that answers when told to. */
class HeldCalls extends Calls {
  readonly operations: string[] = []
  readonly answer: (() => void)[] = []

  override run<T>(operation: string): Promise<T> {
    this.operations.push(operation)
    return new Promise((resolve) => this.answer.push(() => resolve(1 as T)))
  }
}

test('a descriptor is not closed while a call that uses it is under way', async () => {
  const calls = new HeldCalls('/queue')
  const file = new NodeFile(calls, -1, 'a', false, () => undefined)
  const writing = file.write(Buffer.alloc(1), 0)
  const closing = file.close()
  await new Promise((resolve) => setImmediate(resolve))
  expect(calls.operations).toEqual(['write'])
  calls.answer[0]?.()
  await writing
  await new Promise((resolve) => setImmediate(resolve))
  expect(calls.operations).toEqual(['write', 'close'])
  calls.answer[1]?.()
  await closing
})
