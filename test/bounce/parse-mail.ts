/** Reads a message back: just enough of MIME to judge a report by what a receiver would see. Strict
 * where a composer could be wrong: bare line breaks, long lines and undeclared 8 bit text throw. */

export interface Entity {
  /** Unfolded; names in lower case, in order. */
  readonly fields: readonly (readonly [string, string])[]
  readonly body: Buffer
  readonly parts: readonly Entity[]
}

export function parseMail(message: Buffer): Entity {
  const text = message.toString('latin1')
  if (/[^\r]\n|\r[^\n]|[^\n]$/.test(text)) throw new Error('a line does not end in CR LF')
  if (text.split('\r\n').some((line) => line.length > 998))
    throw new Error('a line is longer than 998 octets')
  if (text.includes('\0')) throw new Error('there is a NUL')
  return parseEntity(text)
}

export const field = ({ fields }: Entity, name: string): string | undefined => {
  const found = fields.filter(([key]) => key === name)
  if (found.length > 1) throw new Error(`${name} is there ${found.length} times`)
  return found[0]?.[1]
}

/** Groups of fields as in a message/delivery-status. */
export const fieldGroups = (body: Buffer): Record<string, string>[] =>
  body
    .toString()
    .replace(/(\r\n)*$/, '')
    .split('\r\n\r\n')
    .map((group) => Object.fromEntries(parseFields(group)))

function parseEntity(text: string): Entity {
  const end = text.startsWith('\r\n') ? 0 : text.indexOf('\r\n\r\n')
  if (end < 0) throw new Error('a header does not end')
  const fields = parseFields(text.slice(0, end))
  const entity = { fields, body: Buffer.alloc(0), parts: [] }
  const type = field(entity, 'content-type') ?? 'text/plain'
  const content = text.slice(end + (end === 0 ? 2 : 4))
  const boundary = /^multipart\/.*boundary="?([^";]+)"?/is.exec(type)?.[1]
  if (boundary !== undefined) {
    const pieces = `\r\n${content}`.split(`\r\n--${boundary}`)
    if (pieces.pop()?.trim() !== '--') throw new Error('the multipart has no end')
    return { ...entity, parts: pieces.slice(1).map((piece) => parseEntity(piece.slice(2))) }
  }
  const encoding = field(entity, 'content-transfer-encoding') ?? '7bit'
  if (/[^\x20-\x7e\r\n\t]/.test(content)) throw new Error(`there are strange octets in ${type}, ${encoding}`)
  if (encoding === 'quoted-printable') return { ...entity, body: unquote(content) }
  if (encoding !== '7bit') throw new Error(`unexpected encoding ${encoding}`)
  return { ...entity, body: Buffer.from(content, 'latin1') }
}

function parseFields(text: string): [string, string][] {
  return text
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, name, value] = /^([\x21-\x39\x3b-\x7e]+):\s*(.*)$/s.exec(line) ?? []
      if (name === undefined || value === undefined) throw new Error(`not a field: ${line}`)
      return [name.toLowerCase(), value]
    })
}

const unquote = (text: string): Buffer =>
  Buffer.from(
    text
      .replace(/=\r\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  )
