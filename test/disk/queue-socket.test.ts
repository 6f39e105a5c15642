import { readdirSync, statSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  bindQueueSocket,
  connectQueueSocket,
  controlSocket,
  listeningSocket,
} from '../../src/disk/queue-socket.js'

let directory: string
let servers: Server[] = []
let sockets: Socket[] = []
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-control-'))
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
  servers = []
  sockets = []
  await rm(directory, { recursive: true, force: true })
})

async function bound(place = directory, as = controlSocket): Promise<Server> {
  const server = createServer((socket) => sockets.push(socket))
  await bindQueueSocket(server, place, as)
  servers.push(server)
  return server
}

/** Is somebody there? */
async function answers(place = directory): Promise<boolean> {
  const socket = await connectQueueSocket(place, controlSocket)
  if (socket !== undefined) sockets.push(socket)
  return socket !== undefined
}

test('the socket is for its owner alone, and nothing else is left beside it', async () => {
  await bound()
  expect((await stat(join(directory, 'control'))).mode & 0o777).toBe(0o600)
  expect(await readdir(directory)).toEqual(['control'])
})

test('at the moment in which it can first be connected to, others cannot, whatever the umask', async () => {
  const before = process.umask(0)
  const modes: [name: string, others: number][] = []
  try {
    const server = createServer()
    servers.push(server)
    // Bound and listening, and nothing else has been done yet.
    server.once('listening', () => {
      for (const name of readdirSync(directory))
        modes.push([name, statSync(join(directory, name)).mode & 0o077])
    })
    await bindQueueSocket(server, directory, controlSocket)
  } finally {
    process.umask(before)
  }
  expect(modes).toEqual([[expect.stringMatching(/^control\./), 0]])
})

test('two sockets in a directory leave each other alone; the one for mail is for everyone, whatever the umask', async () => {
  await mkdir(join(directory, 'listening.aB3xYz'))
  const before = process.umask(0o077)
  try {
    await bound()
    await bound(directory, listeningSocket)
  } finally {
    process.umask(before)
  }
  expect((await stat(join(directory, 'listening'))).mode & 0o777).toBe(0o666)
  expect((await readdir(directory)).sort()).toEqual(['control', 'listening'])
})

test('a socket that a dead process left refuses, and the next takes its place', async () => {
  const server = await bound()
  await new Promise((resolve) => server.close(resolve))
  expect(await readdir(directory)).toEqual(['control'])
  expect(await answers()).toBe(false)
  await bound()
  expect(await answers()).toBe(true)
})

test('what a crash left of making a socket is cleared away', async () => {
  await mkdir(join(directory, 'control.aB3xYz'))
  await writeFile(join(directory, 'control.aB3xYz', 'socket'), '')
  await writeFile(join(directory, 'control.notes'), 'mine')
  await bound()
  expect((await readdir(directory)).sort()).toEqual(['control', 'control.notes'])
})

test('where there is no socket, and where there is no directory, nobody answers', async () => {
  expect(await answers()).toBe(false)
  expect(await answers(join(directory, 'nowhere'))).toBe(false)
})

test('a file in its place is replaced', async () => {
  await writeFile(join(directory, 'control'), 'x')
  expect(await answers()).toBe(false)
  await bound()
  expect(await answers()).toBe(true)
})

test.each([98, 99, 100, 107, 108, 200])(
  'a directory whose path has %d bytes is no hindrance',
  async (bytes) => {
    const long = join(directory, 'x'.repeat(bytes - Buffer.byteLength(directory) - 1))
    await mkdir(long)
    await bound(long)
    expect(await readdir(long)).toEqual(['control'])
    expect(await answers(long)).toBe(true)
  },
)

test('a directory in which nothing can be made is refused with its code', async () => {
  await expect(
    bindQueueSocket(createServer(), join(directory, 'nowhere'), controlSocket),
  ).rejects.toMatchObject({
    code: 'DISK_FAILED',
    place: { errno: 'ENOENT' },
  })
  await mkdir(join(directory, 'control'))
  await chmod(join(directory, 'control'), 0o700)
  await expect(bindQueueSocket(createServer(), directory, controlSocket)).rejects.toMatchObject({
    code: 'DISK_FAILED',
  })
})
