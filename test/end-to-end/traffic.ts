/** Traffic that goes on while the relay is killed at random moments, as one number decides. */
import { setTimeout as sleep } from 'node:timers/promises'
import { below, seededPrng } from '../../src/base/prng.js'
import { runLoad } from './load.js'
import type { NumberedMail } from './mail.js'
import type { RelayProcess } from './relay-process.js'

export interface Scenario {
  readonly seed: number
  /** Messages that must have got 250. */
  readonly settledCount: number
  readonly sessionCount: number
  readonly killCount: number
  /** A kill comes at a random moment within this time after a start, milliseconds: before, while or
   * after it recovers. */
  readonly lifeMsMax: number
}

export interface Traffic {
  /** 250 was read. */
  readonly settled: ReadonlyMap<number, NumberedMail>
  readonly sent: ReadonlyMap<number, NumberedMail>
  readonly kills: readonly { readonly atMs: number; readonly busyCount: number }[]
}

/** Resolves when the last kill is past, the relay runs again, and enough is settled.
 * @param busyCount deliveries under way, asked at each kill */
export async function trafficUnderKills(
  relay: RelayProcess,
  scenario: Scenario,
  mailOf: (number: number) => NumberedMail,
  busyCount: () => number,
): Promise<Traffic> {
  const prng = seededPrng(scenario.seed)
  const settled = new Map<number, NumberedMail>()
  const sent = new Map<number, NumberedMail>()
  const kills: { atMs: number; busyCount: number }[] = []
  const givesUp = new AbortController()
  try {
    await relay.start()
    const load = runLoad({
      target: () => relay.endpoint,
      sessionCount: scenario.sessionCount,
      pauseMs: 10,
      next: () => {
        if (settled.size >= scenario.settledCount && kills.length >= scenario.killCount) return undefined
        const mail = mailOf(sent.size + 1)
        sent.set(mail.number, mail)
        return mail
      },
      onSettled: (mail) => void settled.set(mail.number, mail),
      signal: givesUp.signal,
    })
    for (let i = 0; i < scenario.killCount; i++) {
      const listening = i === 0 ? Promise.resolve() : relay.start()
      await sleep(below(prng, scenario.lifeMsMax))
      kills.push({ atMs: performance.now(), busyCount: busyCount() })
      await relay.kill()
      await listening
    }
    await relay.start()
    await Promise.race([load, endedByItself(relay)])
    return { settled, sent, kills }
  } finally {
    givesUp.abort()
  }
}

async function endedByItself(relay: RelayProcess): Promise<void> {
  const exit = await relay.exit()
  throw new Error(`the relay ended by itself, ${String(exit)}:\n${relay.log}`)
}
