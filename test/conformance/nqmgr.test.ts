/** The traces in nqmgr/ hold what the genuine modules of Postfix 3.12-20260821 did, event by
 * event (data only). */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { replay, type Trace } from '../../tools/conformance-replay.js'

const directory = fileURLToPath(new URL('nqmgr/', import.meta.url))
const files = readdirSync(directory).filter((name) => name.endsWith('.json.gz'))

const load = (file: string): Trace =>
  JSON.parse(gunzipSync(readFileSync(`${directory}${file}`)).toString()) as Trace

test('all 306 recorded scenarios are there', () => {
  expect(files).toHaveLength(306)
})

describe('the scheduler does what the Postfix queue manager did', () => {
  test.each(files)('in %s', (file) => {
    expect(replay(load(file))).toBeUndefined()
  })
})

/** Changes one value of the recording and says where. */
const damage = (file: string, change: (trace: Trace['trace'][number][]) => void): Trace => {
  const trace = structuredClone(load(file))
  change(trace.trace as Trace['trace'][number][])
  return trace
}

describe('the replay notices', () => {
  const file = 'a02_slotcost2_discount50.json.gz'

  test('a recorded selection of another message', () => {
    const trace = damage(file, (events) => {
      const at = events.findIndex(({ e, m }) => e === 'sel' && m === 'm2')
      events[at] = { ...events[at]!, m: 'm3' }
    })
    expect(replay(trace)?.what).toBe("the event's m")
  })

  test('a recorded change of state that did not happen', () => {
    const trace = damage(file, (events) => {
      const at = events.findIndex(({ e }) => e === 'sel')
      events[at] = { ...events[at]!, C: { smtp: 0 } }
    })
    expect(replay(trace)?.what).toBe('state C smtp')
  })

  test('a change of state that was not recorded', () => {
    const trace = damage(file, (events) => {
      const at = events.findIndex(({ e }) => e === 'sel')
      const { J: _, ...rest } = events[at]!
      events[at] = rest as Trace['trace'][number]
    })
    expect(replay(trace)?.what).toBe('state J m1/smtp')
  })

  test('a recording that goes on after the scheduler has stopped', () => {
    const trace = damage(file, (events) => {
      events.push({ e: 'none', t: 'smtp' })
    })
    expect(replay(trace)?.what).toBe('an output that the scheduler did not give')
  })

  test('a recording that stops before the scheduler does', () => {
    const trace = damage(file, (events) => {
      events.splice(events.findIndex(({ e }) => e === 'sel'))
    })
    expect(replay(trace)?.what).toBe('the trace ends before the scheduler does')
  })
})
