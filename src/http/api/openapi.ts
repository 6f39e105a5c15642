/** The OpenAPI 3.1 document of the routes. Pure. */
import { scopes } from '../wire/tokens.js'
import { problemType } from '../wire/problem-details.js'
import type { Answer, Route, Schema } from './route.js'
import { components, ref, text } from './schemas.js'

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: Schema
  readonly paths: Readonly<Record<string, Readonly<Record<string, Schema>>>>
  readonly components: Schema
}

export function openApiDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const paths: Record<string, Record<string, Schema>> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = operationOf(route)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waybill',
      version,
      description: `Times are milliseconds since 1970. Scopes of tokens: ${scopes.join(', ')}.`,
    },
    paths,
    components: {
      schemas: components,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  }
}

function operationOf({
  method,
  path,
  scope,
  summary,
  query = {},
  headers = {},
  body,
  answers,
}: Route): Schema {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema }))
  const inHeader = Object.entries(headers).map(([name, schema]) => ({ name, in: 'header', schema }))
  return {
    operationId: operationIdOf(method, path),
    summary,
    ...(scope === 'none' ? undefined : { security: [{ token: scope === 'any' ? [] : [scope] }] }),
    parameters: [...inPath, ...inQuery, ...inHeader],
    ...(body === undefined ? undefined : { requestBody: { required: true, content: contentOf(body) } }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)])),
      default: {
        description: 'what went wrong (RFC 9457)',
        content: { [problemType]: { schema: ref('Problem') } },
      },
    },
  }
}

/** A name in a client that is generated: `GET /v1/messages/:id/parts/:part` is
 * `getMessagesByIdPartsByPart`. */
const operationIdOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path
    .replace(/^\/v1/, '')
    .replace(/:/g, 'by-')
    .replace(/[/.-](\w)/g, (_, first: string) => first.toUpperCase())

const contentOf = (schemas: Readonly<Record<string, Schema>>): Schema =>
  Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema }]))

const answerOf = ({ means, type = 'application/json', schema, isStreamed = false }: Answer): Schema => ({
  description: means,
  ...(schema === undefined
    ? undefined
    : {
        content: {
          [type]: { schema },
          ...(isStreamed ? { 'text/event-stream': { schema: text } } : undefined),
        },
      }),
})
