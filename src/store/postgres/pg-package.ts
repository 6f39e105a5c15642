/** The package `pg`, an optional peer. A literal `import()` loads it: a bundler takes it along
 * where it is installed, and goes on where it is not. A module that imported it at its head would
 * be a part of each bundle, which then could not start without `pg`. */
import type Pg from 'pg'
import { isError } from '../../base/realms.js'
import { WaybillError } from '../../errors.js'

let loaded: typeof Pg | undefined

/** @throws WaybillError OPTION_INVALID when it is not installed */
export async function loadPg(): Promise<typeof Pg> {
  try {
    return (loaded ??= (await import('pg')).default)
  } catch (error) {
    const isMissing = isError(error) && 'code' in error && String(error.code).endsWith('MODULE_NOT_FOUND')
    if (!isMissing || !error.message.includes('pg')) throw error
    throw new WaybillError(
      'OPTION_INVALID',
      "a queue in a store needs the package 'pg': npm install pg, with --global if waybill is global",
      { option: 'store' },
      error,
    )
  }
}

/** Is it an error that a server has sent? None is before the first connection. */
export const isDatabaseError = (error: unknown): error is Pg.DatabaseError =>
  loaded !== undefined && error instanceof loaded.DatabaseError
