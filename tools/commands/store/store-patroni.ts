/** `waybill store patroni`: settings for Patroni with which a commit is on two machines. */
import type { Command } from '../cli/command.js'
import { print } from '../text/output.js'

/** For `patronictl edit-config`. */
const patroniFragment = `# For \`patronictl edit-config\`, or bootstrap.dcs in patroni.yml.
# Patroni 4: a commit waits for a quorum, and only a standby that has all of them is promoted.
# Patroni 3: synchronous_mode: true, and synchronous_mode_strict: true as here. Without strict mode the last
# server goes on alone, and what it accepts is on one machine.
synchronous_mode: quorum
synchronous_mode_strict: true
synchronous_node_count: 1
# A primary that crashed is replaced at once; it does not get time to start again.
primary_start_timeout: 0
# Nobody is promoted that lacks what was committed.
maximum_lag_on_failover: 0
postgresql:
  use_pg_rewind: true
  use_slots: true
  parameters:
    synchronous_commit: 'on'
    fsync: 'on'
    full_page_writes: 'on'
    wal_log_hints: 'on'
    max_slot_wal_keep_size: 8GB
    # Most segments of the journal are dropped before their pages are written.
    checkpoint_timeout: 15min
# In patroni.yml of each server: a primary that has lost its lease must stop before another one is promoted.
# watchdog:
#   mode: required
`

export const storePatroni: Command = {
  synopsis: '',
  options: {},
  notes: 'src/MACHINES.md tells how three servers are set up with it.',
  run: () => print(patroniFragment),
}
