/** A plot shows what was measured, and where. */
import { expect, test } from 'vitest'
import { figures } from '../../bench/figures.js'
import { spreadOf, type Row } from '../../bench/output.js'
import { linearScale, logScale, shownNumber } from '../../bench/plot/scales.js'

const machine: Row = {
  title: 'machine',
  bench: 'relay',
  startedAt: '2026-11-21T03:04:47.375Z',
  cpu: 'a <fast> one',
  cores: 2,
  loadAverage: 0.07,
  kernel: 'Linux 6',
  node: 'v20.20.2',
  fileSystem: 'ext4 (rw)',
  packages: 'waybill 0.1.0, typescript 7.0.2',
}

const drawn = (name: string, rows: readonly Row[]): string =>
  figures.find((figure) => figure.name === name)!.draw([machine, ...rows, { title: 'load' }])

const relayRow = (relay: string, rate: number): Row => ({
  title: '1 KiB, 20 sessions',
  relay,
  'messages/s': spreadOf([rate, rate * 1.1]),
  'CPU µs/message': spreadOf([250]),
})

test('a bar is as long as its figure, and says it', () => {
  const svg = drawn('relay', [relayRow('waybill', 4000), relayRow('postfix', 500)])
  const [ours, theirs] = [...svg.matchAll(/<rect [^>]*width="([\d.]+)" height="14"/g)].map(([, width]) =>
    Number(width),
  )
  expect(ours! / theirs!).toBeCloseTo(8, 1)
  expect(svg).toContain('>4 200  (250)<')
})

test('a plot names the machine, the version and the load, escaped', () => {
  const svg = drawn('relay', [relayRow('waybill', 4000)])
  expect(svg).toContain('waybill 0.1.0, Node v20.20.2, a &lt;fast&gt; one, 2 cores, ext4, Linux 6')
  expect(svg).toContain('load average before: 0.07')
})

test('a line goes through every measurement, from left to right', () => {
  const rows = [1, 2, 3].map((minute) => ({
    title: 'ten seconds each',
    minute,
    'lives/s': 100,
    'p99 ms': minute,
    'RSS MiB': 90,
    'disk MiB': 256,
  }))
  const svg = drawn('sustained', rows)
  const lines = [...svg.matchAll(/<polyline points="([^"]+)"/g)].map(([, points]) => points!.split(' '))
  expect(lines).toHaveLength(4)
  for (const points of lines) {
    const xs = points.map((point) => Number(point.split(',')[0]))
    expect(xs).toEqual([...xs].sort((a, b) => a - b))
    expect(xs).toHaveLength(3)
  }
})

test('a result without the measurement is refused, not drawn as nothing', () => {
  expect(() => drawn('relay', [{ title: 'x', relay: 'waybill' }])).toThrow(TypeError)
})

test('a linear scale ends at a round number that is not below the most', () => {
  for (const most of [0.9, 1, 7, 499, 501, 123_456]) {
    const { ticks, place } = linearScale(most)
    expect(ticks[0]).toBe(0)
    expect(ticks.at(-1)!).toBeGreaterThanOrEqual(most * 0.999)
    expect(place(ticks.at(-1)!)).toBeCloseTo(1)
    expect(ticks.length).toBeLessThan(9)
  }
})

test('a logarithmic scale has a power of ten at both ends', () => {
  const { ticks, place } = logScale(1000, 1_000_000)
  expect(ticks).toEqual([1000, 10_000, 100_000, 1_000_000])
  expect(place(10_000)).toBeCloseTo(1 / 3)
})

test('numbers have three significant digits, and thousands apart', () => {
  expect([0.012345, 12.34, 123.4, 1234.5, 1_234_567].map(shownNumber)).toEqual([
    '0.0123',
    '12.3',
    '123',
    '1 235',
    '1 234 567',
  ])
})
