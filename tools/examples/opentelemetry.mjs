/** Spans of OpenTelemetry for a queue: one for each submission, and one for each attempt, in the
 * trace that the submission belongs to, also when the attempt comes days and restarts later.
 *
 *     node opentelemetry.mjs DIRECTORY    sends one message, deferred once, and prints its spans */
import { tracingChannel } from 'node:diagnostics_channel'
import { fileURLToPath } from 'node:url'
import { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

/** Members of a submission that name the span which is active now. */
export function currentTrace() {
  const carrier = {}
  propagation.inject(context.active(), carrier)
  return { traceparent: carrier.traceparent, tracestate: carrier.tracestate }
}

/** @returns what ends it */
export function traceQueues(tracer = trace.getTracer('waybill')) {
  const spans = new WeakMap()
  const begin = (message, name, kind, attributes, parent) =>
    spans.set(message, tracer.startSpan(name, { kind, attributes }, parent))
  const end = (message, attributes, error) => {
    const span = spans.get(message)
    span?.setAttributes(attributes)
    if (error !== undefined) span?.setStatus({ code: SpanStatusCode.ERROR, message: error })
    span?.end()
  }
  const accept = {
    start: (message) => {
      const { sender, recipientCount } = message
      const attributes = { 'waybill.sender': sender, 'waybill.recipients': recipientCount }
      begin(message, 'mail accept', SpanKind.PRODUCER, attributes, context.active())
    },
    error: (message) => end(message, {}, String(message.error)),
    asyncEnd: (message) => {
      if (message.error === undefined) end(message, { 'waybill.id': message.result.id })
    },
  }
  const attempt = {
    start: (message) => {
      const { id, transport, nexthop, attempts, traceparent, tracestate } = message
      const attributes = {
        'waybill.id': id,
        'waybill.transport': transport,
        'waybill.nexthop': nexthop,
        'waybill.attempt': attempts + 1,
      }
      // The process that submitted it may be long gone: its trace comes with the message.
      const parent = propagation.extract(ROOT_CONTEXT, { traceparent, tracestate })
      begin(message, 'mail attempt', SpanKind.CLIENT, attributes, parent)
    },
    asyncEnd: (message) => {
      const kinds = message.result.map(({ kind }) => kind)
      const late = message.result.find(({ kind }) => kind !== 'delivered')
      end(message, { 'waybill.outcomes': kinds }, late?.reason)
    },
  }
  const channels = { 'waybill:accept': accept, 'waybill:attempt': attempt }
  for (const [name, listeners] of Object.entries(channels)) tracingChannel(name).subscribe(listeners)
  return () => {
    for (const [name, listeners] of Object.entries(channels)) tracingChannel(name).unsubscribe(listeners)
  }
}

/** A message of which the first attempt is deferred, by a queue that crashes behind it. */
async function demonstrate(directory) {
  const { NodeTracerProvider, SimpleSpanProcessor } = await import('@opentelemetry/sdk-trace-node')
  const { openQueue, fixedRetry } = await import('waybill')
  const exporter = {
    export: (spans, done) => {
      for (const span of spans) {
        const { name, attributes, status, parentSpanContext } = span
        const { traceId, spanId } = span.spanContext()
        const parentId = parentSpanContext?.spanId
        console.log(JSON.stringify({ name, traceId, spanId, parentId, attributes, error: status.message }))
      }
      done({ code: 0 })
    },
    shutdown: () => Promise.resolve(),
  }
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
  const stop = traceQueues()
  const open = (answer) =>
    openQueue(directory, {
      segmentBytes: 1024 * 1024,
      // The first life has ended by then.
      retry: fixedRetry([2000]),
      transports: { out: { deliver: () => answer } },
      route: () => ({ transport: 'out', nexthop: 'example.net' }),
    })

  const before = await open({ kind: 'deferred', status: '4.4.1', reason: 'no answer' })
  const deferred = new Promise((resolve) => before.once('deferred', resolve))
  await trace.getTracer('shop').startActiveSpan('order', async (span) => {
    const mail = {
      sender: 'ada@example.org',
      recipients: ['grace@example.net'],
      data: 'Subject: x\r\n\r\nx\r\n',
    }
    await before.submit({ ...mail, ...currentTrace() })
    span.end()
  })
  await deferred
  await before.idle()
  before.crash()

  const after = await open({ kind: 'delivered', response: '250 fine' })
  await new Promise((resolve) => after.once('finished', resolve))
  stop()
  after.crash()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await demonstrate(process.argv[2] ?? './queue')
