/** The example of OpenTelemetry, as a process. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runProgram } from '../command-process.js'
import { temporaryDirectory } from '../../temporary-directory.js'

interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId?: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly error?: string
}

const path = fileURLToPath(new URL('../../../tools/examples/opentelemetry.mjs', import.meta.url))

test('the attempts of two lives are spans of the trace in which the message was submitted', async () => {
  const directory = await temporaryDirectory('opentelemetry')
  const ended = await runProgram(process.execPath, [path, join(directory, 'queue')], { directory })
  expect(ended).toMatchObject({ exitCode: 0, stderr: '' })
  const lines = ended.stdout.trim().split('\n')
  const spans = lines.map((line) => JSON.parse(line) as Span)
  const named = (name: string): Span[] => spans.filter((span) => span.name === name)
  const [order] = named('order')
  const [accept] = named('mail accept')
  const attempts = named('mail attempt')
  expect(spans).toHaveLength(4)
  expect(order!.parentId).toBeUndefined()
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([order!.traceId]))
  expect([accept!, ...attempts].map(({ parentId }) => parentId)).toEqual(
    Array.from({ length: 3 }, () => order!.spanId),
  )
  expect(attempts.map(({ attributes }) => attributes)).toMatchObject([
    {
      'waybill.id': accept!.attributes['waybill.id'],
      'waybill.attempt': 1,
      'waybill.outcomes': ['deferred'],
    },
    { 'waybill.attempt': 2, 'waybill.outcomes': ['delivered'] },
  ])
  expect(attempts.map(({ error }) => error)).toEqual(['no answer', undefined])
})
