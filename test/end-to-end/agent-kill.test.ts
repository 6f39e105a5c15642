/** A relay that is killed again and again while agents deliver, and while a site asks for its mail
 * (ETRN): all that was accepted is stored, whole, and no agent is left behind. */
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { below, seededPrng } from '../../src/base/prng.js'
import { root } from '../project.js'
import { greetedClient } from '../relay/raw-client.js'
import { RelayProcess } from './relay-process.js'
import { temporaryDirectory } from '../temporary-directory.js'

const lifeCount = 12
const messagesPerLife = 20
const lifeMsMax = 500
/** The site asks for its mail from this life on. */
const firstAsking = 6

test('what agents were given is stored, and what a site has to ask for waits, through kills of the relay', async () => {
  const directory = await temporaryDirectory('agent-kill')
  const at = (name: string): string => join(directory, name)
  const prng = seededPrng(7)
  await mkdir(at('stored'), { mode: 0o777 })
  await chmod(directory, 0o755)
  await chmod(at('stored'), 0o777)
  await copyFile(join(root, 'tools/examples/agent.sh'), at('agent.sh'))
  await chmod(at('agent.sh'), 0o755)
  const command = `command="agent.sh ${at('stored')}" maxta=4 interval=1m`
  await writeFile(
    at('conf'),
    `maildir/agent.example ${command}\nmaildir/asked.example ${command} queueonly\n`,
  )
  const places = ['--queue', at('queue'), '--maildir', at('mail'), '--scheduler-conf', at('conf')]
  const relay = new RelayProcess([...places, '--agents', directory])
  onTestFinished(() => relay.kill())
  const accepted = { 'agent.example': [] as string[], 'asked.example': [] as string[] }
  /** How often each message was stored. */
  const stored = async (): Promise<Map<string, number>> => {
    const counts = new Map<string, number>()
    for (const name of await readdir(at('stored'))) {
      if (name.startsWith('.')) continue
      const id = name.split('.')[0]!
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    return counts
  }
  let early = new Map<string, number>()
  for (let life = 0; life < lifeCount; life++) {
    await relay.start()
    const client = await greetedClient(relay.endpoint.port)
    // A busy machine accepts little in the time of a life: it is killed behind so many.
    const countMin = below(prng, messagesPerLife / 2)
    let isEnough: () => void = () => undefined
    const enough = new Promise<void>((resolve) => (isEnough = resolve))
    const killed = Promise.all([sleep(below(prng, lifeMsMax)), enough]).then(() => relay.kill())
    const work = async (): Promise<void> => {
      for (let n = 0; n < messagesPerLife; n++) {
        if (n >= countMin) isEnough()
        const site = n % 2 === 0 ? 'agent.example' : 'asked.example'
        await client.say('MAIL FROM:<ada@example.org>')
        await client.say(`RCPT TO:<grace@${site}>`)
        await client.say('DATA')
        const id = /^250 .* as (\S+)/.exec(await client.say(`Subject: x\r\n\r\n${bodyOf(site)}.`))?.[1]
        if (id === undefined) return
        accepted[site].push(id)
        if (life >= firstAsking && n % 8 === 7) await client.say('ETRN asked.example')
      }
    }
    // The kill ends its session in the middle of a word.
    await Promise.race([work().catch(() => undefined), killed])
    isEnough()
    await killed
    client.destroy()
    if (life < firstAsking) early = await stored()
  }
  expect(accepted['asked.example'].filter((id) => early.has(id))).toEqual([])
  expect(Math.min(accepted['agent.example'].length, accepted['asked.example'].length)).toBeGreaterThan(20)

  await relay.start()
  const client = await greetedClient(relay.endpoint.port)
  const all = Object.values(accepted).flat()
  await expect
    .poll(
      async () => {
        expect(await client.say('ETRN asked.example')).toMatch(/^25[0-3] /)
        const counts = await stored()
        return all.filter((id) => !counts.has(id))
      },
      { interval: 500 },
    )
    .toEqual([])
  for (const [id, count] of await stored()) expect([id, count <= lifeCount]).toEqual([id, true])
  for (const name of await readdir(at('stored'))) {
    if (name.startsWith('.')) continue
    const data = await readFile(join(at('stored'), name), 'utf8')
    expect(['agent.example', 'asked.example'].some((site) => data.endsWith(bodyOf(site)))).toBe(true)
  }

  await relay.kill()
  await expect.poll(() => agentsOf(at('stored'))).toEqual([])
}, 180_000)

const bodyOf = (site: string): string => `${site} `.repeat(40).concat('\r\n').repeat(20)

/** Processes that have the directory in their command line. */
async function agentsOf(directory: string): Promise<string[]> {
  const found: string[] = []
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (line.includes(directory)) found.push(line.replaceAll('\0', ' '))
  }
  return found
}
