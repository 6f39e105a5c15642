/** A store of simulated servers, as a program on a simulated machine reaches it.
 * Invariant: what a question meets on its way is chosen anew for each (`Fate`), and the driver
 * sees no more of it than a client of PostgreSQL would: an answer, or none. */
import { below, type Prng } from '../../base/prng.js'
import { WaybillError } from '../../errors.js'
import { choosePrimary } from '../../store/primary.js'
import { done, unknown, type Answer, type Session, type Store } from '../../store/store.js'
import type { SimWorld } from '../world/world.js'
import type { Database } from './database.js'
import type { SimProgram } from './sim-node.js'
import type { Lock, Reply, SimServer } from './sim-server.js'
import { SimSession } from './sim-session.js'

/** `lost`: never arrives. `ghost`: arrives when nobody listens any more. `deaf`: happens, the
 * answer is lost. `broken`: as `deaf`, and the connection breaks at once. */
export type Fate = 'answered' | 'lost' | 'ghost' | 'deaf' | 'broken'

/** What decides the fate of each question. */
export type Fates = () => Fate

export interface SimStoreParts {
  readonly world: SimWorld
  readonly prng: Prng
  readonly program: SimProgram
  readonly servers: () => readonly SimServer[]
  readonly fates: Fates
  readonly deadlineMs: number
  /** A ghost arrives in less. */
  readonly ghostMsMax: number
  /** A client that connects does not hear one server of so many in time. */
  readonly unheardOneIn: number
  readonly newNonce: () => string
}

const wayMsMax = 3

export class SimStore implements Store {
  readonly name = 'simulated'
  readonly #parts: SimStoreParts
  #timelineSeen = 0

  constructor(parts: SimStoreParts) {
    this.#parts = parts
  }

  newNonce(): string {
    return this.#parts.newNonce()
  }

  async connect(nonce: string | undefined): Promise<Answer<Session>> {
    const { servers, program, prng, unheardOneIn } = this.#parts
    const answers = await Promise.all(
      servers().map(async (server) => {
        const line = new Line(this.#parts, server, nonce)
        const answer = await line.ask((arrived) => arrived(done(undefined)))
        if (answer.kind === 'done') return { line, timeline: server.timeline }
        line.close()
        return undefined
      }),
    )
    const candidates = answers.flatMap((answer) => (answer === undefined ? [] : [answer]))
    // Some are not reached in time.
    const heard = candidates.filter(() => below(prng, unheardOneIn) > 0)
    const best = choosePrimary(heard, this.#timelineSeen)
    for (const candidate of candidates) if (candidate !== best) candidate.line.close()
    if (best === undefined || program.isDead) return unknown(unreachable())
    this.#timelineSeen = best.timeline
    return done(new SimSession(best.line, best.timeline))
  }
}

/** A connection. */
export class Line {
  readonly server: SimServer
  readonly #parts: SimStoreParts
  readonly #nonce: string | undefined
  readonly #end = (): void => this.close()
  #turn: Promise<unknown> = Promise.resolve()
  #isClosed = false
  /** Ends the question that waits. */
  #drop: (() => void) | undefined

  constructor(parts: SimStoreParts, server: SimServer, nonce: string | undefined) {
    this.#parts = parts
    this.server = server
    this.#nonce = nonce
    if (nonce !== undefined) server.connected.set(nonce, (server.connected.get(nonce) ?? 0) + 1)
    parts.program.atEnd(this.#end)
    server.ends.add(this.#end)
  }

  /** Questions follow one another. */
  ask(arrive: (answer: (reply: Reply) => void) => void): Promise<Answer<unknown>> {
    const turn = this.#turn.then(() => this.#ask(arrive))
    this.#turn = turn
    return turn
  }

  change(lock: Lock, apply: (database: Database) => Answer<unknown>): Promise<Answer<unknown>> {
    return this.ask((reply) => this.server.change(lock, apply, reply))
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.server.ends.delete(this.#end)
    const { connected } = this.server
    // A server does not hear that a machine which was cut off has given up.
    if (this.#nonce !== undefined && !this.#parts.program.node.isCut)
      connected.set(this.#nonce, (connected.get(this.#nonce) ?? 1) - 1)
    this.#drop?.()
  }

  #ask(arrive: (answer: (reply: Reply) => void) => void): Promise<Answer<unknown>> {
    const { world, program, prng, fates, deadlineMs, ghostMsMax } = this.#parts
    if (this.#isClosed) return Promise.resolve(unknown(unreachable()))
    const fate = program.node.isCut ? 'lost' : fates()
    return new Promise((resolve) => {
      let isOver = false
      const settle = (answer: Answer<unknown>): void => {
        if (isOver) return
        isOver = true
        timer.cancel()
        if (answer.kind === 'unknown') this.close()
        resolve(answer)
      }
      const timer = program.clock.after(deadlineMs, () => settle(unknown(unreachable())))
      this.#drop = () => settle(unknown(unreachable()))
      const answered = (reply: Reply): void => {
        if (fate === 'deaf' || fate === 'ghost' || program.node.isCut) return
        const answer = reply === 'cancelled' || fate === 'broken' ? unknown(unreachable()) : reply
        const afterMs = below(prng, wayMsMax)
        world.at(world.nowMs + afterMs, () => program.node.run(program, () => settle(answer)))
      }
      const delayMs = fate === 'ghost' ? below(prng, ghostMsMax) : below(prng, wayMsMax)
      if (fate !== 'lost')
        world.at(world.nowMs + delayMs, () => {
          if (!this.server.isDead) arrive(answered)
        })
    })
  }
}

const unreachable = (): WaybillError => new WaybillError('STORE_UNREACHABLE', 'the store does not answer')
