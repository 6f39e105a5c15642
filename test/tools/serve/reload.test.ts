/** Files that a relay takes up while it runs, by SIGHUP and by `waybill reload`. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createTransport } from 'nodemailer'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { RelayProcess, waybillPath } from '../../end-to-end/relay-process.js'
import {
  certPath,
  endless,
  expiredCertPath,
  keyPath,
  renewed,
  renewedCertPath,
  renewedKeyPath,
  shownName,
} from '../../relay/certificate.js'
import { greetedClient, sendOne } from '../../relay/raw-client.js'
import { encrypted } from '../../relay/smtp-in/smtp-in-fixture.js'
import { runWaybill, type Ended } from '../command-process.js'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-reload-'))
  await copyFile(certPath, at('cert.pem'))
  await copyFile(keyPath, at('key.pem'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
})

const at = (name: string): string => join(directory, name)
const write = (name: string, text: string): Promise<void> => writeFile(at(name), text)
const withTls = (): string[] => ['--tls-cert', at('cert.pem'), '--tls-key', at('key.pem')]
/** Nobody answers there. */
const nowhere = ['--relay', '127.0.0.1:9']

async function renewCertificate(): Promise<void> {
  await copyFile(renewedCertPath, at('cert.pem'))
  await copyFile(renewedKeyPath, at('key.pem'))
}

function served(...args: string[]): RelayProcess {
  const relay = new RelayProcess(['--queue', at('queue'), ...args])
  onTestFinished(() => relay.kill())
  return relay
}

async function started(...args: string[]): Promise<RelayProcess> {
  const relay = served(...args)
  await relay.start()
  return relay
}

const reload = (...args: string[]): Promise<Ended> =>
  runWaybill(['reload', '--queue', at('queue'), ...args], { directory })

const hangUp = ({ pid }: RelayProcess): boolean => process.kill(pid!, 'SIGHUP')

