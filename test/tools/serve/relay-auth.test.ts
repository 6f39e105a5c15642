/** The file of `--relay-auth`: a line of ours, or of Postfix's sasl_passwd. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Arguments } from '../../../tools/commands/cli/command.js'
import { credentialsOf } from '../../../tools/commands/tables/relay-files.js'

async function credentials(relay: string, line: string): ReturnType<typeof credentialsOf> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-relay-auth-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const path = join(directory, 'login')
  await writeFile(path, `${line}\n`)
  const given: Record<string, string> = { relay, 'relay-auth': path }
  const one = (name: string): string | undefined => given[name]
  const args: Pick<Arguments, 'one' | 'isSet'> = { one, isSet: (name) => name in given }
  return credentialsOf(args as Arguments)
}

test.each([
  ['mail.example.net:587', '[mail.example.net]:587 ada@example.org:p:w d', 'ada@example.org', 'p:w d'],
  ['[mail.example.net]:587', '[Mail.Example.net]:587\tada:secret', 'ada', 'secret'],
  ['mail.example.net:587', '[mail.example.net] ada:secret', 'ada', 'secret'],
  ['mail.example.net', 'mail.example.net ada:secret', 'ada', 'secret'],
  ['[2001:db8::1]:587', '[2001:db8::1]:587 ada:secret', 'ada', 'secret'],
  ['mail.example.net:587', 'Ada Lovelace:secret', 'Ada Lovelace', 'secret'],
  ['mail.example.net:587', 'ada:secret 587', 'ada', 'secret 587'],
])('before the relay %s the line %j is a user and a password', async (relay, line, user, pass) => {
  expect(await credentials(relay, line)).toEqual({ user, pass })
})

test.each([
  ['mail.example.net:587', '[mail.example.org]:587 ada:secret', /is for \[mail\.example\.org\]:587/],
  ['mail.example.net:587', 'mail.example.net:25 ada:secret', /is for mail\.example\.net:25/],
  ['mail.example.net:587', '[mail.example.net]:587 ada', /one line USER:PASSWORD/],
])('before the relay %s the line %j is refused', async (relay, line, reason) => {
  await expect(credentials(relay, line)).rejects.toThrow(reason)
})
