/** One message over a session. */
import type { Client } from './client.js'

/** @param onData the end of the data leaves now */
export async function send(
  client: Client,
  id: number,
  onData: () => unknown = () => undefined,
): Promise<void> {
  await client.ask('MAIL FROM:<sender@example.org>\r\n', 250)
  await client.ask('RCPT TO:<recipient@example.net>\r\n', 250)
  await client.ask('DATA\r\n', 354)
  onData()
  await client.ask(`X-Bench: ${id}\r\nSubject: bench\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(14)}.\r\n`, 250)
}