/** Reloads that the log tells of so far, and how they ended. */
const told = ({ log }: RelayProcess): string[] =>
  [...log.matchAll(/"msg":"(reloaded|not reloaded)/g)].map(([, word]) => word!)

async function hungUp(relay: RelayProcess, ...ends: string[]): Promise<void> {
  hangUp(relay)
  await expect.poll(() => told(relay)).toEqual(ends)
}

test.each([['yes'], ['no']])(
  'SIGHUP has new clients shown the renewed certificate at all ports, and open sessions go on; a thread: %s',
  async (word) => {
    const relay = await started('--listen-tls', '127.0.0.1:0', '--smtp-thread', word, ...withTls())
    const { port } = relay.endpoint
    await expect.poll(() => relay.output).toMatch(/:\d+ with TLS$/m)
    const tlsPort = Number(/:(\d+) with TLS$/m.exec(relay.output)![1])
    const shown = (): Promise<string[]> => Promise.all([shownName(port, false), shownName(tlsPort, true)])
    const plain = await greetedClient(port)
    await plain.say('STARTTLS')
    const open = await encrypted(plain)
    await open.say('EHLO client.example')
    expect(await shown()).toEqual(['localhost', 'localhost'])

    // As certbot does it: one file after the other.
    await copyFile(renewedCertPath, at('cert.pem'))
    await hungUp(relay, 'not reloaded')
    expect(relay.log).toMatch(
      /"level":50,[^\n]*cert\.pem and --tls-key [^\n]*key\.pem: no certificate and its/,
    )
    expect(await shown()).toEqual(['localhost', 'localhost'])
    await copyFile(renewedKeyPath, at('key.pem'))
    await hungUp(relay, 'not reloaded', 'reloaded')
    expect(await shown()).toEqual(['renewed', 'renewed'])
    expect(relay.log).toMatch(/"tls-cert",[^\n]*"valid until 2126-\d\d-\d\dT[\d:]+Z"[^\n]*"msg":"reloaded"/)
    expect(await sendOne(open)).toMatch(/^250 2\.0\.0 /)
  },
)

const lineFor = async (name: string, password: string): Promise<string> =>
  (await runWaybill(['password', name], { directory, input: `${password}\n` })).stdout

test.each([['yes'], ['no']])(
  'users come and go; a reload with a wrong file is refused, and the users before stay; a thread: %s',
  async (word) => {
    const [ada, bob] = await Promise.all([lineFor('ada', 'secret'), lineFor('bob', 'secret')])
    await write('users', ada)
    const strict = ['--trust', '192.0.2.1', '--smtp-thread', word, ...nowhere]
    const relay = await started(...strict, ...withTls(), '--auth', at('users'))
    const send = (user: string): Promise<unknown> =>
      createTransport({
        port: relay.endpoint.port,
        requireTLS: true,
        tls: { rejectUnauthorized: false },
        auth: { user, pass: 'secret' },
      }).sendMail({ from: 's@example.org', to: 'r@example.net', text: 'x' })
    await write('users', `${bob}ada:oops\n`)
    const ended = await reload()
    expect(ended).toMatchObject({ exitCode: 1, stdout: '' })
    expect(ended.stderr).toMatch(/^waybill reload: .*a user is a line NAME:HASH.*\/users, line 2\)\n$/)
    await send('ada')
    await expect(send('bob')).rejects.toMatchObject({ responseCode: 535 })

    await write('users', bob)
    expect((await reload()).stdout.split('\n')).toEqual([
      expect.stringMatching(/^--tls-cert .*\/cert\.pem: valid until 2126-/),
      expect.stringMatching(/^--tls-key .*\/key\.pem: its key$/),
      expect.stringMatching(/^--auth .*\/users: 1 user$/),
      '',
    ])
    await send('bob')
    await expect(send('ada')).rejects.toMatchObject({ responseCode: 535 })
    expect(relay.log).not.toContain('oops')
  },
)

test('of several files all are taken up, or none', async () => {
  await write('users', await lineFor('ada', 'secret'))
  await write('routes', 'example.net slow:\n')
  await write('relay-auth', 'me:secret\n')
  expect(await runWaybill(['dkim-key', 'example.org', 's1', 'dkim.pem'], { directory })).toMatchObject({
    exitCode: 0,
  })
  await write('dkim', 'example.org s1 dkim.pem\n')
  await write('tls', '[127.0.0.1] verify\n')
  const files = ['users', 'routes', 'relay-auth', 'dkim', 'tls', 'cert.pem', 'key.pem']
  const right = new Map(
    await Promise.all(files.map(async (name) => [name, await readFile(at(name))] as const)),
  )
  const options = ['--auth', at('users'), '--routes', at('routes'), '--dkim', at('dkim')]
  const more = ['--relay-auth', at('relay-auth'), '-o', 'slow_destination_rate_delay=1s']
  const policy = ['--tls-policy', at('tls')]
  const relay = await started(...nowhere, ...withTls(), ...options, ...policy, ...more)

  const wrong: [file: string, text: string | undefined, says: RegExp][] = [
    ['users', '# nobody\n', /there is no user \(option auth, path .*\/users\)/],
    ['users', undefined, /--auth: ENOENT.*users/],
    ['routes', 'example.net slow:\nexample.org\n', /PATTERN NAME:NEXTHOP.*\/routes, line 2/],
    [
      'routes',
      'example.net :\n',
      /-o slow_destination_rate_delay=1s: there is no transport 'slow'; there are smtp, /,
    ],
    ['dkim', 'example.org s1 nowhere.pem\n', /ENOENT.*nowhere\.pem.*\/dkim, line 1/],
    ['tls', '[127.0.0.1] dane\n', /level dane is for servers that.*\/tls, line 1/],
    ['tls', '[127.0.0.1] may\n', /the relay: credentials.*\/tls, line 1/],
    ['relay-auth', 'me\n', /one line USER:PASSWORD, not .*relay-auth/],
    ['key.pem', '', /no certificate and its key: .*key\.pem is empty/],
    ['cert.pem', 'x', /no certificate and its key/],
    ['cert.pem', endless(renewed), /no certificate and its key: it ends at no time: Bad time value/],
    ['routes', `example.net${' '.repeat(5000)}slow:`, /longer than 4096 characters .*\/routes, line 1/],
  ]
  for (const [file, text, says] of wrong) {
    for (const [name, bytes] of right) await writeFile(at(name), bytes)
    await renewCertificate()
    if (text === undefined) await rm(at(file))
    else await write(file, text)
    expect(await reload()).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(says) as string,
    })
    expect(await shownName(relay.endpoint.port, false)).toBe('localhost')
  }
  await expect.poll(() => told(relay)).toEqual(wrong.map(() => 'not reloaded'))
  for (const [name, bytes] of right) await writeFile(at(name), bytes)
  await renewCertificate()
  const { exitCode, stdout } = await reload('--json')
  expect(exitCode).toBe(0)
  const lines = stdout.trim().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { holds: string }).holds).slice(1)).toEqual([
    'its key',
    '1 user',
    '1 route',
    '1 key',
    '1 destination',
    'a password',
  ])
  expect(await shownName(relay.endpoint.port, false)).toBe('renewed')
})

