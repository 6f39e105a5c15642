/** One message over a session. */
import type { Client } from './client.js'

export interface Mail {
  readonly recipients: readonly string[]
  /** Lines with CRLF; none begins with a dot. */
  readonly body: string
}

const line = `${'x'.repeat(70)}\r\n`

/** @returns mail of about so many bytes */
export const mailOf = (bytes: number, recipients: readonly string[]): Mail => ({
  recipients,
  body: line.repeat(Math.max(1, Math.round(bytes / line.length))),
})

export const usualMail: Mail = mailOf(1024, ['recipient@example.net'])

/** @param onData the end of the data leaves now */
export async function send(
  client: Client,
  id: number,
  onData: () => unknown = () => undefined,
  { recipients, body }: Mail = usualMail,
): Promise<void> {
  await client.ask('MAIL FROM:<sender@example.org>\r\n', 250)
  const lines = recipients.map((recipient) => `RCPT TO:<${recipient}>\r\n`)
  await client.ask(lines.join(''), 250, recipients.length)
  await client.ask('DATA\r\n', 354)
  onData()
  await client.ask(`From: sender@example.org\r\nX-Bench: ${id}\r\nSubject: bench\r\n\r\n${body}.\r\n`, 250)
}
