import { expect, test } from 'vitest'
import { sentenceOf } from '../../../tools/commands/look/inspection.js'
import { complaint, escapedJson, harmless, printable } from '../../../tools/commands/text/shown-text.js'
import { Output } from '../../../tools/commands/text/output.js'

/** Escape, C1's CSI, delete, marks that turn the direction, a separator of lines, a tag outside
 * the first plane. */
const hostile = 'a\x1b[2Jb\u009b31mc\x7fd\u202ee\u2028f\u{e0041}g grüße ユーザー'

test('JSON has nothing that a terminal obeys, and says the same', async () => {
  let written = ''
  const out = new Output({ write: async (text) => void (written += text) })
  out.json({ sender: hostile })
  await out.flush()
  expect(written).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  expect(written).toContain('grüße ユーザー')
  expect(JSON.parse(written)).toEqual({ sender: hostile })
  expect(escapedJson('"plain"')).toBe('"plain"')
})

test('a damage that names a sender has nothing that a terminal obeys', () => {
  const finding = {
    log: 'spool/1.mail',
    bytes: 0,
    reason: 'the data does not match its checksum',
    lost: `message from ${hostile}`,
  }
  expect(sentenceOf(finding)).toBe(
    `spool/1.mail: the data does not match its checksum; lost: message from ${printable(hostile)}`,
  )
  expect(sentenceOf(finding)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
})

test('lines and complaints keep what is ours, and nothing between is obeyed', async () => {
  let written = ''
  const out = new Output({ write: async (text) => void (written += text) })
  out.line(`a\t${hostile}`)
  out.text(`b\n${hostile}\r`)
  await out.flush()
  expect(written).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  expect(complaint(`\x1b[31mdamage: ${hostile}\x1b[0m\n`)).toBe(
    `\x1b[31mdamage: ${harmless(hostile)}\x1b[0m\n`,
  )
  expect(complaint('\r\x1b[K5 messages held')).toBe('\r\x1b[K5 messages held')
  expect(complaint('waybill: x\r\x1b[31my\n')).toBe('waybill: x??[31my\n')
})
