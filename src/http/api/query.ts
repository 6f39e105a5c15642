/** The members of a query as the types that their schemas want. Pure.
 * Invariant: what is not of its type stays a string, and the schema refuses it. */
import type { Schema } from './route.js'

export function typedQuery(
  query: Readonly<Record<string, unknown>>,
  schemas: Readonly<Record<string, Schema>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, typed(value, schemas[name]?.['type'])]),
  )
}

function typed(value: unknown, type: unknown): unknown {
  if (type === 'array') return Array.isArray(value) ? value : [value]
  if (typeof value !== 'string') return value
  if (type === 'integer' && /^\d{1,15}$/.test(value)) return Number(value)
  if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}
