/** Mail for aliases, from any client. */
import { expect, onTestFinished, test } from 'vitest'
import { aliasesIn } from '../../../src/relay/tables/aliases.js'
import { relayDomainsIn } from '../../../src/relay/tables/relay-domains.js'
import { listenSmtp, type Refusal, type SmtpServerOptions } from '../../../src/relay/smtp-in/smtp-in.js'
import { certificate } from '../certificate.js'
import { greetedClient, codesTo, type RawClient, taken, unknown, denied } from '../raw-client.js'
import { connected, encrypted, listen, memoryQueue } from './smtp-in-fixture.js'
import { base64, usersWith } from '../tables/users-fixture.js'

const aliases = aliasesIn(
  [
    'info@small.example ada@small.example, Bob@example.net',
    'sales@small.example bob@example.net, carol@example.net',
    'team@small.example a@team.example b@team.example c@team.example',
    '@old.example @new.example',
    '@a.example @b.example @c.example',
    'u@b.example b1@x.example b2@x.example b3@x.example',
    'u@c.example c1@x.example c2@x.example c3@x.example',
    'postmaster@mx.example.net ada@small.example',
    'grüße@small.example ada@small.example',
    'list@small.example list@small.example dave@example.net',
  ].join('\n'),
  'aliases',
)

/** Every client is a stranger. */
const strict = {
  purpose: 'relay',
  trust: ['192.0.2.1'],
  greetDelayMs: 1,
  relayDomains: relayDomainsIn('ada@small.example\n', 'domains'),
  aliases,
} as const satisfies Partial<SmtpServerOptions>

/** Behind EHLO and MAIL. */
async function sending(options: Partial<SmtpServerOptions> = {}, queue = memoryQueue()): Promise<RawClient> {
  const client = await connected(await listen(queue, { ...strict, ...options }))
  await client.reply()
  await client.say('EHLO c.example')
  await client.say('MAIL FROM:<s@example.org>')
  return client
}

/** @returns recipients of the message that is kept last */
async function recipientsOf(
  client: RawClient,
  queue: ReturnType<typeof memoryQueue>,
): Promise<readonly unknown[]> {
  expect(await client.say('DATA')).toMatch(/^354 /)
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
  return queue.kept.at(-1)!.recipients
}

const tooMany = '452 4.5.3'
const wrong = '451 4.6.0'

const infoOrcpt = 'rfc822;info@small.example'

test.each(['relay', 'local'] as const)(
  'a stranger writes to an alias, which may lead outside, and not to what it leads to: %s',
  async (purpose) => {
    const queue = memoryQueue()
    const client = await sending({ purpose }, queue)
    const paths = ['<info@small.example>', '<bob@example.net>', '<sale@small.example>', '<user@old.example>']
    expect(await codesTo(client, paths)).toEqual([taken, denied, unknown, taken])
    expect(await recipientsOf(client, queue)).toEqual([
      { address: 'ada@small.example', orcpt: infoOrcpt },
      { address: 'Bob@example.net', orcpt: infoOrcpt },
      { address: 'user@new.example', orcpt: 'rfc822;user@old.example' },
    ])
  },
)

test.each([
  ['the percent hack', '<user%example.net@old.example>', denied],
  ['a bang path', '<example.net!user@old.example>', denied],
  ['an address in quotes', '<"user@example.net"@old.example>', denied],
  ['a source route', '<@old.example:user@example.net>', denied],
  ['a domain below', '<user@a.old.example>', denied],
  ['where it leads', '<user@new.example>', denied],
  ['no user', '<@old.example>', '501 5.1.3'],
])('a stranger reaches nobody else by %s', async (_, path, reply) => {
  expect((await codesTo(await sending(), [path]))[0]).toMatch(new RegExp(`^${reply.slice(0, 3)} `))
})

