/** The hex dump of FORMAT.md §7 as bytes, and bytes as such a dump. */

const bytesPerLine = 16

/** Lines `offset bytes`; `*` stands for lines equal to the one before it; the last line is
 * the length alone. */
export function parseDump(text: string): Buffer {
  const lines: { readonly offset: number; readonly bytes: Buffer }[] = []
  let length = 0
  for (const line of text.split('\n')) {
    const [offset, ...digits] = line.replace(/ {2}\|.*$/, '').split(/ +/)
    if (offset === undefined || offset === '' || offset === '*') continue
    if (digits.length === 0) length = Number.parseInt(offset, 16)
    else lines.push({ offset: Number.parseInt(offset, 16), bytes: Buffer.from(digits.join(''), 'hex') })
  }
  const dump = Buffer.alloc(length)
  lines.forEach(({ offset, bytes }, i) => {
    const end = lines[i + 1]?.offset ?? length
    for (let at = offset; at < end; at += bytesPerLine) bytes.copy(dump, at)
  })
  return dump
}

export function dumpOf(bytes: Buffer): string {
  const lines: string[] = []
  let before = ''
  for (let at = 0; at < bytes.length; at += bytesPerLine) {
    const line = bytes.subarray(at, at + bytesPerLine)
    const digits = Array.from(line, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const text = Array.from(line, (byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : '.'))
    if (digits !== before) lines.push(`${hex(at)}  ${digits}  |${text.join('')}|`)
    else if (lines.at(-1) !== '*') lines.push('*')
    before = digits
  }
  return [...lines, hex(bytes.length)].join('\n')
}

const hex = (offset: number): string => offset.toString(16).padStart(6, '0')
