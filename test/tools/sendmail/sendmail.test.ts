/** What cron, PHP, git send-email and mailx call, and what they get. */
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile, readFile, symlink } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  openQueue,
  WaybillError,
  type ErrorCode,
  type ListedMessage,
  type RequestDsn,
} from '../../../src/index.js'
import { sysexitOfError, sysexitOfResult } from '../../../tools/commands/sendmail/sysexits.js'
import { laySmallQueue } from '../../end-to-end/laid-queue.js'
import { RelayProcess, waybillPath } from '../../end-to-end/relay-process.js'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import { openSink } from '../../end-to-end/sink.js'
import { foreignServer, type ForeignServer } from '../../relay/foreign-server.js'
import { runProgram, runWaybill, type Ended } from '../command-process.js'

let directory: string
let relay: RelayProcess | undefined
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-sendmail-'))
})
afterEach(async () => {
  await relay?.kill()
  relay = undefined
  await rm(directory, { recursive: true, force: true })
})

const isRoot = process.getuid?.() === 0
const queue = (): string => join(directory, 'queue')
const local = (): string[] => ['--queue', queue(), '--maildir', join(directory, 'maildir')]
const sendmail = (args: readonly string[], input: string): Promise<Ended> => {
  laySmallQueue(queue())
  return runWaybill(['sendmail', '--queue', queue(), ...args], { directory, input })
}

interface Lying extends Pick<ListedMessage, 'sender' | 'recipients'> {
  readonly data: string
  readonly dsn: RequestDsn | undefined
}

/** What lies in the queue. No attempt comes to its end, so that no report of a success
 * lies there, too. */
async function lying(): Promise<Lying[]> {
  const taken: Lying[] = []
  const own = await openQueue(queue(), {
    transports: {
      take: {
        deliver: async (request) => {
          const data = await request.data()
          taken.push({
            sender: request.sender,
            recipients: [...request.recipients].sort(),
            data: Buffer.isBuffer(data) ? data.toString('latin1') : '',
            dsn: request.dsn,
          })
          return new Promise(() => {})
        },
      },
    },
    route: () => ({ transport: 'take', nexthop: 'here' }),
  })
  let count = 0
  for await (const _ of own.list({ all: true })) count++
  await expect.poll(() => taken.length).toBe(count)
  own.crash()
  return taken
}

const neverWithHeader: RequestDsn = { ret: 'headers', envid: undefined, recipients: [{ notify: 'never' }] }

const text = 'From: a@example.org\nTo: t@example.net\nSubject: x\n\nbody\n'

const crlf = (lines: string): string =>
  expect.stringMatching(new RegExp(`${lines.replaceAll('\n', '\r\n')}$`)) as string