test('with nothing to read SIGHUP changes nothing, and the verb says so', async () => {
  const relay = await started()
  const open = await greetedClient(relay.endpoint.port)
  hangUp(relay)
  hangUp(relay)
  await expect.poll(() => told(relay).length).toBeGreaterThan(0)
  expect(await reload()).toEqual({ exitCode: 0, stdout: 'the relay was given no files\n', stderr: '' })
  expect(await sendOne(open)).toMatch(/^250 2\.0\.0 /)
})

test('SIGHUP while the relay starts is heard when it has started', async () => {
  const relay = served(...withTls())
  const answering = relay.start()
  // Before Node runs its first line the system ends it, as it ends every program that has not said
  // otherwise.
  const hasHandler = async (): Promise<boolean> => {
    const status = await readFile(`/proc/${relay.pid}/status`, 'utf8')
    return (BigInt(`0x${/^SigCgt:\s*(\w+)$/m.exec(status)![1]}`) & 1n) === 1n
  }
  while (!(await hasHandler())) await sleep(1)
  await hungUp(relay, 'reloaded')
  await answering
  expect(relay.log).toMatch(/"msg":"listening"[^]*"msg":"reloaded"/)
})

test('a relay that was started at a terminal ends with it', async () => {
  const command = `echo $$; exec ${process.execPath} ${waybillPath} serve --queue queue --listen 127.0.0.1:0`
  const terminal = spawn('script', ['-qefc', command, '/dev/null'], { cwd: directory, stdio: 'pipe' })
  let output = ''
  terminal.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  onTestFinished(() => void terminal.kill('SIGKILL'))
  await expect.poll(() => output).toContain('listening on')
  const pid = parseInt(output, 10)
  const lives = (): boolean => existsSync(`/proc/${pid}`)
  onTestFinished(() => void (lives() && process.kill(pid, 'SIGKILL')))
  process.kill(pid, 'SIGHUP')
  await expect.poll(() => output).toContain(' reloaded ')
  terminal.kill('SIGKILL')
  await expect.poll(lives).toBe(false)
})

test('a certificate that has expired is warned of, at the start and when it is taken up', async () => {
  await copyFile(expiredCertPath, at('cert.pem'))
  const relay = await started(...withTls())
  const warnings = (): number => relay.log.split('the certificate has expired').length - 1
  await expect.poll(warnings).toBe(1)
  expect(relay.log).toMatch(/"level":40,[^\n]*"expiredAt":"2026-11-21T23:59:34Z"/)
  await hungUp(relay, 'reloaded')
  await expect.poll(warnings).toBe(2)
  await writeFile(at('cert.pem'), renewed.cert)
  await writeFile(at('key.pem'), renewed.key)
  await hungUp(relay, 'reloaded', 'reloaded')
  expect(warnings()).toBe(2)
})

test('without a relay there is nobody to reload', async () => {
  expect(await reload()).toMatchObject({ exitCode: 3 })
  const relay = await started()
  await relay.kill()
  expect(await reload()).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `waybill reload: no relay runs on the queue at ${at('queue')}\n`,
  })
})

test('parameters in the file of options are taken up; what takes a restart is told', async () => {
  await write('options', 'listen 127.0.0.1:0\ndefer_transports = maildir\nretry 1h\n')
  const relay = await started('--config', at('options'), '--maildir', at('maildir'))
  await sendOne(await greetedClient(relay.endpoint.port))
  await expect.poll(() => relay.log).toMatch(/"status":"4\.3\.2","text":"[^"]*deferred transport/)
  await write(
    'options',
    'listen 127.0.0.1:0\nretry 2h\nmaximal_backoff_time = 1h\nmaildir_process_limit = 3\n',
  )
  expect(await reload()).toMatchObject({ exitCode: 0 })
  await expect
    .poll(() => relay.log)
    .toMatch(/"options":\["--retry","maximal_backoff_time"\],"msg":"these have changed, and/)
  expect(await runWaybill(['flush', '--all', '--queue', at('queue')], { directory })).toMatchObject({
    exitCode: 0,
  })
  await expect.poll(() => relay.log).toContain('"msg":"delivered"')

  await write('options', 'listen 127.0.0.1:0\nsmtp_connect_timeout = 5s\n')
  const { exitCode, stderr } = await reload()
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/smtp_connect_timeout=5s: .*there are maildir.* \(.*options, line 2\)/)
})
