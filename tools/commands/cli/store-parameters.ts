/** Parameters of a store's URL. */

/** @param values by their names; one that is given replaces what the URL has */
export function withParameters(url: string, values: Readonly<Record<string, string | undefined>>): string {
  const [base = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  for (const [name, value] of Object.entries(values)) if (value !== undefined) parameters.set(name, value)
  return parameters.size === 0 ? base : `${base}?${parameters.toString()}`
}