test.each<[string, string[], string, Partial<Lying>]>([
  [
    'a crontab with two addressees',
    ['-i', '-f', 'me@x.example', 'b@example.net,a@example.net'],
    text,
    { sender: 'me@x.example', recipients: ['a@example.net', 'b@example.net'], data: crlf(text) },
  ],
  [
    'a program whose settings have names',
    ['-i', '-f', 'Ada L <ada@example.org>', 'Grace H <grace@example.net>', 'word word <b@example.net>'],
    text,
    { sender: 'ada@example.org', recipients: ['b@example.net', 'grace@example.net'], data: crlf(text) },
  ],
  [
    'a program that names a mailbox again in other letters',
    ['-t', '-i', '-f', 'me@x.example', 'Ada@example.net'],
    'From: a@example.org\nTo: ada@Example.NET, b@example.net\nCc: "ada"@example.net, B@example.net\n\nbody\n',
    { recipients: ['Ada@example.net', 'b@example.net'] },
  ],
  [
    'a sentence that ends with an address',
    ['-i', '-f', 'ada@example.org.', 'grace@example.net.'],
    text,
    { sender: 'ada@example.org', recipients: ['grace@example.net'], data: crlf(text) },
  ],
  [
    'a machine whose name has no domain',
    ['-i', '--origin', 'host.example.org', 'a@example.net'],
    text,
    { data: expect.stringMatching(/^Message-ID: <[^@>]+@[^.>]+\.[^>]+>\r$/m) as unknown as string },
  ],
  [
    'a program that doubles its angle brackets, or forgets one',
    ['-i', '-f', '<ada@example.org', 'Grace <<grace@example.net>>'],
    text,
    { sender: 'ada@example.org', recipients: ['grace@example.net'], data: crlf(text) },
  ],
  [
    'find -print0, which ends names with NULs',
    ['-i', 'b@example.net'],
    text.replace('body', 'a\0b\0'),
    { recipients: ['b@example.net'], data: expect.stringContaining('\r\n\r\nab\r\n') },
  ],
  [
    'cron',
    ['-FCronDaemon', '-i', '-B8BITMIME', '-oem', 'root@example.net'],
    'Subject: Cron <root> job\n\noutput\n.\nmore\n',
    {
      recipients: ['root@example.net'],
      data: expect.stringMatching(/From: CronDaemon <[^]*output\r\n\.\r\nmore\r\n$/) as unknown as string,
    },
  ],
  [
    'cronie, with -odi -or0s, which are ignored',
    ['-FCronDaemon', '-odi', '-oem', '-oi', '-or0s', '-f', 'root@example.org', 'a@example.net'],
    'x\n.\ny\n',
    { sender: 'root@example.org', data: expect.stringMatching(/x\r\n\.\r\ny\r\n$/) as unknown as string },
  ],
  [
    'PHP',
    ['-t', '-i', '-fwww@example.org'],
    'To: one@example.net, Two <two@example.net>\nBcc: three@example.net\nSubject: x\n\nbody\n',
    {
      sender: 'www@example.org',
      recipients: ['one@example.net', 'three@example.net', 'two@example.net'],
      data: expect.stringMatching(/^(?![^]*Bcc)/) as unknown as string,
    },
  ],
  [
    'git send-email',
    ['-i', '-f', 'dev@example.org', 'list@example.net', 'peer@example.net'],
    text,
    { sender: 'dev@example.org', recipients: ['list@example.net', 'peer@example.net'] },
  ],
  [
    'PHP whose sendmail_path has a sender, and mail() another one',
    ['-t', '-i', '-f', 'usual@example.org', '-fwww@example.org'],
    'To: one@example.net\nSubject: x\n\nbody\n',
    { sender: 'www@example.org', recipients: ['one@example.net'] },
  ],
  [
    'a caller that says the sender as -f and as -r, the last of which counts',
    ['-i', '-f', 'first@example.org', '-r', 'second@example.org', 'a@example.net'],
    text,
    { sender: 'second@example.org' },
  ],
  [
    'a caller that says it the other way round',
    ['-i', '-rfirst@example.org', '-f', 'second@example.org', 'a@example.net'],
    text,
    { sender: 'second@example.org' },
  ],
  [
    'mutt',
    [
      '-oem',
      '-oi',
      '-f',
      'me@example.org',
      '-N',
      'failure',
      '-R',
      'hdrs',
      '-B8BITMIME',
      '--',
      'a@example.net',
    ],
    text,
    { sender: 'me@example.org', recipients: ['a@example.net'] },
  ],
  ['anacron', ['-FAnacron', '-odi', 'root@example.net'], text, { recipients: ['root@example.net'] }],
  [
    'Perl and logwatch',
    ['-t', '-oi', '-oem'],
    'To: root@example.net\nSubject: Logwatch\n\nbody\n',
    { recipients: ['root@example.net'] },
  ],
  [
    'fetchmail',
    ['-i', '-oem', '-f', '<>', 'a@example.net'],
    text,
    { sender: '', recipients: ['a@example.net'] },
  ],
  [
    'who sets what is not here: -C, -O, -X, -A, -p, -h, -L, -V, -c and -x',
    [
      '-C',
      'x.cf',
      '-O',
      'A=b',
      '-X',
      'log',
      '-Am',
      '-psmtp',
      '-h5',
      '-L',
      'tag',
      '-Vid',
      '-c',
      '-x',
      'a@example.net',
    ],
    text,
    { recipients: ['a@example.net'] },
  ],
  [
    'mailx, with -r',
    ['-oi', '-r', 'me@example.org', '--', 'a@example.net'],
    text,
    { sender: 'me@example.org' },
  ],
  [
    'what you are told of, as Postfix has it',
    ['-N', 'success,Delay', '-Rfull', '-V', 'QQ 31=4', 'a@example.net'],
    text,
    { dsn: { ret: 'full', envid: 'QQ 31=4', recipients: [{ notify: ['success', 'delay'] }] } },
  ],
  [
    'that you are told nothing',
    ['-N', 'never', '-R', 'hdrs', 'a@example.net'],
    text,
    { dsn: neverWithHeader },
  ],
  ['a null sender', ['-f', '<>', 'a@example.net'], text, { sender: '' }],
  ['a null sender in one word', ['-f<>', 'a@example.net'], text, { sender: '' }],
  [
    'a recipient that looks like an option',
    ['-i', '--', '-odd@example.net'],
    text,
    { recipients: ['-odd@example.net'] },
  ],
  [
    'a dot that ends the message',
    ['a@example.net'],
    'x\n.\ny\n',
    { data: expect.stringMatching(/x\r\n$/) as unknown as string },
  ],
  [
    '-bm, -n, -m, -U and -G',
    ['-bm', '-n', '-m', '-U', '-G', 'a@example.net'],
    text,
    { recipients: ['a@example.net'] },
  ],
])('it does what %s wants', async (_, args, input, expected) => {
  expect(await sendmail(args, input)).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  expect(await lying()).toMatchObject([expected])
})

