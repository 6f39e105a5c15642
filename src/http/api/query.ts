/** The members of a query as the types that their schemas want. Pure.
 * Invariant: what is not of its type stays a string, and the schema refuses it. A query that would
 * be read as something else than was sent is refused. */
import type { Schema } from './route.js'

/** Parsers take what is no UTF-8 as it stands: mail for `j%F6rg@example.org` went to a mailbox of
 * that name. @param target of a request: a path, and a query perhaps */
export function isDecodable(target: string): boolean {
  const at = target.indexOf('?')
  if (at < 0 || !target.includes('%', at)) return true
  try {
    decodeURIComponent(target.slice(at))
    return true
  } catch {
    return false
  }
}

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
