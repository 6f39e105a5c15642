/** Mail of one kind through relays, in turn, from a client and to a server of this process. What
 * those cost is not counted, but they share the machine. */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { spreadOf, type Row } from '../output.js'
import { treeUsage } from '../process-tree.js'
import type { Relay } from '../relays/relay.js'
import { Client, type Login } from './client.js'
import { send, usualMail, type Mail } from './send.js'
import type { Sink } from './sink.js'

const clientCount = 20
const lookMs = 5
const stillMsMax = 30_000
/** Aimed length of a turn. */
const turnMs = 3000
const roundsDefault = 5
/** Messages of the turn that shows how many that are. */
const probeCount = 100
const smokeCount = 20

export interface Sending {
  readonly isTls?: boolean
  readonly login?: Login
  /** A session sends one message after the other, or one. */
  readonly isKept?: boolean
  /** Of the message of this number. */
  readonly mail?: (id: number) => Mail
}

export interface Turn {
  readonly durationMs: number
  readonly messageCount: number
  readonly recipientCount: number
  readonly cpuMs: number
}

/** @returns a row for each relay; the first is compared with the others */
export async function rowsOf(
  relays: readonly Relay[],
  sink: Sink,
  sending: Sending,
  isSmoke: boolean,
): Promise<Row[]> {
  const counts = new Map<Relay, number>()
  for (const relay of relays) counts.set(relay, isSmoke ? smokeCount : await aimed(relay, sink, sending))
  const turns = new Map(relays.map((relay) => [relay, [] as Turn[]]))
  for (let round = 0; round < (isSmoke ? 1 : roundsDefault); round++)
    for (const relay of relays) turns.get(relay)!.push(await turnOf(relay, sink, sending, counts.get(relay)!))
  const first = turns.get(relays[0]!)!
  return relays.map((relay) => rowOf(relay, turns.get(relay)!, first))
}

/** Of a turn; compilers have then done their work. */
async function aimed(relay: Relay, sink: Sink, sending: Sending): Promise<number> {
  const countOf = ({ durationMs, messageCount }: Turn): number =>
    Math.ceil((messageCount * turnMs) / durationMs)
  const probe = await turnOf(relay, sink, sending, probeCount)
  return countOf(await turnOf(relay, sink, sending, countOf(probe)))
}

function rowOf({ name, version }: Relay, own: readonly Turn[], first: readonly Turn[]): Row {
  const of = (quantity: (turn: Turn, round: number) => number): ReturnType<typeof spreadOf> =>
    spreadOf(own.map(quantity))
  const rate = ({ messageCount, durationMs }: Turn): number => (messageCount * 1000) / durationMs
  const cpu = ({ messageCount, cpuMs }: Turn): number => (cpuMs * 1000) / messageCount
  return {
    relay: name,
    version,
    'messages/s': of(rate),
    'recipients/s': of(({ recipientCount, durationMs }) => (recipientCount * 1000) / durationMs),
    'waybill is × as fast': of((turn, round) => rate(first[round]!) / rate(turn)),
    'CPU µs/message': of(cpu),
    'waybill needs 1/× of the CPU': of((turn, round) => cpu(turn) / cpu(first[round]!)),
  }
}

const cpuMsOf = ({ processId, helperIds = [] }: Relay): number =>
  [processId, ...helperIds].reduce((sum, id) => sum + treeUsage(id).cpuMs, 0)

/** @throws Error when messages do not arrive, or more than were sent */
export async function turnOf(relay: Relay, sink: Sink, sending: Sending, count: number): Promise<Turn> {
  const { isKept = true, mail = () => usualMail } = sending
  const clients = isKept ? await Promise.all(Array.from({ length: clientCount }, open)) : []
  async function open(): Promise<Client> {
    const client = await Client.open(relay.port, sending.isTls)
    if (sending.login !== undefined) await client.login(sending.login)
    return client
  }
  const first = sink.next
  sink.next += count
  const recipientsBefore = sink.recipientCount
  const cpuBeforeMs = cpuMsOf(relay)
  const startedAt = performance.now()
  let taken = 0
  let recipientCount = 0
  const work = async (kept: Client | undefined): Promise<void> => {
    while (taken < count) {
      const id = first + taken++
      const one = mail(id)
      recipientCount += one.recipients.length
      const client = kept ?? (await open())
      await send(client, id, undefined, one)
      if (kept === undefined) client.close()
    }
  }
  await Promise.all(Array.from({ length: clientCount }, (_, i) => work(clients[i])))
  const due = recipientsBefore + recipientCount
  let seen = 0
  for (let stillSince = performance.now(); sink.recipientCount < due; await sleep(lookMs)) {
    if (sink.recipientCount > seen) stillSince = performance.now()
    seen = sink.recipientCount
    if (performance.now() - stillSince > stillMsMax)
      throw new Error(`${relay.name}: ${due - seen} of ${recipientCount} recipients do not arrive`)
  }
  const durationMs = performance.now() - startedAt
  for (const client of clients) client.close()
  const cpuMs = cpuMsOf(relay) - cpuBeforeMs
  if (sink.recipientCount > due) throw new Error(`${relay.name} delivered a message twice`)
  return { durationMs, messageCount: count, recipientCount, cpuMs }
}
