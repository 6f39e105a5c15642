/** Passwords that stand in the file of PGPASSFILE. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { filedPassword, passwordIn } from '../../src/store/postgres/filed-password.js'
import { PgConnection } from '../../src/store/postgres/pg-connection.js'
import { postgresMissing, Servers } from '../../tools/crash-store/servers.js'

const missing = postgresMissing()

/** A file with these lines, that PGPASSFILE names. */
async function passwordFile(text: string, mode = 0o600): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-pgpass-'))
  const path = join(directory, 'pgpass')
  await writeFile(path, text)
  await chmod(path, mode)
  vi.stubEnv('PGPASSFILE', path)
  vi.stubEnv('PGPASSWORD', undefined)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await rm(directory, { recursive: true })
  })
}

test.each([
  ['n2:*:*:*:second\nn1:5433:*:*:other port\n*:*:waybill:ada:first\n*:*:*:*:last', 'first'],
  ['n1:5432:waybill:ada:a \\: b\\\\', 'a : b\\'],
  ['# n1:5432:waybill:ada:remark\r\nn1:5432:waybill:ada:said\r\n', 'said'],
  ['n1:5432:waybill:ada:a:b', 'a:b'],
  ['n1:5432:waybill:ada:\nn1:5432:waybill\n\nn1:5432:waybill:adam:no', undefined],
  ['', undefined],
])('of the lines %j the password is %j', (text, password) => {
  expect(passwordIn(text, { host: 'n1', port: 5432, database: 'waybill', user: 'ada' })).toBe(password)
})

const login = { host: 'n1', port: 5432, database: 'waybill', user: 'ada' }

test('a line of localhost is for the sockets of this machine, too, where they are by default', () => {
  const at = (host: string): string | undefined => passwordIn('localhost:*:*:*:right', { ...login, host })
  expect(at('/var/run/postgresql')).toBe('right')
  expect(at('/tmp')).toBe('right')
  expect(at('/srv/other')).toBeUndefined()
})

test('a file that others may read is refused, and none is none', async () => {
  await passwordFile('*:*:*:*:secret\n', 0o640)
  await expect(filedPassword(login)).rejects.toThrow(/^others may read the password file .*: chmod 600 it/)
  vi.stubEnv('PGPASSFILE', '/nowhere/pgpass')
  expect(await filedPassword(login)).toBeUndefined()
})

describe.skipIf(missing !== undefined)(
  `at a server that asks for one${missing === undefined ? '' : `: ${missing}`}`,
  () => {
    let servers: Servers | undefined
    const urlOf = (secret: string): string =>
      servers!.url.replace(/\/\/[^@/]*@?/, `//ada${secret}@`).replace(/\?.*/, '')

    beforeAll(async () => {
      servers = await Servers.start(0)
      const [server] = servers.servers
      await servers.ask(server!, "CREATE ROLE ada LOGIN PASSWORD 'right'")
      const rules = join(server!.directory, 'pg_hba.conf')
      await writeFile(rules, `host all ada 127.0.0.1/32 scram-sha-256\n${await readFile(rules, 'utf8')}`)
      await servers.reload(server!)
    })
    afterAll(() => servers?.remove())

    const open = (url: string): Promise<PgConnection> =>
      PgConnection.open({ url, tag: 'test', deadlineMs: 5000, clock: systemClock })

    test('the file, the URL or the environment has it, and nothing is warned of', async () => {
      const warnings: string[] = []
      const hear = ({ message }: Error): void => void warnings.push(message)
      process.on('warning', hear)
      onTestFinished(() => void process.off('warning', hear))
      await passwordFile('*:*:*:ada:right\n')
      ;(await open(urlOf(''))).close()
      await passwordFile('*:*:*:ada:wrong\n')
      ;(await open(urlOf(':right'))).close()
      await expect(open(urlOf(''))).rejects.toThrow('password authentication failed')
      await passwordFile('*:*:*:ada:right\n', 0o644)
      await expect(open(urlOf(''))).rejects.toThrow('others may read the password file')
      await passwordFile('*:*:*:grace:right\n')
      await expect(open(urlOf(''))).rejects.toMatchObject({
        code: 'OPTION_INVALID',
        message: expect.stringMatching(
          /wants a password: .* has one for 127.0.0.1:\d+:postgres:ada/,
        ) as string,
      })
      vi.stubEnv('PGPASSWORD', 'right')
      ;(await open(urlOf(''))).close()
      await new Promise((resolve) => setImmediate(resolve))
      expect(warnings).toEqual([])
    })
  },
)