test('what makes no sense with -N, -R and -V is told, and the mail goes without', async () => {
  const wrong = ['-N', 'never,success', '-R', 'constructor', '-V', 'x'.repeat(101)]
  const { exitCode, stderr } = await sendmail([...wrong, 'a@example.net'], text)
  expect({ exitCode, told: stderr.match(/-[NRV] /g) }).toEqual({ exitCode: 0, told: ['-N ', '-R ', '-V '] })
  expect(await lying()).toMatchObject([{ dsn: undefined }])
})

test('addresses without a domain get that of --origin, in the header too', async () => {
  const cron = 'From: root (Cron Daemon)\nTo: admin\nSubject: Cron <root@host> job\n\nTo: root\n'
  const args = ['--origin', 'o.example', '-f', 'root', '-t', 'ops']
  expect(await sendmail(args, cron)).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  expect(await lying()).toMatchObject([
    {
      sender: 'root@o.example',
      recipients: ['admin@o.example', 'ops@o.example'],
      data: expect.stringMatching(
        /\r\nFrom: root@o\.example \(Cron Daemon\)\r\nTo: admin@o\.example\r\nSubject: Cron <root@host> job\r\n\r\nTo: root\r\n$/,
      ) as string,
    },
  ])
})

test('without --origin they get that of this machine', async () => {
  await sendmail(['-f', 'root', 'admin'], text)
  const mailname = (await readFile('/etc/mailname', 'utf8').catch(() => '')).trim()
  const origin = mailname === '' ? hostname() : mailname
  expect(await lying()).toMatchObject([{ sender: `root@${origin}`, recipients: [`admin@${origin}`] }])
})

test('a link with the name of sendmail or mailq is that command', async () => {
  const linked = async (name: string, ...args: string[]): Promise<Ended> => {
    const link = join(directory, name)
    await symlink(waybillPath, link)
    const words = [link, '--queue', queue(), ...args]
    return runProgram(process.execPath, words, { directory, input: text })
  }
  const sent = await linked(
    'sendmail',
    '--create',
    '-v',
    '-f',
    'root',
    '--origin',
    'o.example',
    'a@example.net',
  )
  expect(sent).toMatchObject({ exitCode: 0, stdout: '' })
  expect(sent.stderr).toMatch(/^waybill sendmail: .* lies in /)
  expect((await linked('mailq')).stdout).toContain('root@o.example')
})

test.skipIf(!isRoot)('a user without a name is asked for a sender', async () => {
  await chmod(directory, 0o777)
  const asUnknown = (...args: string[]): Promise<Ended> =>
    runProgram(
      'setpriv',
      [
        '--reuid=54321',
        '--regid=54321',
        '--clear-groups',
        process.execPath,
        waybillPath,
        'sendmail',
        '--create',
        '--queue',
        queue(),
        ...args,
        'a@example.net',
      ],
      { directory, input: text },
    )
  expect(await asUnknown()).toMatchObject({
    exitCode: 64,
    stderr: expect.stringContaining('-f SENDER') as string,
  })
  expect(await asUnknown('-f', 'a@example.org')).toMatchObject({ exitCode: 0 })
})

test('-v tells where the message lies, or who took it', async () => {
  const told = await sendmail(['-v', 'a@example.net'], text)
  expect(told).toMatchObject({ exitCode: 0, stdout: '' })
  expect(told.stderr).toMatch(
    /^waybill sendmail: [0-9A-Z]{16} lies in .* for 1 recipient, until a relay starts\n$/,
  )
  relay = new RelayProcess(local())
  await relay.start()
  const taken = await sendmail(['-v', 'a@example.net'], text)
  expect(taken.stderr).toMatch(
    new RegExp(`^waybill sendmail: taken by the relay of ${queue()}: 250 2.0.0 queued as [0-9A-Z]{16}\n$`),
  )
})