test('aliases are for users that have logged in as well, and their mail to others goes there as ever', async () => {
  const queue = memoryQueue()
  const listener = await listen(queue, { ...strict, tls: certificate, users: usersWith({ ada: 'secret' }) })
  const plain = await connected(listener)
  await plain.reply()
  await plain.say('EHLO c.example')
  await plain.say('STARTTLS')
  const client = await encrypted(plain)
  await client.say('EHLO c.example')
  expect(await client.say(`AUTH PLAIN ${base64('\0ada\0secret')}`)).toMatch(/^235 /)
  await client.say('MAIL FROM:<s@example.org>')
  const paths = [
    '<Carol@Example.net>',
    '<user%x@old.example>',
    '<sales@small.example>',
    '<eve@small.example>',
  ]
  expect(await codesTo(client, paths)).toEqual([taken, taken, taken, unknown])
  expect(await recipientsOf(client, queue)).toEqual([
    'Carol@Example.net',
    { address: 'user%x@new.example', orcpt: 'rfc822;user%x@old.example' },
    { address: 'bob@example.net', orcpt: 'rfc822;sales@small.example' },
  ])
})

test('<postmaster> is that of our name, who may be an alias', async () => {
  const queue = memoryQueue()
  const client = await sending({}, queue)
  expect(await codesTo(client, ['<postmaster>'])).toEqual([taken])
  expect(await recipientsOf(client, queue)).toEqual([
    { address: 'ada@small.example', orcpt: 'rfc822;postmaster@mx.example.net' },
  ])
})

test('<postmaster> is that of our name where aliases alone say who is here, too', async () => {
  const { relayDomains: _, ...without } = strict
  const queue = memoryQueue()
  const clientOf = async (hostname: string): Promise<RawClient> => {
    const client = await connected(await listen(queue, { ...without, hostname }))
    await client.reply()
    await client.say('EHLO c.example')
    await client.say('MAIL FROM:<s@example.org>')
    return client
  }
  const client = await clientOf('mx.example.net')
  expect(await codesTo(client, ['<postmaster@mx.example.net>', '<Postmaster>'])).toEqual([taken, taken])
  expect(await recipientsOf(client, queue)).toHaveLength(1)
  expect(await codesTo(await clientOf('other.example.net'), ['<postmaster>'])).toEqual([denied])
})

test('an address behind two aliases that is named itself gets the message once', async () => {
  const queue = memoryQueue()
  const client = await sending({}, queue)
  const paths = [
    '<ADA@small.example>',
    '<info@small.example>',
    '<INFO@small.example>',
    '<sales@small.example>',
  ]
  expect(await codesTo(client, paths)).toEqual([taken, taken, taken, taken])
  const recipients = await recipientsOf(client, queue)
  expect(
    recipients.map((one) => (typeof one === 'string' ? one : (one as { address: string }).address)),
  ).toEqual(['ADA@small.example', 'Bob@example.net', 'carol@example.net'])
})

test('the same user at two domains that are no names is two recipients', async () => {
  const queue = memoryQueue()
  const client = await sending({ trust: ['127.0.0.1'] }, queue)
  await client.say('RSET')
  await client.say('MAIL FROM:<s@example.org> SMTPUTF8')
  // Smtp-server takes them, and the DNS has neither.
  const addresses = ['ada@\u06dd.example', 'ada@\ufdd0.example']
  expect(
    await codesTo(
      client,
      addresses.map((address) => `<${address}>`),
    ),
  ).toEqual([taken, taken])
  expect(await recipientsOf(client, queue)).toEqual(addresses)
})

test.each([
  ['NOTIFY=SUCCESS', '', { notify: ['success', 'failure', 'delay'], orcpt: infoOrcpt }],
  ['', 'NOTIFY=NEVER', { notify: undefined, orcpt: infoOrcpt }],
  ['NOTIFY=NEVER', 'NOTIFY=SUCCESS', { notify: ['success'], orcpt: 'rfc822;sales@small.example' }],
  ['NOTIFY=NEVER', 'NOTIFY=NEVER', { notify: 'never', orcpt: 'rfc822;sales@small.example' }],
  [
    'NOTIFY=DELAY ORCPT=rfc822;x@y.example',
    'NOTIFY=FAILURE',
    { notify: ['failure', 'delay'], orcpt: 'rfc822;x@y.example' },
  ],
])(
  'a recipient behind two aliases is reported on when either asks for it: %s and %s',
  async (one, other, asked) => {
    const queue = memoryQueue()
    const client = await sending({}, queue)
    await codesTo(client, [`<info@small.example> ${one}`, `<sales@small.example> ${other}`])
    const recipients = (await recipientsOf(client, queue)) as { address: string }[]
    expect(recipients.find(({ address }) => /^bob@/i.test(address))).toMatchObject(asked)
  },
)

