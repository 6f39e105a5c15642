/** What clients ask to be told of (RFC 3461): taken to the letter, or refused. */
import { expect, test } from 'vitest'
import type { RawClient } from '../raw-client.js'
import { connected, listen, memoryQueue } from './smtp-in-fixture.js'

async function greeted(...given: Parameters<typeof listen>): Promise<RawClient> {
  const client = await connected(await listen(...given))
  await client.reply()
  await client.say('EHLO c')
  return client
}

const mail = 'MAIL FROM:<s@example.org>'
const rcpt = (name: string): string => `RCPT TO:<${name}@example.net>`

test('DSN is offered, and what is asked goes to the queue with each recipient', async () => {
  const queue = memoryQueue()
  const client = await connected(await listen(queue))
  await client.reply()
  expect(await client.say('EHLO c')).toMatch(/^250[- ]DSN\r?$/m)
  for (const line of [
    `${mail} ret=hdrs ENVID=QQ+3D1+202+2Bx BODY=8BITMIME`,
    `${rcpt('a')} NOTIFY=success,Delay ORCPT=rfc822;list+2Ba@example.org`,
    `${rcpt('b')} notify=Never`,
    rcpt('c'),
    `${rcpt('d')} ORCPT=X400;/C+3DUS/`,
  ])
    expect(await client.say(line)).toMatch(/^250 /)
  expect(await client.say('DATA')).toMatch(/^354 /)
  expect(await client.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /)
  expect(queue.kept[0]).toMatchObject({
    dsn: { id: 'QQ=1 2+x', return: 'headers' },
    recipients: [
      { address: 'a@example.net', notify: ['success', 'delay'], orcpt: 'rfc822;list+a@example.org' },
      { address: 'b@example.net', notify: 'never' },
      'c@example.net',
      { address: 'd@example.net', orcpt: 'X400;/C=US/' },
    ],
  })
})

test.each([
  ['RET=FULL', { id: undefined, return: 'full' }],
  ['ENVID=QQ1', { id: 'QQ1', return: undefined }],
])('of a sender who says %s alone, that goes to the queue', async (parameter, dsn) => {
  const queue = memoryQueue()
  const client = await greeted(queue)
  expect(await client.say(`${mail} ${parameter}`)).toMatch(/^250 /)
  await client.say(rcpt('a'))
  await client.say('DATA')
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
  expect(queue.kept).toMatchObject([{ dsn, recipients: ['a@example.net'] }])
})

test.each([
  'RET=',
  'RET',
  'RET=BODY',
  'RET=FULL RET=FULL',
  'ENVID',
  'ENVID=',
  'ENVID=a+zz',
  'ENVID=a+2b',
  'ENVID=a=b',
  'ENVID=a+0D+0Ab',
  'ENVID=a+00b',
  'ENVID=caf\u00e9',
  `ENVID=${'x'.repeat(101)}`,
  'ENVID=a ENVID=b',
])('MAIL with %s is refused, and nothing of it stays', async (parameters) => {
  const queue = memoryQueue()
  const client = await greeted(queue)
  expect(await client.say(`${mail} ${parameters}`)).toMatch(/^501 5\.\d\.\d /)
  expect(await client.say(mail)).toMatch(/^250 /)
  await client.say(rcpt('a'))
  await client.say('DATA')
  expect(await client.say('x\r\n.')).toMatch(/^250 /)
  expect(queue.kept[0]).toMatchObject({ recipients: ['a@example.net'], dsn: undefined })
})

test.each([
  'NOTIFY',
  'NOTIFY=',
  'NOTIFY=SOMETIMES',
  'NOTIFY=NEVER,FAILURE',
  'NOTIFY=FAILURE,NEVER',
  'NOTIFY=NEVER,NEVER',
  'NOTIFY=FAILURE,',
  'NOTIFY=FAILURE NOTIFY=DELAY',
  'ORCPT',
  'ORCPT=a@example.net',
  'ORCPT=rfc822;',
  'ORCPT=;a@example.net',
  'ORCPT=rfc822;a+@example.net',
  'ORCPT=rfc822;a=b@example.net',
  'ORCPT=rfc822;a+0Ab@example.net',
  'ORCPT=utf-8;caf\u00e9@example.net',
  `ORCPT=rfc822;${'x'.repeat(494)}`,
  'ORCPT=rfc822;a ORCPT=rfc822;b',
])('RCPT with %s is refused, and the others stay', async (parameters) => {
  const queue = memoryQueue()
  const client = await greeted(queue)
  await client.say(mail)
  expect(await client.say(`${rcpt('a')} ${parameters}`)).toMatch(/^501 5\.\d\.\d /)
  expect(await client.say(`${rcpt('b')} NOTIFY=NEVER`)).toMatch(/^250 /)
  await client.say('DATA')
  await client.say('x\r\n.')
  expect(queue.kept[0]?.recipients).toEqual([{ address: 'b@example.net', notify: 'never', orcpt: undefined }])
})

test('an original recipient of letters is kept in ASCII, where SMTPUTF8 was said', async () => {
  const queue = memoryQueue()
  const client = await greeted(queue)
  await client.say(`${mail} SMTPUTF8`)
  expect(await client.say(`${rcpt('a')} ORCPT=utf-8;caf\u00e9\ud83d\ude00+2B@example.net`)).toMatch(/^250 /)
  await client.say('DATA')
  await client.say('x\r\n.')
  expect(queue.kept[0]?.recipients).toMatchObject([{ orcpt: 'utf-8;caf\\x{E9}\\x{1F600}+@example.net' }])
})

test('an original recipient that is no UTF-8 is refused, not taken for another one', async () => {
  const client = await greeted(memoryQueue())
  await client.say(`${mail} SMTPUTF8`)
  client.send(Buffer.from(`${rcpt('a')} ORCPT=utf-8;gr\u00fcn@example.net\r\n`, 'latin1'))
  expect(await client.reply()).toMatch(/^501 5\.5\.4 /)
})

test('a recipient that is named twice has the requests of the last time', async () => {
  const queue = memoryQueue()
  const client = await greeted(queue)
  await client.say(mail)
  for (const notify of ['NEVER', 'SUCCESS']) await client.say(`${rcpt('a')} NOTIFY=${notify}`)
  await client.say('DATA')
  await client.say('x\r\n.')
  expect(queue.kept[0]?.recipients).toMatchObject([{ address: 'a@example.net', notify: ['success'] }])
})

test('a server may do without: then it is not offered, and its parameters are refused', async () => {
  const client = await connected(await listen(memoryQueue(), { dsn: false }))
  await client.reply()
  expect(await client.say('EHLO c')).not.toContain('DSN')
  for (const name of ['RET', 'ENVID'])
    expect(await client.say(`${mail} ${name}=3`)).toBe(`555 5.5.4 unsupported parameter: ${name}`)
  await client.say(mail)
  for (const name of ['NOTIFY=NEVER', 'ORCPT=rfc822;a@example.net'])
    expect(await client.say(`${rcpt('a')} ${name}`)).toMatch(/^555 5\.5\.4 /)
})
