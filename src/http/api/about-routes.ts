/** Routes about the API itself. */
import { ProblemError, meaningOf } from '../wire/problem-details.js'
import { openApiDocument } from './openapi.js'
import type { ApiParts, Route } from './route.js'
import { instant, list, object, orNull, text } from './schemas.js'

/** @param all routes, for the document */
export const aboutRoutes = (parts: ApiParts, version: string, all: () => readonly Route[]): Route[] => [
  {
    method: 'GET',
    path: '/v1/session',
    scope: 'any',
    summary: 'Tells what the token allows',
    answers: {
      200: {
        means: 'the token',
        schema: object({ name: text, scopes: list(text), expiresAt: orNull(instant) }),
      },
    },
    handle: (request) => {
      const { name, scopes, expiresAt } = parts.tokenOf(request)
      return { name, scopes, expiresAt: expiresAt ?? null }
    },
  },
  {
    method: 'GET',
    path: '/v1/openapi.json',
    scope: 'none',
    summary: 'Describes all routes (OpenAPI 3.1)',
    answers: { 200: { means: 'the document', schema: { type: 'object' } } },
    handle: () => openApiDocument(all(), version),
  },
  {
    method: 'GET',
    path: '/v1/problems/:code',
    scope: 'none',
    summary: 'Tells what the code of a problem means',
    answers: { 200: { means: 'the code', schema: object({ code: text, title: text }) } },
    handle: ({ params }) => {
      const meaning = meaningOf(params['code'] ?? '')
      if (meaning === undefined) throw new ProblemError('NOT_FOUND', 'there is no such code')
      return meaning
    },
  },
]
