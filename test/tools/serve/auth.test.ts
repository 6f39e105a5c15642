/** Clients that log in at the relay, a separate process. */
import { appendFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { beforeEach, expect, test } from 'vitest'
import { parseArguments } from '../../../tools/commands/cli/command.js'
import { serve } from '../../../tools/commands/serve/serve.js'
import { usersOf } from '../../../tools/commands/tables/relay-files.js'
import { startedRelay } from '../../end-to-end/relay-process.js'
import { certificate, certPath, keyPath } from '../../relay/certificate.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

let directory: string
beforeEach(async () => {
  directory = await temporaryDirectory('serve-auth')
})

const withTls = ['--tls-cert', certPath, '--tls-key', keyPath]

async function usersFile(text: string): Promise<string> {
  const path = join(directory, 'users')
  await writeFile(path, text)
  return path
}

const lineFor = async (name: string, password: string): Promise<string> =>
  (await runWaybill(['password', name], { directory, input: `${password}\n` })).stdout

test.each([['yes'], ['no']])(
  'a user logs in and relays, and the log names the user, also after a wrong password; a thread: %s',
  async (word) => {
    const path = await usersFile(`# who\n${await lineFor('ada', 'p:w d')}`)
    // Nobody here is trusted, and nobody answers there.
    const strict = ['--trust', '192.0.2.1', '--relay', '127.0.0.1:9', '--smtp-thread', word]
    const relay = await startedRelay([
      '--queue',
      join(directory, 'queue'),
      ...strict,
      ...withTls,
      '--auth',
      path,
    ])
    const send = (pass: string): Promise<{ response: string }> =>
      createTransport({
        port: relay.endpoint.port,
        requireTLS: true,
        tls: { ca: certificate.cert },
        auth: { user: 'ada', pass },
      }).sendMail({ from: 's@example.org', to: 'r@example.net', text: 'x' })
    expect((await send('p:w d')).response).toMatch(/^250 2\.0\.0 /)
    await expect(send('wrong')).rejects.toMatchObject({ responseCode: 535 })
    await expect.poll(() => relay.log).toMatch(/"user":"ada"[^\n]*"msg":"accepted"/)
    await expect
      .poll(() => relay.log)
      .toMatch(/"address":"127\.0\.0\.1"[^\n]*"login":"ada"[^\n]*5\.7\.8[^\n]*"msg":"refused"/)
    expect(relay.log).not.toMatch(/p:w d|wrong"|scrypt/)
  },
)

test.each<[string, () => Promise<string[]>, RegExp]>([
  [
    'no certificate',
    async () => ['--auth', await usersFile(await lineFor('ada', 'x'))],
    /--auth needs --tls-cert and --tls-key/,
  ],
  ['no file', () => Promise.resolve([...withTls, '--auth', 'nowhere']), /--auth: ENOENT.*nowhere/],
  [
    'a password where its hash should be',
    async () => [...withTls, '--auth', await usersFile('# who\nada:secret\n')],
    /a user is a line NAME:HASH.*\/users, line 2/,
  ],
  ['no user', async () => [...withTls, '--auth', await usersFile('# nobody\n')], /there is no user/],
])('wrong options are refused before anything is opened: %s', async (_, args, says) => {
  const ended = await runWaybill(['serve', '--queue', join(directory, 'queue'), ...(await args())], {
    directory,
  })
  expect(ended).toMatchObject({ exitCode: 2, stderr: expect.stringMatching(says) as string })
  expect(ended.stderr).not.toMatch(/ada|secret/)
  expect(await readdir(directory)).not.toContain('queue')
})

test('the file of users may begin with a byte order mark', async () => {
  const path = await usersFile(`\ufeff${await lineFor('ada', 'p:w d')}`)
  const users = await usersOf(parseArguments(serve, [...withTls, '--auth', path]))
  expect([...users!.keys()]).toEqual(['ada'])
})

test('a file of users in Latin-1 is refused with its line, where letters would become others', async () => {
  const path = await usersFile(`# users\n${await lineFor('ada', 'x')}`)
  await appendFile(path, Buffer.from('jörg:', 'latin1'))
  await expect(usersOf(parseArguments(serve, [...withTls, '--auth', path]))).rejects.toThrow(
    `--auth: ${path}:3: the line is not UTF-8`,
  )
})
