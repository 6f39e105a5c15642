import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkDurationMs, durationMsMax, formatDuration, parseDuration } from '../../src/policy/duration.js'
import { refusal } from './refusal.js'

test.each([
  ['1h5m20s', 3_920_000],
  ['1s', 1000],
  ['250ms', 250],
  ['1d', 86_400_000],
  ['1s1s', 2000],
  ['5m1h', 3_900_000],
  ['0s', 0],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

test.each(['', '60', 's', '1.5h', '-1s', '1 s', '1s ', '1w', '1S', '36526d', '9999999999999999d', '1s\n'])(
  '%j is not a duration',
  (text) => {
    const error = refusal(() => parseDuration(text, 'retry'))
    expect([error?.code, error?.place.option]).toEqual(['OPTION_INVALID', 'retry'])
  },
)

test('a duration survives formatting and parsing', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: durationMsMax }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBe(ms)
    }),
  )
})

test('parsing any text gives a duration in range or OPTION_INVALID', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^([0-9]{0,18}(ms|[dhms])){0,4}$/))
  fc.assert(
    fc.property(text, (source) => {
      let ms = 0
      const error = refusal(() => (ms = parseDuration(source)))
      expect(error?.code ?? 'OPTION_INVALID').toBe('OPTION_INVALID')
      expect(Number.isInteger(ms) && ms >= 0 && ms <= durationMsMax).toBe(true)
    }),
  )
})

test('a span may be as short as there may be, and a hundred years', () => {
  for (const ms of [5, durationMsMax]) expect(checkDurationMs(ms, 'x', 5)).toBe(ms)
  for (const ms of [4, 5.5, Number.NaN, durationMsMax + 1, '5' as unknown as number])
    expect(refusal(() => checkDurationMs(ms, 'x', 5))).toMatchObject({
      code: 'OPTION_INVALID',
      place: { option: 'x' },
    })
})

test('formatting names descending units and leaves out empty ones', () => {
  expect(formatDuration(3_920_000)).toBe('1h5m20s')
  expect(formatDuration(86_400_001)).toBe('1d1ms')
  expect(formatDuration(0)).toBe('0s')
})
