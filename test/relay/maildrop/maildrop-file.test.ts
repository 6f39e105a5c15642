/** Messages that programs leave in a queue's directory. */
import { chmod, link, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  dropMail,
  droppedCount,
  idOfName,
  makeMaildrop,
  readDropped,
  type DroppedMail,
} from '../../../src/relay/maildrop/maildrop-file.js'

let queue: string
beforeEach(async () => {
  queue = await mkdtemp(join(tmpdir(), 'waybill-maildrop-'))
  await makeMaildrop(queue)
})
afterEach(() => rm(queue, { recursive: true, force: true }))

const mail: DroppedMail = {
  sender: 'a@example.org',
  recipients: ['b@example.net', 'ü@example.net'],
  dsn: { notify: 'never' },
  data: Buffer.from('Subject: x\n\n{"not": "a head"}\n\xff', 'latin1'),
}
const inMaildrop = (name: string): string => join(queue, 'maildrop', name)

test('a message comes out as it was left, with its user, under the id that its name begins with', async () => {
  const id = await dropMail(queue, mail)
  const [name] = await readdir(inMaildrop(''))
  expect(idOfName(name!)).toBe(id)
  expect(await readDropped(inMaildrop(name!), 1000)).toMatchObject({ ...mail, uid: process.geteuid!() })
})

test('the directory is open to all who leave something, and to nobody who looks; no umask changes that', async () => {
  const before = process.umask(0o077)
  try {
    await makeMaildrop(queue)
    await dropMail(queue, mail)
  } finally {
    process.umask(before)
  }
  const [name] = await readdir(inMaildrop(''))
  expect((await stat(inMaildrop(''))).mode & 0o7777).toBe(0o1733)
  expect((await stat(inMaildrop(name!))).mode & 0o7777).toBe(0o744)
  expect(name).toMatch(/\.[0-9a-f]{32}\.mail$/)
})

test('a message that is not complete is none yet', async () => {
  await dropMail(queue, mail)
  const [name] = await readdir(inMaildrop(''))
  await chmod(inMaildrop(name!), 0o644)
  expect(await readDropped(inMaildrop(name!), 1000)).toBeUndefined()
})

test('the count of waiting messages is of complete ones, and not of what a killed sendmail left', async () => {
  await dropMail(queue, mail)
  const [name] = await readdir(inMaildrop(''))
  await chmod(inMaildrop(name!), 0o600)
  expect(await droppedCount(queue)).toBe(0)
  await dropMail(queue, mail)
  expect(await droppedCount(queue)).toBe(1)
  expect(await droppedCount(inMaildrop('none'))).toBe(0)
})

test('of a message that is too large its length is told', async () => {
  await dropMail(queue, mail)
  const [name] = await readdir(inMaildrop(''))
  expect(await readDropped(inMaildrop(name!), 5)).toMatchObject({ dataBytes: mail.data.length })
})

test.each([
  ['a link to another file', (path: string) => symlink('/etc/hostname', path)],
  ['text', (path: string) => writeFile(path, 'Subject: x\n\n', { mode: 0o744 })],
  ['nothing', (path: string) => writeFile(path, '', { mode: 0o744 })],
  ['a head that lacks the recipients', (path: string) => writeFile(path, '{"version":1}\n', { mode: 0o744 })],
])('what another program has put there is refused: %s', async (_, put) => {
  await put(inMaildrop('x'))
  await expect(readDropped(inMaildrop('x'), 1000)).rejects.toMatchObject({ code: 'NOT_A_QUEUE' })
})

test('a file that has a second name is refused: its owner may still write to it by that', async () => {
  await dropMail(queue, mail)
  const [name] = await readdir(inMaildrop(''))
  await link(inMaildrop(name!), join(queue, 'second'))
  await expect(readDropped(inMaildrop(name!), 1000)).rejects.toMatchObject({ code: 'NOT_A_QUEUE' })
})

test('where there is no maildrop nothing is left behind', async () => {
  await rm(inMaildrop(''), { recursive: true })
  await expect(dropMail(queue, mail)).rejects.toMatchObject({ code: 'DISK_FAILED' })
})
