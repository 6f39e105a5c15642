/** Mail that `waybill submit` gives to a relay, as a separate process. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startedRelay } from '../../end-to-end/relay-process.js'
import { runWaybill } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

interface Listed {
  readonly sender: string
  readonly recipients: readonly { readonly address: string }[]
}

test('mail over the control socket goes through aliases, always_bcc and hold, as mail by SMTP does', async () => {
  const directory = await temporaryDirectory('submitted')
  const at = (name: string): string => join(directory, name)
  await writeFile(at('aliases'), 'info@example.com ada@example.com, bob@example.com\n')
  await writeFile(at('routes'), 'held.example hold:\n')
  const lines = ['info@example.com', 'cleo@held.example'].map((to, n) => ({
    from: `sender${n}@example.org`,
    to,
    subject: 'x',
    text: 'x',
  }))
  await writeFile(at('mail.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const tables = [
    '--aliases',
    at('aliases'),
    '--routes',
    at('routes'),
    '-o',
    'always_bcc=archive@example.net',
  ]
  const relay = await startedRelay(['--queue', at('queue'), '--relay', '127.0.0.1:9', '--freeze', ...tables])
  const sent = await runWaybill(['submit', '--queue', at('queue'), '--jsonl', at('mail.jsonl')], {
    directory,
  })
  expect(sent).toMatchObject({ exitCode: 0, stdout: '2 messages submitted\n' })
  const listed = await runWaybill(['mailq', '--queue', at('queue'), '--json'], { directory })
  const mail = listed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Listed)
    .toSorted((a, b) => (a.sender < b.sender ? -1 : 1))
  expect(mail.map(({ recipients }) => recipients.map(({ address }) => address))).toEqual([
    ['ada@example.com', 'bob@example.com', 'archive@example.net'],
    ['cleo@held.example', 'archive@example.net'],
  ])
  const accepted = relay.log.split('\n').filter((line) => line.includes('"msg":"accepted"'))
  const isHeld = (line: string): boolean => (JSON.parse(line) as { readonly hold?: boolean }).hold === true
  expect([accepted.length, accepted.filter(isHeld).length]).toEqual([2, 1])
})