test('what was asked of an alias, and the recipient that the client gave, go with each', async () => {
  const queue = memoryQueue()
  const client = await sending({}, queue)
  const asked = 'NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;Info@elsewhere.example'
  expect(await codesTo(client, [`<info@small.example> ${asked}`])).toEqual([taken])
  const notify = ['success', 'failure']
  const orcpt = 'rfc822;Info@elsewhere.example'
  expect(await recipientsOf(client, queue)).toEqual([
    { address: 'ada@small.example', notify, orcpt },
    { address: 'Bob@example.net', notify, orcpt },
  ])
})

test('an address that its own line names beside others gets mail with them', async () => {
  const queue = memoryQueue()
  const client = await sending({}, queue)
  expect(await codesTo(client, ['<list@small.example> NOTIFY=NEVER'])).toEqual([taken])
  const asked = { notify: 'never', orcpt: 'rfc822;list@small.example' }
  expect(await recipientsOf(client, queue)).toEqual([
    { address: 'list@small.example', ...asked },
    { address: 'dave@example.net', ...asked },
  ])
})

test('an address that becomes too long is put off, for it is no fault of the client', async () => {
  const text = `long@small.example ${'l'.repeat(460)}@example.net`
  const client = await sending({ aliases: aliasesIn(text, 'aliases', '+') })
  const paths = [`<long+${'x'.repeat(50)}@small.example>`, '<long+x@small.example>']
  expect(await codesTo(client, paths)).toEqual([wrong, taken])
})

test('an alias of other letters is an original recipient in the form that ASCII has for it', async () => {
  const queue = memoryQueue()
  const client = await sending({}, queue)
  await client.say('RSET')
  await client.say('MAIL FROM:<s@example.org> SMTPUTF8')
  expect(await codesTo(client, ['<grüße@small.example>'])).toEqual([taken])
  expect(await recipientsOf(client, queue)).toEqual([
    { address: 'ada@small.example', orcpt: 'utf-8;gr\\x{FC}\\x{DF}e@small.example' },
  ])
})

test('a recipient that would make a message longer than it may be is for the next one, whatever became of those before', async () => {
  const queue = memoryQueue()
  const client = await sending({ recipientCountMax: 4 }, queue)
  const paths = [
    '<team@small.example>',
    '<info@small.example>',
    '<ada@small.example>',
    '<Team@small.example>',
  ]
  expect(await codesTo(client, paths)).toEqual([taken, tooMany, taken, taken])
  expect(await recipientsOf(client, queue)).toHaveLength(4)
  await client.say('MAIL FROM:<s@example.org>')
  expect(await codesTo(client, ['<team@small.example>'])).toEqual([taken])
  await client.say('RSET')
  await client.say('MAIL FROM:<s@example.org>')
  expect(await codesTo(client, ['<info@small.example>', '<sales@small.example>'])).toEqual([taken, taken])
  expect(await recipientsOf(client, queue)).toHaveLength(3)
})

test('a client that names the same many again and again is told that a message is full, though it has few', async () => {
  const queue = memoryQueue()
  const client = await sending(
    { recipientCountMax: 4, aliases: aliasesIn('@all.example a@x.example b@x.example', 'aliases') },
    queue,
  )
  const paths = Array.from({ length: 4 }, (_, i) => `<u${i}@all.example>`)
  for (let i = 0; i < 5; i++) expect(await codesTo(client, paths)).toEqual(paths.map(() => taken))
  expect(await codesTo(client, paths)).toEqual(paths.map(() => tooMany))
  expect(await recipientsOf(client, queue)).toHaveLength(2)
  await client.say('MAIL FROM:<s@example.org>')
  expect(await codesTo(client, paths)).toEqual(paths.map(() => taken))
})

