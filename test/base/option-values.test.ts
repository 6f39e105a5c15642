import { expect, test } from 'vitest'
import { integerOption } from '../../src/base/option-values.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { smtpTransport } from '../../src/relay/smtp-out.js'

const text = '25' as unknown as number

test.each([
  ['an integer', () => integerOption('n', text, 1, 100), "'25' is not an integer from 1 to 100 (option n)"],
  ['a port', () => smtpTransport({ port: text }), "'25' is not an integer from 1 to 65535 (option port)"],
  ['an interval', () => fixedRetry([text]), "'25' is not a whole number of milliseconds"],
])('%s that is given as text is refused as text', (_, give, message) => {
  expect(give).toThrow(message)
})