/** Notes in the file $LOADED what is loaded. */
const noting = `data:text/javascript,${encodeURIComponent(`
  import { register } from 'node:module'
  register('data:text/javascript,' + encodeURIComponent(\`
    import { appendFileSync } from 'node:fs'
    export function load(url, context, next) {
      appendFileSync(process.env.LOADED, url + '\\\\n')
      return next(url, context)
    }
  \`))
`)}`

test('the engine is loaded where no relay runs, and by nobody whose relay does', async () => {
  const loaded = async (): Promise<string> => {
    const file = join(directory, 'loaded')
    await rm(file, { force: true })
    const environment = { NODE_OPTIONS: `--import ${noting}`, LOADED: file }
    const args = ['sendmail', '--create', '--queue', queue(), 'a@example.net']
    expect(await runWaybill(args, { directory, input: text, environment })).toMatchObject({ exitCode: 0 })
    return readFile(file, 'utf8')
  }
  const engine = '/dist/bundle/engine.js'
  expect(await loaded()).toContain(engine)
  relay = new RelayProcess(local())
  await relay.start()
  const withRelay = await loaded()
  expect(withRelay).toContain('/dist/bundle/outgoing.js')
  expect(withRelay).not.toContain(engine)
  await relay.kill()
  expect(await loaded()).not.toContain(engine)
  const { stdout } = await runWaybill(['mailq', '--queue', queue()], { directory })
  expect(stdout).toMatch(/^1 message in maildrop\/, not yet taken up by a relay$/m)
})

test("mail of the queue's owner waits for the next relay, and comes in through its door", async () => {
  const maildir = join(directory, 'maildir')
  await writeFile(join(directory, 'aliases'), 'root@example.net ada@example.net\n')
  relay = new RelayProcess([
    '--queue',
    queue(),
    '--maildir',
    maildir,
    '--aliases',
    join(directory, 'aliases'),
  ])
  await relay.start()
  await relay.kill()
  expect(await sendmail(['root@example.net'], text)).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  await relay.start()
  await expect.poll(() => delivered(maildir)).toBe(1)
  expect(await readdir(maildir)).toEqual(['ada@example.net'])
})

test('more recipients than a server takes at once are all taken, none twice', async () => {
  const maildir = join(directory, 'maildir')
  relay = new RelayProcess(['--queue', queue(), '--maildir', maildir])
  await relay.start()
  const recipients = Array.from({ length: 1100 }, (_, i) => `u${i}@example.net`)
  expect(await sendmail(recipients, text)).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  await expect.poll(() => delivered(maildir)).toBe(1100)
})

/** Messages in all mailboxes. */
async function delivered(maildir: string): Promise<number> {
  const mailboxes = await readdir(maildir).catch(() => [])
  const names = await Promise.all(
    mailboxes.map((mailbox) => readdir(join(maildir, mailbox, 'new')).catch(() => [])),
  )
  return names.flat().length
}

const nobody = 65_534
const asUser = [`--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups']

test.skipIf(!isRoot)(
  'a user that may not open the queue gives the message to its relay, or leaves it for the next one',
  async () => {
    relay = new RelayProcess(local(), {}, { makesQueue: true })
    await relay.start()
    await chmod(directory, 0o755)
    const asNobody = (): Promise<Ended> =>
      runProgram(
        'setpriv',
        [...asUser, process.execPath, waybillPath, 'sendmail', '--queue', queue(), 'a@example.net'],
        { directory, input: text },
      )
    expect(await asNobody()).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    await expect.poll(() => delivered(join(directory, 'maildir'))).toBe(1)
    await relay.kill()
    expect(await asNobody()).toEqual({ exitCode: 0, stdout: '', stderr: '' })
    expect(await readdir(join(queue(), 'maildrop'))).toHaveLength(1)
    relay = new RelayProcess(local(), {}, { makesQueue: true })
    await relay.start()
    await expect.poll(() => delivered(join(directory, 'maildir'))).toBe(2)
    expect(await readdir(join(queue(), 'maildrop'))).toEqual([])
  },
)

test.skipIf(!isRoot)(
  'root leaves nothing in a queue of somebody else that its owner may not open',
  async () => {
    await sendmail(['a@example.net'], text)
    await runProgram('chown', ['-R', `${nobody}:${nobody}`, directory], { directory })
    for (let i = 0; i < 2; i++) expect(await sendmail(['a@example.net'], text)).toMatchObject({ exitCode: 0 })
    const held = await runWaybill(['hold', '--queue', queue(), '--all'], { directory })
    expect(held).toMatchObject({ exitCode: 0, stdout: '3 messages held (3 recipients)\n' })
    const foreign = await runProgram('find', [queue(), '!', '-uid', String(nobody)], { directory })
    expect(foreign).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  },
)

