/** The HTTP API of a relay, from a separate process. */
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newToken, tokenLine } from '../../../src/http/wire/tokens.js'
import { type RelayProcess, startedRelay } from '../../end-to-end/relay-process.js'
import { certPath, keyPath } from '../../relay/certificate.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

async function temporary(): Promise<string> {
  const directory = await temporaryDirectory('serve-http')
  return directory
}

async function served(directory: string, ...args: string[]): Promise<RelayProcess> {
  const relay = await startedRelay([
    '--queue',
    join(directory, 'queue'),
    '--maildir',
    join(directory, 'maildir'),
    ...args,
  ])
  return relay
}

const urlIn = ({ output }: RelayProcess): string => /^http on (\S+)$/m.exec(output)![1]!

test('mail over HTTP is delivered and logged, and the day is there again after a restart', async () => {
  const directory = await temporary()
  const relay = await served(directory, '--http', '0')
  const path = join(directory, 'queue', 'http-token')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const headers = { authorization: `Bearer ${(await readFile(path, 'utf8')).trim()}` }
  const totals = async (): Promise<number> => {
    const figures = await (await fetch(`${urlIn(relay)}/queue`, { headers })).json()
    return (figures as { totals: { delivered: number } }).totals.delivered
  }
  const sent = await fetch(`${urlIn(relay)}/messages?sender=&recipient=ada@example.net`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'message/rfc822' },
    body: 'Subject: x\r\n\r\nx\r\n',
  })
  const { id } = (await sent.json()) as { id: string }
  await expect
    .poll(() => relay.log)
    .toContain(`"id":"${id}","client":{"address":"127.0.0.1","token":"owner"}`)
  await expect.poll(totals).toBe(1)
  const verified = await (await fetch(`${urlIn(relay)}/log/verify`, { headers })).json()
  expect(verified).toMatchObject({ isSound: true, findings: [] })
  // A second is counted.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  await relay.kill('SIGTERM')
  await relay.start()
  const day = await (await fetch(`${urlIn(relay)}/rates?span=day`, { headers })).json()
  const counts = (day as { delivered: (number | null)[] }).delivered.slice(-3)
  expect(counts.reduce((sum: number, count) => sum + (count ?? 0), 0)).toBe(1)
  expect(await totals()).toBe(0)
})

test('tokens are read again at a reload', async () => {
  const directory = await temporary()
  const tokens = join(directory, 'tokens')
  const line = (text: string): string =>
    tokenLine(text, { name: 'a', scopes: ['read'], expiresAt: undefined })
  const [one, two] = [newToken(), newToken()]
  await writeFile(tokens, line(one))
  const relay = await served(directory, '--http', '0', '--http-tokens', tokens)
  expect(relay.log).toContain('every user of this machine may read this secret')
  const statusOf = async (token: string): Promise<number> =>
    (await fetch(`${urlIn(relay)}/queue`, { headers: { authorization: `Bearer ${token}` } })).status
  expect([await statusOf(one), await statusOf(two)]).toEqual([200, 401])
  await writeFile(tokens, line(two))
  await runWaybill(['reload', '--queue', join(directory, 'queue')], { directory })
  expect([await statusOf(one), await statusOf(two)]).toEqual([401, 200])
  await writeFile(tokens, 'nonsense')
  expect(await runWaybill(['reload', '--queue', join(directory, 'queue')], { directory })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('line 1') as string,
  })
  expect(await statusOf(two)).toBe(200)
})

test('it answers over TLS, with its own certificate on this machine, too', async () => {
  const directory = await temporary()
  const relay = await served(directory, '--http', '0', '--http-tls-cert', certPath, '--http-tls-key', keyPath)
  const url = urlIn(relay)
  expect(url).toMatch(/^https:/)
  const ca = await readFile(certPath)
  const status = await new Promise((resolve, reject) => {
    request(`${url}/openapi.json`, { ca, servername: 'localhost' }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
  expect(status).toBe(200)
})

test('what would send tokens in plaintext, or show them, is refused before anything is made', async () => {
  const directory = await temporary()
  const serve = (...args: string[]): ReturnType<typeof runWaybill> =>
    runWaybill(['serve', '--queue', join(directory, 'queue'), '--listen', '127.0.0.1:0', ...args], {
      directory,
    })
  const own = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')
  for (const host of ['0.0.0.0', ...(own === undefined ? [] : [own.address])]) {
    const plain = await serve('--http', `${host}:0`)
    expect(plain).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--http-tls-cert') as string })
    const open = await serve('--http', `${host}:0`, '--tls-cert', certPath, '--tls-key', keyPath)
    expect(open).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--http-tokens') as string })
  }
  const relay = await served(directory, '--http', '0')
  await relay.kill()
  await chmod(join(directory, 'queue', 'http-token'), 0o644)
  const shown = await serve('--http', '0')
  expect(shown.stderr).toContain('others may read it')
  expect(shown.exitCode).toBe(2)
})
