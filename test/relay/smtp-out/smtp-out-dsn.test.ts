/** What is asked with a message (RFC 3461) goes on to servers that offer DSN, and no
 * other hears of it. */
import { expect, test } from 'vitest'
import type { RequestDsn } from '../../../src/delivery/transport.js'
import { deliver } from '../request.js'
import { between } from './smtp-out-fixture.js'

const recipients = ['a@example.net', 'b@example.net', 'c@example.net', 'd@example.net']
const dsn: RequestDsn = {
  ret: 'headers',
  envid: 'QQ=1 +2',
  recipients: [
    { notify: ['success', 'delay'], orcpt: 'rfc822;a+b=c@example.org' },
    { notify: 'never' },
    {},
    { orcpt: 'X400;/C=US/ S=x' },
  ],
}
const withDsn = ['8BITMIME', 'DSN', 'SMTPUTF8']
const words = (commands: readonly string[]): string[] =>
  commands.filter((line) => /MAIL|RCPT/.test(line)).map((line) => line.replace(/^\d+ /, ''))

test.each([
  ['one command after the other', withDsn],
  ['all commands in one piece', ['PIPELINING', ...withDsn]],
])('a server that offers DSN gets the requests of each recipient: %s', async (_, extensions) => {
  const { server, transport } = await between(undefined, {}, extensions)
  const result = await deliver(transport, { recipients, dsn })
  expect(result).toEqual({ kind: 'delivered', response: '250 2.0.0 taken', relayed: 'with-dsn' })
  expect(words(server.commands)).toEqual([
    'MAIL FROM:<sender@example.org> RET=HDRS ENVID=QQ+3D1+20+2B2',
    'RCPT TO:<a@example.net> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;a+2Bb+3Dc@example.org',
    'RCPT TO:<b@example.net> NOTIFY=NEVER',
    'RCPT TO:<c@example.net>',
    'RCPT TO:<d@example.net> ORCPT=X400;/C+3DUS/+20S+3Dx',
  ])
})

test('the next message on a connection asks for what is asked with it, or for nothing', async () => {
  const { server, transport } = await between(undefined, {}, ['PIPELINING', ...withDsn])
  await deliver(transport, { recipients: ['a@example.net'], dsn: { ...dsn, ret: 'full', envid: undefined } })
  await deliver(transport, { recipients: ['b@example.net'], smtputf8: true })
  expect(await deliver(transport)).toEqual({ kind: 'delivered', response: '250 2.0.0 taken' })
  expect(server.sessionCount()).toBe(1)
  expect(words(server.commands)).toEqual([
    'MAIL FROM:<sender@example.org> RET=FULL',
    'RCPT TO:<a@example.net> NOTIFY=SUCCESS,DELAY ORCPT=rfc822;a+2Bb+3Dc@example.org',
    'MAIL FROM:<sender@example.org> SMTPUTF8',
    'RCPT TO:<b@example.net>',
    'MAIL FROM:<sender@example.org>',
    'RCPT TO:<one@example.net>',
  ])
})

test('a server that does not offer DSN is told nothing, and what it takes is relayed without', async () => {
  const { server, transport } = await between((line) =>
    line.includes('<b@') ? '550 5.1.1 no such user' : undefined,
  )
  const relayed = { kind: 'delivered', response: '250 2.0.0 taken', relayed: 'without-dsn' }
  expect(await deliver(transport, { recipients, dsn })).toEqual([
    relayed,
    { kind: 'failed', status: '5.1.1', reason: '550 5.1.1 no such user' },
    relayed,
    relayed,
  ])
  expect(words(server.commands).join()).not.toMatch(/RET|ENVID|NOTIFY|ORCPT/)
})

test('a server whose name has DSN in it has not offered it', async () => {
  const ehlo = '250-mail-dsn.example.net at your service, no DSN here\r\n250-PIPELINING\r\n250 X-DSN'
  const { server, transport } = await between((line) => (line.startsWith('EHLO') ? ehlo : undefined))
  const result = await deliver(transport, { recipients, dsn })
  expect(result).toMatchObject({ kind: 'delivered', relayed: 'without-dsn' })
  expect(words(server.commands).join()).not.toMatch(/RET|ENVID|NOTIFY|ORCPT/)
})