test.skipIf(!isRoot)(
  'root makes a queue that is not there yet as the user in whose directory it is made',
  async () => {
    await runProgram('chown', [`${nobody}:${nobody}`, directory], { directory })
    const args = ['sendmail', '--create', '--queue', queue(), 'a@example.net']
    expect(await runWaybill(args, { directory, input: text })).toMatchObject({ exitCode: 0 })
    const foreign = await runProgram('find', [queue(), '!', '-uid', String(nobody)], { directory })
    expect(foreign).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  },
)

/** Another program at the port of a relay that was killed: it takes all mail. */
async function strangerAt(endpoint: RelayProcess['endpoint']): Promise<ForeignServer> {
  const stranger = await foreignServer(undefined, undefined, endpoint)
  onTestFinished(() => stranger.close())
  return stranger
}

test('a program that listens where a dead relay did gets no mail while another program has the queue open', async () => {
  relay = new RelayProcess(local())
  await relay.start()
  await relay.kill()
  const stranger = await strangerAt(relay.endpoint)
  const verb = nodeDisk(queue())
  await verb.lock('lock')
  expect(await sendmail(['a@example.net'], text)).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  expect(await readdir(join(queue(), 'maildrop'))).toHaveLength(1)
  expect(await sendmail(['-bs'], `${dialog.join('\r\n')}\r\n`)).toMatchObject({ exitCode: 75, stdout: '' })
  verb.abandon()
  expect(await sendmail(['a@example.net'], text)).toMatchObject({ exitCode: 0 })
  expect(stranger.sessionCount()).toBe(0)
})

test.skipIf(!isRoot)(
  'a stranger on the port of a dead relay gets no mail of a user that may not open the queue',
  async () => {
    await chmod(directory, 0o755)
    relay = new RelayProcess(local(), {}, { makesQueue: true })
    await relay.start()
    await relay.kill()
    const stranger = await strangerAt(relay.endpoint)
    const words = [...asUser, process.execPath, waybillPath, 'sendmail', '--queue', queue(), 'a@example.net']
    expect(await runProgram('setpriv', words, { directory, input: text })).toMatchObject({ exitCode: 0 })
    expect(stranger.sessionCount()).toBe(0)
  },
)

test('forty at once leave their mail while another program has the queue open, and the next relay delivers all of it once', async () => {
  await sendmail(['b@example.net'], text)
  const verb = nodeDisk(queue())
  await verb.lock('lock')
  const all = await Promise.all(Array.from({ length: 40 }, (_, i) => sendmail([`b${i}@example.net`], text)))
  expect(all.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(all.map(() => [0, '']))
  verb.abandon()
  // The first one ends while it takes up.
  relay = new RelayProcess(local())
  await relay.start()
  await relay.kill()
  await relay.start()
  await expect.poll(async () => readdir(join(queue(), 'maildrop'))).toEqual([])
  const accepted = relay.log.split('\n').filter((line) => line.includes('"msg":"accepted"'))
  const ids = accepted.map((line) => (JSON.parse(line) as { id: string }).id)
  expect(new Set(ids).size).toBe(ids.length)
  await expect.poll(() => delivered(join(directory, 'maildir'))).toBe(41)
})

test('of several recipients those are named that the relay refuses, once with what it said', async () => {
  const domains = join(directory, 'domains')
  await writeFile(domains, 'a@example.net\n')
  relay = new RelayProcess(local().concat('--relay-domains', domains))
  await relay.start()
  expect(await sendmail(['eve@example.net', 'a@example.net'], text)).toEqual({
    exitCode: 69,
    stdout: '',
    stderr: 'waybill sendmail: eve@example.net: 550 5.1.1 unknown user\n',
  })
})

test('the relay that has the queue open is found wherever it listens, also behind one that is dead', async () => {
  const maildir = join(directory, 'maildir')
  for (const port of [0, 0]) {
    relay = new RelayProcess(['--queue', queue(), '--maildir', maildir])
    relay.endpoint = { host: '127.0.0.1', port }
    await relay.start()
    expect(await sendmail(['-v', 'a@example.net'], text)).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('taken by the relay of') as string,
    })
    await relay.kill()
  }
})

const dialog = [
  'EHLO me',
  'MAIL FROM:<a@example.org>',
  'RCPT TO:<b@example.net>',
  'DATA',
  'Subject: x',
  '',
  'body',
  '.',
]
const replies =
  /^220 [^]*\n250[ -][^]*\n250 [^]*\n250 [^]*\n354 [^]*\n250 2\.0\.0 queued as [0-9A-Z]{16}\r\n221 /

