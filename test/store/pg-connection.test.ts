/** What a connection makes of its URL, and of what a server says beside its answer. */
import { expect, test, vi, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { pgStore } from '../../src/store/open-store.js'
import { PgConnection } from '../../src/store/postgres/pg-connection.js'
import { certificate } from '../relay/certificate.js'
import { closedPort, refusingServer, silentServer, toldServer, type NoticeFields } from './told-server.js'

async function connected(port: number, parameters = ''): Promise<PgConnection> {
  const url = `postgres://ada@127.0.0.1:${port}/waybill${parameters}`
  const connection = await PgConnection.open({ url, tag: 'waybill 1', deadlineMs: 5000, clock: systemClock })
  onTestFinished(() => connection.close())
  return connection
}

async function answerBeside(notice: NoticeFields): Promise<string> {
  const { port } = await toldServer(notice)
  const connection = await connected(port)
  return (await connection.ask({ text: 'UPDATE 1' })).kind
}

const cancelled = { C: '01000', M: 'canceling wait', R: 'SyncRepWaitForLSN' }

test.each([
  ['in English', { S: 'WARNING', V: 'WARNING', ...cancelled }],
  ['in German', { S: 'WARNUNG', V: 'WARNING', ...cancelled }],
  ['in Japanese', { S: '警告', V: 'WARNING', ...cancelled }],
  ['and ends the connection', { S: 'WARNUNG', V: 'WARNING', ...cancelled, C: '57P01' }],
])('a commit is not trusted when the server warns %s', async (_, notice) => {
  expect(await answerBeside(notice)).toBe('unknown')
})

test.each([
  ['a remark', { S: 'HINWEIS', V: 'NOTICE', C: '00000', M: 'table does not exist, skipping', R: 'x' }],
  ['a warning that ids run out', { S: 'WARNING', C: '01000', M: 'vacuum', R: 'GetNewTransactionId' }],
])('%s says nothing against a commit', async (_, notice) => {
  expect(await answerBeside(notice)).toBe('done')
})

test('settings of the URL come before ours, which a server takes last', async () => {
  const { port, greetings } = await toldServer()
  await connected(port, '?options=-c%20synchronous_commit%3Doff%20-c%20work_mem%3D8MB')
  const [greeting] = greetings
  expect(greeting?.get('application_name')).toBe('waybill 1')
  expect(greeting?.get('options')).toMatch(
    /^-c synchronous_commit=off -c work_mem=8MB -c default_transaction_isolation=read\\ committed .*-c synchronous_commit=on /,
  )
})

test.each(['?sslmode=verify-full', '?sslmode=verify-full&sslrootcert=/not/there'])(
  'a certificate authority that cannot be read is named: %s',
  async (parameters) => {
    vi.stubEnv('PGSSLROOTCERT', '/not/there')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { port } = await toldServer()
    await expect(connected(port, parameters)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('/not/there') as string,
    })
  },
)

test('certificates of the environment are for connections with TLS', async () => {
  vi.stubEnv('PGSSLROOTCERT', '/not/there')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { port } = await toldServer()
  const connection = await connected(port, '?sslmode=disable')
  expect((await connection.ask({ text: 'UPDATE 1' })).kind).toBe('done')
})

test('a pooler that refuses the settings of a connection is named, and not asked again', async () => {
  const refused = { S: 'FATAL', V: 'FATAL', C: '08P01', M: 'unsupported startup parameter: options' }
  const port = await refusingServer(refused)
  await expect(connected(port)).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringContaining('a pooler such as pgbouncer') as string,
  })
})

test.each([
  ['that takes the settings', 'yes', 'done'],
  ['behind a pooler that drops them', null, 'refused'],
])('a store is reached on a connection %s', async (_, direct, kind) => {
  const { port } = await toldServer(undefined, ['f', '000000010000000000000001', direct])
  const answer = await pgStore(`postgres://ada@127.0.0.1:${port}/waybill`).connectAny(undefined)
  if (answer.kind === 'done') answer.value.connection.close()
  expect(answer).toMatchObject(
    kind === 'done' ? { kind } : { kind, refusal: { error: { code: 'OPTION_INVALID' } } },
  )
})

test('the limit of a transaction is lifted by a question, because PostgreSQL 15 and 16 do not know it', async () => {
  const { port, greetings, questions } = await toldServer(undefined, ['f', '000000010000000000000001', 'yes'])
  const answer = await pgStore(`postgres://ada@127.0.0.1:${port}/waybill`).connectAny(undefined)
  if (answer.kind === 'done') answer.value.connection.close()
  expect(greetings[0]?.get('options')).not.toContain('transaction_timeout')
  expect(questions[0]).toContain("FROM pg_settings WHERE name = 'transaction_timeout'")
})

test('a server without TLS is not asked again', async () => {
  const port = await refusingServer('no TLS')
  await expect(connected(port, '?sslmode=verify-full')).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringContaining('does not support SSL') as string,
  })
})

test('a certificate that is not accepted is named, and the server not asked again', async () => {
  const port = await refusingServer(certificate)
  await expect(connected(port, '?sslmode=verify-full')).rejects.toMatchObject({
    code: 'OPTION_INVALID',
    message: expect.stringContaining(`the certificate of 127.0.0.1:${port} is not accepted`) as string,
  })
})

const storeAt = (ports: readonly number[], parameters = ''): ReturnType<typeof pgStore> =>
  pgStore(`postgres://ada@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/waybill${parameters}`)

test('one of several servers whose certificate is not accepted is no reason to ask no more', async () => {
  const untrusted = await refusingServer(certificate)
  const absent = await closedPort()
  const answer = await storeAt([untrusted, absent], '?sslmode=verify-full').connectAny(undefined)
  expect(answer).toMatchObject({ kind: 'unknown', error: { code: 'STORE_UNREACHABLE' } })
  const { message } = (answer as { readonly error: Error }).error
  expect(message).toContain(`127.0.0.1:${untrusted}: the certificate of`)
  expect(message).toContain(`127.0.0.1:${absent}: connect ECONNREFUSED`)
})

test('servers that all refuse are not asked again', async () => {
  const untrusted = await refusingServer(certificate)
  const answer = await storeAt(
    [untrusted, await refusingServer('no TLS')],
    '?sslmode=verify-full',
  ).connectAny(undefined)
  expect(answer).toMatchObject({ kind: 'refused', refusal: { error: { code: 'OPTION_INVALID' } } })
})

test('a standby that is alone is named', async () => {
  const standby = await toldServer(undefined, ['t', null, 'yes'])
  const store = storeAt([standby.port])
  expect(await store.connectAny(undefined)).toMatchObject({
    error: { message: `no server of the store takes changes (127.0.0.1:${standby.port}: a standby)` },
  })
})

test('a server that is silent does not outlive the choice of another one', async () => {
  const silent = await silentServer()
  const primary = await toldServer(undefined, ['f', '000000010000000000000001', 'yes'])
  const answer = await storeAt([silent.port, primary.port]).connectAny(undefined)
  expect(answer.kind).toBe('done')
  if (answer.kind === 'done') answer.value.connection.close()
  await silent.left
})
