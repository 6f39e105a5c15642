import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { clientsMax, LimitedLines, linesMax, periodMs } from '../../../tools/commands/log/limited-lines.js'

let leftOut: [string, number][] = []
let written = 0
const write = (): void => void written++

function lines(): LimitedLines {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  return new LimitedLines((client, count) => leftOut.push([client, count]))
}

beforeEach(() => {
  leftOut = []
  written = 0
})

test('a client that is refused without end has so many lines a minute, and one that counts the others', () => {
  const limited = lines()
  for (let i = 0; i < linesMax + 7; i++) limited.line('192.0.2.1', write)
  expect(written).toBe(linesMax)
  vi.advanceTimersByTime(periodMs)
  expect(leftOut).toEqual([['192.0.2.1', 7]])
  limited.line('192.0.2.1', write)
  expect(written).toBe(linesMax + 1)
})

test('a client does not take the lines of another, and addresses of one IPv6 /64 are one client', () => {
  const limited = lines()
  for (let i = 0; i < linesMax + 1; i++) limited.line(`2001:db8::${i.toString(16)}`, write)
  limited.line('192.0.2.2', write)
  expect(written).toBe(linesMax + 1)
})

test('clients beyond those that are remembered share one place, and are counted', () => {
  const limited = lines()
  for (let i = 0; i < clientsMax + linesMax + 3; i++) limited.line(`10.0.${i >> 8}.${i & 255}`, write)
  expect(written).toBe(clientsMax + linesMax)
  vi.advanceTimersByTime(periodMs)
  expect(leftOut).toEqual([['others', 3]])
})