test('-bs is an SMTP session, without a relay; the end of the input is a QUIT', async () => {
  const ended = await sendmail(['-bs'], `${dialog.join('\r\n')}\r\n`)
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' })
  expect(ended.stdout).toMatch(replies)
  const data = expect.stringMatching(
    /^Date: .*\r\nMessage-ID: .*\r\nFrom: a@example.org\r\nSubject: x\r\n\r\nbody\r\n$/,
  ) as string
  expect(await lying()).toEqual([{ sender: 'a@example.org', recipients: ['b@example.net'], data }])
})

test('-bs is an SMTP session with the relay that has the queue open', async () => {
  relay = new RelayProcess(local())
  await relay.start()
  const ended = await sendmail(['-bs'], `${[...dialog, 'QUIT'].join('\r\n')}\r\n`)
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' })
  expect(ended.stdout).toMatch(replies)
})

test('a message that was not ended when the input of -bs ends is none', async () => {
  const ended = await sendmail(['-bs'], `${dialog.slice(0, -1).join('\r\n')}\r\n`)
  expect(ended).toMatchObject({
    exitCode: 75,
    stderr: 'waybill sendmail: the session ended within a message: it has no reply\n',
  })
  expect(ended.stdout).not.toContain('queued')
  expect(await lying()).toEqual([])
})

test('a queue in a store is not given mail as if it were a directory', async () => {
  const url = 'postgres://nobody@127.0.0.1:1/none?queue=mx1'
  for (const words of [['-bs'], ['-f', 'a@example.org', 'b@example.net']])
    expect(
      await runWaybill(['sendmail', '--queue', url, ...words], { directory, input: 'x\n' }),
    ).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('a queue in a store takes mail by SMTP: --smtp HOST:PORT') as string,
    })
  expect(await readdir(directory)).toEqual([])
})

test('-bs to a server that is not there is to be tried again', async () => {
  expect(await runWaybill(['sendmail', '-bs', '--smtp', '127.0.0.1:1'], { directory })).toMatchObject({
    exitCode: 75,
    stderr: expect.stringContaining('no answer from 127.0.0.1:1') as string,
  })
})

test.each<[string, string[], number]>([
  ['an unknown option', ['-Z'], 64],
  ['a mode that there is not', ['-bd', 'a@example.net'], 64],
  ['an origin that is no domain', ['--origin', 'a b', 'c@example.net'], 64],
  ['no recipient', ['-i'], 64],
  ['no recipient in the header', ['-t'], 64],
  ['an address that is none', ['a@b@example.net'], 69],
  ['a message that is too large', ['--size-limit', '10', 'a@example.net'], 65],
])('%s ends with its code of sysexits.h', async (_, args, exitCode) => {
  const ended = await sendmail(args, 'Subject: none\n\nbody\n')
  expect(ended).toMatchObject({ exitCode, stdout: '' })
  expect(ended.stderr).toMatch(/^waybill sendmail: /)
})

test('a header that a relay would refuse is refused, and not left in the maildrop', async () => {
  const ended = await sendmail(['a@example.net'], `X: ${'x'.repeat(1 << 20)}\n\nbody\n`)
  expect(ended).toMatchObject({ exitCode: 65, stdout: '' })
  expect(ended.stderr).toContain('the header is longer than 1048576 bytes')
})

test('where there is no queue none is made, unless it is said: a mistyped directory is one that no relay reads', async () => {
  const mistyped = join(directory, 'quue')
  const missing = await runWaybill(['sendmail', '--queue', mistyped, 'a@example.net'], {
    directory,
    input: text,
  })
  expect(missing).toMatchObject({ exitCode: 78, stdout: '' })
  expect(missing.stderr).toContain(`no queue at ${mistyped}; \`waybill serve\` makes one, --create`)
  expect(await readdir(directory)).toEqual([])
  await writeFile(join(directory, 'file'), '')
  expect(await sendmail(['a@example.net'], text)).toMatchObject({ exitCode: 0 })
  const below = ['sendmail', '--queue', join(directory, 'file', 'queue'), 'a@example.net']
  expect(await runWaybill(below, { directory, input: text })).toMatchObject({ exitCode: 78 })
  const again = await runWaybill(['sendmail', '--queue', queue(), 'a@example.net'], {
    directory,
    input: text,
  })
  expect(again).toMatchObject({ exitCode: 0 })
})