test('a stranger with more recipients than a message has room for is not turned away, until they are far too many', async () => {
  const queue = memoryQueue()
  const client = await sending({ recipientCountMax: 4 }, queue)
  const others = Array.from({ length: 30 }, () => '<info@small.example>')
  expect(await codesTo(client, ['<team@small.example>', ...others])).toEqual([
    taken,
    ...others.map(() => tooMany),
  ])
  expect(await recipientsOf(client, queue)).toHaveLength(3)
  await client.say('MAIL FROM:<s@example.org>')
  client.send('RCPT TO:<team@small.example>\r\n' + 'RCPT TO:<info@small.example>\r\n'.repeat(2000))
  await client.closed
})

test('a long list fits one message where the operator lets an alias become so many, once', async () => {
  const many = Array.from({ length: 3000 }, (_, i) => `u${i}@x.example`)
  const table = `list@all.example ${many.join('\n ')}\none@all.example u1@x.example\ntwo@all.example v@x.example\n`
  const queue = memoryQueue(undefined, { dataBytesMax: 2_000_000, recipientCountMax: 100_000 })
  const client = await sending({ aliases: aliasesIn(table, 'aliases', '', 3000) }, queue)
  const paths = ['<one@all.example>', '<list@all.example>', '<list@all.example>', '<two@all.example>']
  expect(await codesTo(client, paths)).toEqual([taken, taken, taken, tooMany])
  expect(await recipientsOf(client, queue)).toHaveLength(3000)

  const small = memoryQueue(undefined, { dataBytesMax: 2_000_000, recipientCountMax: 2999 })
  const other = await sending({ aliases: aliasesIn(table, 'aliases', '', 3000) }, small)
  expect(await codesTo(other, paths)).toEqual([taken, wrong, wrong, taken])
})

test('the bound is that of the queue where it takes less', async () => {
  const queue = memoryQueue(undefined, { dataBytesMax: 2_000_000, recipientCountMax: 4 })
  const client = await sending({}, queue)
  expect(await codesTo(client, ['<team@small.example>', '<info@small.example>'])).toEqual([taken, tooMany])
})

test('an alias of more than fit into any message is put off, and the refusal is told', async () => {
  const refusals: Refusal[] = []
  const onRefusal = (refusal: Refusal): void => void refusals.push(refusal)
  const client = await sending({ recipientCountMax: 4, onRefusal })
  expect(await codesTo(client, ['<v@a.example>', '<u@a.example>'])).toEqual([taken, wrong])
  expect(refusals.map(({ recipient, reply }) => [recipient, reply])).toEqual([
    ['u@a.example', '4.6.0 alias expansion error'],
  ])
})

test('a recipient that got 250 goes where the table said then, whatever it says later', async () => {
  const queue = memoryQueue()
  const listener = await listenSmtp(queue, {
    places: [{ host: '127.0.0.1', port: 0 }],
    hostname: 'mx.example.net',
    received: false,
    ...strict,
  })
  onTestFinished(() => listener.close())
  const client = await greetedClient(listener.ports[0]!.port)
  await client.say('MAIL FROM:<s@example.org>')
  expect(await codesTo(client, ['<user@old.example>', '<help@small.example>'])).toEqual([taken, unknown])
  await listener.takeUp({ aliases: aliasesIn('help@small.example ada@small.example', 'aliases') })
  expect(await codesTo(client, ['<other@old.example>', '<help@small.example>'])).toEqual([denied, taken])
  expect(await recipientsOf(client, queue)).toEqual([
    { address: 'user@new.example', orcpt: 'rfc822;user@old.example' },
    { address: 'ada@small.example', orcpt: 'rfc822;help@small.example' },
  ])
  await listener.takeUp({})
  await client.say('MAIL FROM:<s@example.org>')
  expect(await codesTo(client, ['<help@small.example>'])).toEqual([taken])
})

test('a server that began without aliases gets none', async () => {
  const { aliases: none, ...without } = strict
  const queue = memoryQueue()
  const listener = await listenSmtp(queue, { places: [{ host: '127.0.0.1', port: 0 }], ...without })
  onTestFinished(() => listener.close())
  await listener.takeUp({ aliases: none })
  const client = await greetedClient(listener.ports[0]!.port)
  await client.say('MAIL FROM:<s@example.org>')
  expect(await codesTo(client, ['<info@small.example>', '<user@old.example>'])).toEqual([unknown, denied])
})
