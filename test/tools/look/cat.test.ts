/** One message, as cat shows it. */
import { expect, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { openQueue, type Submission } from '../../../src/index.js'
import { cat } from '../../../tools/commands/look/cat.js'
import { command, type Commanded } from '../../inspect/commanded.js'
import { frozenQueue } from '../../inspect/frozen-queue.js'
import { MemoryDisk } from '../../inspect/memory-disk.js'
import { temporaryDirectory } from '../../temporary-directory.js'

async function shown(data: Submission['data']): Promise<(...args: string[]) => Promise<string>> {
  const directory = await temporaryDirectory('cat')
  const route = () => ({ transport: 'none', nexthop: 'none' })
  const queue = await openQueue(directory, { transports: {}, route, deliver: false, segmentBytes: 2 ** 20 })
  const { id } = await queue.submit({ sender: 'ada@example.org', recipients: ['bob@example.net'], data })
  queue.crash()
  return async (...args) => {
    const words = ['--queue', directory, ...args, id]
    const { exitCode, stdout, stderr } = await command(cat, words, nodeDisk, Date.now())
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    return stdout
  }
}

test('the header goes to the first empty line, the body begins behind it', async () => {
  const say = await shown('Subject: x\r\nX-A:\tb\r\n\r\none\r\n\r\ntwo\x1b[2J')
  expect(await say('-h')).toBe('Subject: x\nX-A:    b\n')
  expect(await say('-b')).toBe('one\n\ntwo?[2J\n')
  expect(await say('-h', '-b')).toBe(
    '\n*** HEADER ***\nSubject: x\nX-A:    b\n\n*** BODY ***\none\n\ntwo?[2J\n',
  )
  expect(JSON.parse(await say('--json'))).toMatchObject({
    header: 'Subject: x\r\nX-A:\tb\r\n',
    body: 'one\r\n\r\ntwo\x1b[2J',
  })
})

test('of data that is kept elsewhere it is told where, with the header as with the body', async () => {
  const say = await shown({ ref: 'store/17' })
  const told = '\n*** DATA IS KEPT ELSEWHERE, AS store/17 ***\n'
  expect(await say('-h')).toBe(told)
  expect(await say('-b')).toBe(told)
  expect(await say()).toContain(told)
  expect(await say('-e')).not.toContain(told)
  expect(JSON.parse(await say('--json'))).toMatchObject({ data_ref: 'store/17' })
})

/** Of the frozen queue, without its journal. */
async function uncertainly(...args: string[]): Promise<Commanded> {
  const { files, directories, nowMs } = frozenQueue()
  const left = new Map([...files].filter(([path]) => !path.startsWith('journal/')))
  return command(cat, args, () => new MemoryDisk(left, directories), nowMs)
}

test('where damage took what would say that it was delivered, that is told, also to programs', async () => {
  const { exitCode, stdout } = await uncertainly('-e', '1KE7141Z8VP3VPKJ')
  expect(exitCode).toBe(1)
  expect(stdout).toContain('lane 2; damage took the record of its delivery\n')
  const json = await uncertainly('--json', '-e', '1KE7141Z8VP3VPKJ')
  expect(JSON.parse(json.stdout)).toMatchObject({ queue_id: '1KE7141Z8VP3VPKJ', uncertain: true })
})

test('a message that is not there ends it with 1, behind what is damaged', async () => {
  const { exitCode, stdout, stderr } = await uncertainly('NONE')
  expect([exitCode, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^damage: journal: the journal is missing.*\n.*\nwaybill cat: no message NONE /)
})
