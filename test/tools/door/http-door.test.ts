/** Mail over HTTP, between the API and the queue. */
import { expect, test } from 'vitest'
import { aliasesIn } from '../../../src/relay/tables/aliases.js'
import { isWaybillError } from '../../../src/errors.js'
import { withAliases, type RelayDoor } from '../../../tools/commands/door/door.js'

const client = { address: '127.0.0.1', token: 'shop' }
const mail = { sender: 'shop@example.org', data: 'Subject: x\r\n\r\nx\r\n' }

function door(countMax: number): { readonly port: RelayDoor; readonly submitted: unknown[] } {
  const submitted: unknown[] = []
  const port = {
    limits: { dataBytesMax: 1000, recipientCountMax: countMax },
    submit: async (submission: { readonly recipients: unknown }, by?: object) => {
      submitted.push(submission.recipients, by)
      return { id: '1' }
    },
  }
  return { port: port as unknown as RelayDoor, submitted }
}

test('mail for an alias goes where the table says, by whatever door it comes', async () => {
  const { port, submitted } = door(10)
  const table = aliasesIn('info@example.com ada@example.com, bob@example.net', 'aliases', '')
  await withAliases(port, () => table).submit({ ...mail, recipients: ['info@example.com', 'x@y.z'] }, client)
  const [recipients, by] = submitted as [({ address: string } | string)[], unknown]
  const addresses = recipients.map((one) => (typeof one === 'string' ? one : one.address))
  expect(addresses).toEqual(['ada@example.com', 'bob@example.net', 'x@y.z'])
  expect(by).toBe(client)
  await withAliases(port, () => undefined).submit({ ...mail, recipients: ['info@example.com'] }, client)
  expect(submitted.at(-2)).toEqual(['info@example.com'])
})

test('an alias that stands for more than a message may have is refused', async () => {
  const { port } = door(1)
  const table = aliasesIn('info@example.com ada@example.com, bob@example.net', 'aliases', '')
  const sent = (async () =>
    withAliases(port, () => table).submit({ ...mail, recipients: ['info@example.com'] }, client))()
  await expect(sent).rejects.toSatisfy((error) => isWaybillError(error, 'RECIPIENTS_TOO_MANY'))
})