test('the queue of the environment is for commands that name none, sendmail and every verb', async () => {
  expect(await sendmail(['a@example.net'], text)).toMatchObject({ exitCode: 0 })
  const environment = { WAYBILL_QUEUE: queue() }
  const waybill = (...args: string[]): Promise<Ended> =>
    runWaybill(args, { directory, input: text, environment })
  expect(await waybill('sendmail', 'b@example.net')).toMatchObject({ exitCode: 0 })
  expect((await waybill('mailq')).stdout).toMatch(/in 2 Requests\.\n$/)
  expect((await waybill('hold', '--all')).stdout).toBe('2 messages held (2 recipients)\n')
  expect(await waybill('mailq', '--queue', 'other')).toMatchObject({ exitCode: 3 })
  const empty = await runWaybill(['mailq'], { directory, environment: { WAYBILL_QUEUE: '' } })
  expect(empty.stderr).toBe('waybill: no queue at ./var/queue; --queue DIR or WAYBILL_QUEUE names another\n')
})

test('-bp lists the queue as mailq does, -bi is fine, and -q attempts what is deferred', async () => {
  const sink = await openSink()
  onTestFinished(() => sink.close())
  relay = new RelayProcess(['--queue', queue(), '--relay', `${sink.host}:${sink.port}`, '--retry', '1h'])
  await relay.start()
  for (const recipient of [
    'defer1-1@one.test',
    'defer1-2@two.test',
    'defer1-3@two.test',
    'defer1-4@four.test',
  ])
    expect(await sendmail([recipient], text)).toMatchObject({ exitCode: 0 })
  const waiting = async (): Promise<string[]> =>
    [...(await sendmail(['-bp'], '')).stdout.matchAll(/^ +(\S+@\S+) .*\n/gm)]
      .map(([, address]) => address!)
      .sort()
  const becomes = async (...left: string[]): Promise<void> => {
    await expect.poll(waiting).toEqual(left)
  }
  const isDeferred = async (): Promise<number> =>
    (await sendmail(['-bp'], '')).stdout.split('\n').filter((line) => /^[0-9A-Z]{16} /.test(line)).length
  await expect.poll(isDeferred).toBe(4)
  expect(await sendmail(['-bi'], '')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr:
      'waybill sendmail: /etc/aliases is not read: `serve --aliases` names the table of the relay, and `waybill reload` reads that again\n',
  })
  expect(await sendmail(['-qRtwo.test'], '')).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  await becomes('defer1-1@one.test', 'defer1-4@four.test')
  const [id] = /^[0-9A-Z]{16}/m.exec((await sendmail(['-bp'], '')).stdout)!
  expect(await sendmail([`-qI${id}`, '-v'], '')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(id),
  })
  await expect.poll(waiting).toHaveLength(1)
  expect(await sendmail(['-q'], '')).toEqual({ exitCode: 0, stdout: '', stderr: '' })
  await becomes()
})

test.each([
  [['a@example.net', '-q']],
  [['-q', '-t']],
  [['-bi', 'a@example.net']],
  [['-bp', '-t']],
  [['-bs', 'a@example.net']],
])('%j would let a message go unread, and is refused', async (words) => {
  const ended = await sendmail(words, text)
  expect(ended).toMatchObject({ exitCode: 64, stdout: '' })
  expect(ended.stderr).toMatch(/^waybill sendmail: recipients are for a message/)
})

test.each(['-XV', '-XV+='])('%s would leave all recipients with one sender, and is refused', async (word) => {
  const ended = await sendmail([word, '-f', 'list@example.org', 'a@example.net'], text)
  expect(ended).toMatchObject({ exitCode: 64, stdout: '' })
  expect(ended.stderr).toMatch(/^waybill sendmail: -XV: .*VERP/)
})

test('a directory that is no queue is a matter of configuration', async () => {
  const foreign = join(directory, 'foreign')
  await mkdir(foreign)
  await writeFile(join(foreign, 'letter.txt'), '')
  expect(await runWaybill(['sendmail', '--queue', foreign, 'a@example.net'], { directory })).toMatchObject({
    exitCode: 78,
    stderr: expect.stringContaining(`no queue at ${foreign}`) as string,
  })
})

test.each<[ErrorCode, number]>([
  ['ADDRESS_INVALID', 65],
  ['MESSAGE_TOO_LARGE', 65],
  ['DISK_FULL', 75],
  ['QUEUE_LOCKED', 75],
  ['QUEUE_CRASHED', 75],
  ['FORMAT_NEWER', 78],
  ['OPTION_INVALID', 78],
  ['LOG_CORRUPT', 74],
  ['DISK_FAILED', 74],
])('%s is exit code %d', (code, exitCode) => {
  expect(sysexitOfError(new WaybillError(code, 'x'))).toBe(exitCode)
})

