/** What an operator finds in the relay's log of a message, from a process of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { RelayProcess } from '../end-to-end/relay-process.js'
import { rawClient, untilData, type RawClient } from '../relay/raw-client.js'

async function served(
  args: (directory: string) => string[],
): Promise<{ relay: RelayProcess; client: RawClient }> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-log-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const relay = new RelayProcess(['--queue', join(directory, 'queue'), ...args(directory)])
  await relay.start()
  onTestFinished(() => relay.kill())
  const client = await rawClient(relay.endpoint.port)
  onTestFinished(() => client.destroy())
  return { relay, client }
}

interface Line {
  readonly msg?: string
}

const linesOf = ({ log }: RelayProcess, word: string): Line[] =>
  log
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line)
    .filter(({ msg }) => msg === word)

const from = { address: '127.0.0.1', helo: 'client.example' }

test.each(['yes', 'no'])(
  'a message has a line when it is accepted, with its client, and one when nothing of it is left; a thread for clients: %s',
  async (word) => {
    const { relay, client } = await served((directory) => [
      '--smtp-thread',
      word,
      '--maildir',
      join(directory, 'maildir'),
    ])
    await untilData(client)
    const reply = await client.say('Subject: x\r\n\r\nx\r\n.')
    const id = /queued as (\S+)/.exec(reply)?.[1]
    expect(id).toBeDefined()
    await expect.poll(() => linesOf(relay, 'finished')).toMatchObject([{ id }])
    expect(linesOf(relay, 'accepted')).toMatchObject([
      { id, client: { address: '127.0.0.1' }, recipientCount: 1, dataBytes: expect.any(Number) as number },
    ])
  },
)

test.each(['yes', 'no'])(
  'who is refused stands in the log, with what he was told; a thread for clients: %s',
  async (word) => {
    const trust = ['--relay', '127.0.0.1:9', '--trust', '192.0.2.1']
    const { relay, client } = await served(() => ['--smtp-thread', word, ...trust])
    await client.reply()
    await client.say('EHLO client.example')
    await client.say('MAIL FROM:<a@example.org>')
    await client.say('RCPT TO:<b@example.net>')
    const reply = expect.stringContaining('relay access denied') as string
    await expect
      .poll(() => linesOf(relay, 'refused'))
      .toMatchObject([{ client: from, sender: 'a@example.org', recipient: 'b@example.net', reply }])
  },
)
