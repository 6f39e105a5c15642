/** `waybill mailq --from HOST:PORT`: lists what a MAILQ port says, ours or that of ZMailer.
 * Invariant: what is read is bounded in bytes and time, and checked before a line is printed. */
import { createConnection } from 'node:net'
import { countText } from '../../../src/base/text.js'
import { WaybillError } from '../../../src/errors.js'
import { cutText, readDump, type Vertex } from '../../../src/mailq/zmailer-dump.js'
import { lineOf, type Arguments } from '../cli/command.js'
import { parseEndpoint, type Endpoint } from '../cli/values.js'
import { Output, OutputClosed, type Surroundings } from '../text/output.js'
import { exits } from './inspection.js'

/** Of ZMailer. */
const portDefault = 174
const dumpBytesMax = 256 * 1024 * 1024
const silenceMs = 30_000

/** @throws UsageError */
export async function listFrom(from: string, args: Arguments, surroundings: Surroundings): Promise<number> {
  const endpoint = parseEndpoint('from', from, '127.0.0.1', portDefault)
  const json = args.isSet('json')
  const out = new Output(surroundings)
  try {
    const vertices = readDump(await dumpAt(endpoint))
    if (!json && vertices.length > 0)
      out.line('----Queue ID----- --Channel:Host------------------------ --Recipients--')
    for (const vertex of vertices) {
      if (json) out.json(jsonOf(vertex))
      else out.text(textOf(vertex))
      if (out.isFull) await out.flush()
    }
    if (!json) out.line(sumOf(vertices))
    await out.flush()
    return exits.fine
  } catch (error) {
    if (error instanceof OutputClosed) return exits.fine
    surroundings.complain(`waybill: --from ${from}: ${lineOf(error)}\n`)
    return exits.wrong
  }
}

function sumOf(vertices: readonly Vertex[]): string {
  if (vertices.length === 0) return 'Mail queue is empty'
  const messageCount = new Set(vertices.map(({ file }) => file)).size
  const recipientCount = vertices.reduce((sum, { offsets }) => sum + offsets.length, 0)
  const isCut = vertices.at(-1)!.text.endsWith(cutText)
  return `\n-- ${countText(messageCount, 'message')}, ${countText(recipientCount, 'recipient')}${isCut ? '; more wait' : ''}.`
}

function textOf({ file, channel, host, offsets, text }: Vertex): string {
  const reason = text === '' ? '' : `${' '.repeat(17)} (${text})\n`
  return `${file.padEnd(17)} ${`${channel}:${host}`.padEnd(38)} ${offsets.join(',')}\n${reason}`
}

const jsonOf = ({ file, channel, host, offsets, text }: Vertex): Record<string, unknown> => ({
  queue_id: file,
  transport: channel,
  nexthop: host,
  recipients: offsets,
  delay_reason: text === '' ? undefined : text,
})

/** All until the other side closes. */
function dumpAt({ host, port }: Endpoint): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let bytes = 0
    const socket = createConnection({ host, port })
    const fail = (reason: string): void =>
      void socket.destroy(new WaybillError('OPTION_INVALID', reason, { option: 'from' }))
    socket.setTimeout(silenceMs, () => fail(`no answer for ${silenceMs / 1000} seconds`))
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece)
      bytes += piece.length
      if (bytes > dumpBytesMax) fail('its answer has no end')
    })
    socket.once('error', reject)
    socket.once('close', () => resolve(Buffer.concat(pieces).toString()))
  })
}
