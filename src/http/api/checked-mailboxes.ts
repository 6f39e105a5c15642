/** The mailboxes of a message that is to be composed.
 * Invariant: each names one address. The composer leaves out what has none, and a second address:
 *    1. a client asks for `to: ['ada@example.org', 'bob']`
 *    2. it is answered that the message is accepted
 *    3. `bob@example.org`, which it meant, gets nothing, and nobody hears of it */
import { WaybillError } from '../../errors.js'
import { addressesAnywhereIn } from '../../relay/mime/header-addresses.js'

/** As JSON has it: `Ada <ada@example.org>`, a list of such separated by commas, or its parts. */
export type Mailbox = string | { readonly name?: string; readonly address: string }

type Parser = (typeof import('nodemailer/lib/addressparser'))['default']

/** @param mailboxes by the names of their members
 * @throws WaybillError ADDRESS_INVALID */
export async function checkMailboxes(
  mailboxes: Readonly<Record<string, Mailbox | readonly Mailbox[] | undefined>>,
): Promise<void> {
  const { default: parse } = await import('nodemailer/lib/addressparser')
  for (const [member, value = []] of Object.entries(mailboxes)) {
    const list = Array.isArray(value) ? (value as readonly Mailbox[]) : [value as Mailbox]
    for (const mailbox of list) {
      const wrong = withoutAddress(mailbox, parse)
      if (wrong !== undefined)
        throw new WaybillError('ADDRESS_INVALID', `${JSON.stringify(wrong.slice(0, 100))} is no address`, {
          option: member,
        })
    }
  }
}

const addresses = (mailbox: Mailbox, parse: Parser): { readonly name: string; readonly address: string }[] =>
  typeof mailbox === 'string' ? parse(mailbox, { flatten: true }) : [{ name: '', ...mailbox }]

function withoutAddress(mailbox: Mailbox, parse: Parser): string | undefined {
  const parts = addresses(mailbox, parse)
  const wrong = parts.find(({ address }) => !/.@./.test(address))
  if (wrong !== undefined) return wrong.address || wrong.name
  return typeof mailbox === 'string' && leavesOut(parts, mailbox) ? mailbox : undefined
}

/** The parser takes one address of each mailbox, and makes the others its name, or drops them: in
 * `ada@example.org bob@example.org`, for one. The reader of headers skips none. */
function leavesOut(parts: ReturnType<typeof addresses>, text: string): boolean {
  const taken = new Set(parts.map(({ address }) => comparable(address)))
  return !addressesAnywhereIn(text).every((address) => taken.has(comparable(address)))
}

/** One writes quotes, escapes and blanks that the other leaves out. */
const comparable = (address: string): string => address.replace(/["\\\s]/g, '')
