/** The faults, each with what must be true behind it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { proofMs, ttlMs, type Cluster } from './cluster.js'

export interface Fault {
  readonly name: string
  /** Only the database fails: no life may end, and nothing be delivered twice. */
  readonly isStore: boolean
  readonly run: (cluster: Cluster) => Promise<void>
}

const settleMs = 500

async function killOwner(cluster: Cluster): Promise<void> {
  cluster.owner.child.kill('SIGKILL')
  await cluster.whenAccepting()
}

async function stopOwner(cluster: Cluster): Promise<void> {
  const { child } = cluster.owner
  child.kill('SIGSTOP')
  await sleep(ttlMs * 1.5)
  await cluster.whenAccepting()
  child.kill('SIGCONT')
  await sleep(proofMs * 2)
}

async function cutOwner(cluster: Cluster): Promise<void> {
  const { proxy } = cluster.owner
  proxy.set('cut')
  await sleep(ttlMs * 2)
  await cluster.whenAccepting()
  proxy.set('open')
  await sleep(settleMs)
}

const disturb =
  (state: 'deaf' | 'held') =>
  async (cluster: Cluster): Promise<void> => {
    const { proxy } = cluster.nodes[0]!
    proxy.set(state)
    await sleep(2200)
    proxy.set('open')
    await cluster.whenAccepting()
  }

async function killPrimary(cluster: Cluster): Promise<void> {
  const old = cluster.primary
  await cluster.servers.kill(old)
  await cluster.promote()
  await cluster.whenAccepting()
  await cluster.rejoin(old)
}

/** The old primary sleeps through its replacement, and wakes up as a second one. */
async function pausePrimary(cluster: Cluster): Promise<void> {
  const old = cluster.primary
  cluster.servers.signal(old, 'SIGSTOP')
  await cluster.promote()
  await sleep(settleMs)
  cluster.servers.signal(old, 'SIGCONT')
  await cluster.whenAccepting()
  await sleep(settleMs)
  await cluster.rejoin(old)
}

async function loseStandbys(cluster: Cluster): Promise<void> {
  const standbys = cluster.standbys
  for (const server of standbys) await cluster.servers.kill(server)
  await sleep(ttlMs * 2)
  for (const server of standbys) await cluster.servers.launch(server)
  await cluster.whenAccepting()
}

/** An operator, or a full table of connections, ends what waits. */
async function terminateBackends(cluster: Cluster): Promise<void> {
  const text =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'waybill %'"
  for (let times = 0; times < 5; times++) {
    await cluster.servers.ask(cluster.primary, text)
    await sleep(settleMs)
  }
  await cluster.whenAccepting()
}

/** A backup, or somebody who looks, holds the tables of segments. */
async function holdTables(cluster: Cluster): Promise<void> {
  const lock =
    "DO $$ DECLARE t text; BEGIN FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'waybill' AND tablename ~ '^s[0-9]+$'" +
    " LOOP EXECUTE format('LOCK TABLE waybill.%I IN ACCESS SHARE MODE', t); END LOOP; PERFORM pg_sleep(2); END $$"
  await cluster.servers.ask(cluster.primary, lock)
  await cluster.whenAccepting()
}

/** An operator takes the standbys out of the settings: mail is refused until they are back. */
async function unsafeSettings(cluster: Cluster): Promise<void> {
  const { servers, primary } = cluster
  await servers.ask(primary, "ALTER SYSTEM SET synchronous_standby_names = ''")
  await servers.reload(primary)
  await cluster.until(() => cluster.entries.refusedCount > 0)
  await servers.ask(primary, 'ALTER SYSTEM RESET synchronous_standby_names')
  await servers.reload(primary)
  await cluster.whenAccepting()
}

export const faults: readonly Fault[] = [
  { name: 'owner killed', isStore: false, run: killOwner },
  { name: 'owner paused for longer than its ttl', isStore: false, run: stopOwner },
  { name: "owner's network cut", isStore: false, run: cutOwner },
  { name: 'answers lost for 2.2 s', isStore: true, run: disturb('deaf') },
  { name: 'questions held for 2.2 s, and delivered later', isStore: true, run: disturb('held') },
  { name: 'primary killed, standby promoted', isStore: true, run: killPrimary },
  { name: 'primary paused, replaced, and woken', isStore: true, run: pausePrimary },
  { name: 'both standbys lost', isStore: true, run: loseStandbys },
  { name: 'connections ended by an operator', isStore: true, run: terminateBackends },
  { name: 'tables held by a reader', isStore: true, run: holdTables },
  { name: 'settings become unsafe', isStore: true, run: unsafeSettings },
]