test('what this user may not do is 77, whatever says so; what nobody foresaw is 70', () => {
  expect(sysexitOfError(new WaybillError('DISK_FAILED', 'x', { errno: 'EACCES' }))).toBe(77)
  // The program that sends keeps the mail until the disk is mended.
  expect(sysexitOfError(new WaybillError('DISK_FAILED', 'x', { errno: 'EROFS' }))).toBe(75)
  expect(sysexitOfError(Object.assign(new Error('x'), { errno: -30, code: 'EROFS' }))).toBe(75)
  expect(sysexitOfError(Object.assign(new Error('x'), { errno: -1, code: 'EPERM' }))).toBe(77)
  expect(sysexitOfError(Object.assign(new Error('x'), { errno: -20, code: 'ENOTDIR' }))).toBe(74)
  expect(sysexitOfError(new Error('x'))).toBe(70)
})

test('the worst outcome decides: one that failed for good before one that is put off', () => {
  const failed = { kind: 'failed', status: '5.1.1', reason: 'no' } as const
  const deferred = { kind: 'deferred', status: '4.2.1', reason: 'later' } as const
  expect(sysexitOfResult([{ kind: 'delivered' }, deferred, failed])).toBe(69)
  expect(sysexitOfResult([{ kind: 'delivered' }, deferred])).toBe(75)
  expect(sysexitOfResult({ kind: 'delivered' })).toBe(0)
})

test('over SMTP a recipient that is refused is 69, one that is put off 75', async () => {
  const sink = await openSink()
  try {
    const to = ['--smtp', `${sink.host}:${sink.port}`]
    const over = (recipient: string): Promise<Ended> =>
      runWaybill(['sendmail', ...to, recipient], { directory, input: text })
    expect(await over('fail-1@example.net')).toMatchObject({ exitCode: 69 })
    expect(await over('defer9-1@example.net')).toMatchObject({ exitCode: 75 })
    expect(await over('ok-1@example.net')).toMatchObject({ exitCode: 0 })
  } finally {
    sink.close()
  }
})

test('an argument without any address is told of, and nothing is sent', async () => {
  const run = await sendmail(['-i', 'a@example.net', 'two words'], text)
  expect(run).toMatchObject({
    exitCode: 64,
    stderr: "waybill sendmail: there is no address in 'two words'\n",
  })
  expect(await lying()).toEqual([])
})

test('without a relay a bad address is refused as with one, and the others get the message', async () => {
  relay = new RelayProcess(local())
  await relay.start()
  await relay.kill()
  const bad = await sendmail(['bad address@@x.example', 'good@example.net'], text)
  expect(bad).toMatchObject({
    exitCode: 69,
    stderr: expect.stringMatching(/: 501 5\.1\.3 bad address syntax\n$/),
  })
  const sender = await sendmail(['-f', 'a\u0003@b.example', 'good@example.net'], text)
  expect(sender).toMatchObject({ exitCode: 69, stderr: 'waybill sendmail: 501 5.1.7 bad address syntax\n' })
  expect(await readdir(join(queue(), 'maildrop'))).toHaveLength(1)
  await relay.start()
  await expect.poll(() => delivered(join(directory, 'maildir'))).toBe(1)
})

test.each([
  ['DOM\\ada', '"DOM\\\\ada"@o.example'],
  ['John Doe', '"John Doe"@o.example'],
  ['DOM\\ada@b.example', '"DOM\\\\ada"@b.example'],
])('the sender %s is %s', async (name, sender) => {
  expect(await sendmail(['--origin', 'o.example', '-f', name, 'a@b'], text)).toMatchObject({ exitCode: 0 })
  expect(await lying()).toMatchObject([{ sender }])
})

test('standard input that is a directory is tried again, and a full standard error changes nothing', async () => {
  laySmallQueue(queue())
  const call = `"${process.execPath}" "${waybillPath}" sendmail -v --queue "${queue()}" a@example.net`
  const shell = (words: string): Promise<Ended> => runProgram('sh', ['-c', words], { directory })
  expect(await shell(`${call} </`)).toMatchObject({ exitCode: 75 })
  expect(await shell(`echo x | ${call} 2>/dev/full`)).toMatchObject({ exitCode: 0 })
  expect(await lying()).toHaveLength(1)
})
