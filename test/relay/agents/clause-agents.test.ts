/** Commands of ZMailer's clauses, as processes. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { DeliveryResult, Transport } from '../../../src/delivery/transport.js'
import { zmailerPolicy } from '../../../src/policy/zmailer-policy.js'
import { ClauseAgents } from '../../../src/relay/agents/clause-agents.js'
import { requestOf, someData } from '../request.js'

let directory: string
let transports: Transport[]
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-clause-agents-'))
  transports = []
  await chmod(directory, 0o755)
  await writeFile(
    join(directory, 'agent'),
    `#!/bin/sh
echo "# hungry"
while IFS=' ' read -r name value; do case $name in
  size) size=$value;; to) tags="$tags \${value%% *}";;
  '') head -c "$size" >/dev/null; sleep 0.05; for tag in $tags; do echo "$tag delivered $$ $*"; done; tags='';; esac; done
`,
  )
  await chmod(join(directory, 'agent'), 0o755)
})
afterEach(async () => {
  for (const transport of transports) transport.close?.()
  await rm(directory, { recursive: true, force: true })
})

const builtIn: Transport = { deliver: () => ({ kind: 'delivered', response: 'built in' }) }

interface Agents {
  readonly agents: ClauseAgents
  deliver(address: string): Promise<string>
  clauses: string
}

function agentsOf(clauses: string): Agents {
  let policy = zmailerPolicy(clauses)
  const agents = new ClauseAgents({
    policy: () => policy,
    directory,
    allowsRoot: true,
    startsPerSecondMax: 1000,
  })
  const byName = new Map<string, Transport>()
  return {
    agents,
    set clauses(text: string) {
      policy = zmailerPolicy(text)
    },
    async deliver(address) {
      const channel = address.slice(0, address.indexOf('/'))
      const nexthop = address.slice(channel.length + 1)
      const transport = byName.get(channel) ?? agents.before(channel, builtIn)
      if (!byName.has(channel)) transports.push(transport)
      byName.set(channel, transport)
      const request = requestOf(someData, { nexthop })
      const result: DeliveryResult = await transport.deliver(request, new AbortController().signal)
      const [outcome] = Array.isArray(result) ? (result as readonly { response?: string }[]) : [result]
      return (outcome as { response?: string }).response ?? JSON.stringify(outcome)
    },
  }
}

const pidOf = (response: string): string => response.split(' ')[0] ?? ''

test('a clause with a command is delivered by its agent, one without by the transport', async () => {
  const relay = agentsOf('uucp/* command="agent -c $channel $host"')
  expect(await relay.deliver('smtp/a.example')).toBe('built in')
  expect(await relay.deliver('uucp/a.example')).toMatch(/^\d+ -c uucp a\.example$/)
  relay.clauses = 'smtp/* command=agent'
  expect(await relay.deliver('smtp/a.example')).toMatch(/^\d+ $/)
  expect(await relay.deliver('uucp/a.example')).toBe('built in')
})

test.each(['-oProxyCommand=x', '../../tmp/x', 'a/b', 'a b', '..'])(
  'a destination that a sender has chosen is no option and no path for a program: %s',
  async (host) => {
    const relay = agentsOf('uucp/* command="agent $host"')
    expect(await relay.deliver(`uucp/${host}`)).toContain('the destination is no host name')
  },
)

test('clauses with the same command have one pool, of each channel by itself with bychannel', async () => {
  const relay = agentsOf(
    'one/* command="agent x"\ntwo/* command="agent x"\nthree/* bychannel command="agent x"\n',
  )
  const one = pidOf(await relay.deliver('one/a'))
  expect(pidOf(await relay.deliver('two/a'))).toBe(one)
  expect(pidOf(await relay.deliver('three/a'))).not.toBe(one)
})

test('a command is one pool: hosts share its agents, and with $host each has its own', async () => {
  const relay = agentsOf('one/* command=agent\ntwo/* command="agent $host"')
  const pids = async (...addresses: string[]): Promise<Set<string>> => {
    const found = new Set<string>()
    for (const address of addresses) found.add(pidOf(await relay.deliver(address)))
    return found
  }
  expect((await pids('one/a', 'one/b', 'one/c')).size).toBe(1)
  expect((await pids('two/a', 'two/b', 'two/a')).size).toBe(2)
})

test('agents are at most maxring, with overfeed for more requests at once', async () => {
  const relay = agentsOf('uucp/* maxring=2 overfeed=4 command=agent')
  const responses = await Promise.all(Array.from({ length: 8 }, () => relay.deliver('uucp/a')))
  expect(new Set(responses.map(pidOf)).size).toBe(2)
})

test('an idle agent makes room for one of another command, when maxta is reached', async () => {
  const relay = agentsOf('one/* maxta=1 command="agent 1"\ntwo/* maxta=1 command="agent 2"')
  expect(await relay.deliver('one/a')).toMatch(/^\d+ 1$/)
  expect(await relay.deliver('two/a')).toMatch(/^\d+ 2$/)
  expect(relay.agents.agentCount).toBe(1)
})

test('an agent ends after idlemax', async () => {
  const relay = agentsOf('uucp/* idlemax=1s command=agent')
  await relay.deliver('uucp/a')
  expect(relay.agents.agentCount).toBe(1)
  await expect.poll(() => relay.agents.agentCount).toBe(0)
})

test('an agent ends after its idlemax, whatever another may be idle for', async () => {
  const relay = agentsOf('one/* idlemax=1h command="agent 1"\ntwo/* idlemax=1s command="agent 2"')
  await relay.deliver('one/a')
  await relay.deliver('two/a')
  expect(relay.agents.agentCount).toBe(2)
  await expect.poll(() => relay.agents.agentCount, { timeout: 5000 }).toBe(1)
})

const countOf = async (relay: Agents, ...addresses: string[]): Promise<number> =>
  new Set((await Promise.all(addresses.map((address) => relay.deliver(address)))).map(pidOf)).size

test('each clause has its own bounds, where the command is the same', async () => {
  const relay = agentsOf(`small/* maxchannel=1
large/* maxchannel=3
*/slow.example overfeed=2 maxring=1 command=agent
*/* command=agent
`)
  expect(await countOf(relay, 'small/a', 'small/b')).toBe(1)
  expect(await countOf(relay, 'large/a', 'large/b', 'large/c', 'large/d')).toBe(3)
  // Two rings: what the other one may have is not for this one.
  const slow = 'large/slow.example'
  expect(await countOf(relay, slow, slow, slow)).toBe(1)
})

test('clauses that are changed apply to agents that there are', async () => {
  const relay = agentsOf('uucp/* maxring=1 maxta=1 idlemax=1h command=agent')
  expect(await countOf(relay, 'uucp/a', 'uucp/a', 'uucp/a')).toBe(1)
  relay.clauses = '# a line more\nuucp/* maxring=3 maxta=3 idlemax=1h command=agent'
  expect(await countOf(relay, 'uucp/a', 'uucp/a', 'uucp/a')).toBe(3)
  relay.clauses = '# a line more\nuucp/* maxring=2 overfeed=9 idlemax=1s command=agent'
  expect(await countOf(relay, 'uucp/a', 'uucp/a', 'uucp/a', 'uucp/a')).toBe(2)
  await expect.poll(() => relay.agents.agentCount, { timeout: 5000 }).toBe(0)
})

test('an agent that may be idle for months is looked at now and then, not all the time', async () => {
  const warnings: string[] = []
  const warned = ({ message }: Error): unknown => warnings.push(message)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  const relay = agentsOf('uucp/* idlemax=90d command=agent')
  await relay.deliver('uucp/a')
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(warnings).toEqual([])
  expect(relay.agents.agentCount).toBe(1)
})

test.each([
  ['uucp/* maxta=1\n  command=none', /none.*line 2/],
  ['uucp/* command="./ -v"', /is no program.*line 1/],
  ['uucp/* user=no-such-user-here command=agent', /no-such-user-here.*line 1/],
])('%j is refused before the relay starts', async (clauses, words) => {
  const relay = agentsOf(clauses)
  await expect(relay.agents.check(zmailerPolicy(clauses))).rejects.toThrow(words)
  await expect(relay.agents.check(zmailerPolicy('uucp/* command="agent $host"'))).resolves.toBeUndefined()
})
