/** Errors of two copies of the package in one process. */
import { expect, test, vi } from 'vitest'
import { isWaybillError, WaybillError } from '../src/errors.js'

test('an error of another copy of the module is one of ours, with its code', async () => {
  vi.resetModules()
  const other = await import('../src/errors.js')
  const error: unknown = new other.WaybillError('QUEUE_LOCKED', 'another process has it')
  expect(error).not.toBeInstanceOf(WaybillError)
  expect([isWaybillError(error), isWaybillError(error, 'QUEUE_LOCKED')]).toEqual([true, true])
  expect(isWaybillError(error, 'DISK_FULL')).toBe(false)
})

test.each([new Error('no'), { name: 'WaybillError', code: 'DISK_FULL' }, undefined, 'WaybillError'])(
  'another value is none of ours: %s',
  (value) => {
    expect(isWaybillError(value)).toBe(false)
  },
)
