/** Errors as clients see them: problem details (RFC 9457) with our codes.
 * Invariant: a client learns the code, the reason and the place of an operating error; of a mistake
 * in a program it learns that there was one, and nothing else. */
import { STATUS_CODES } from 'node:http'
import { isError } from '../../base/realms.js'
import { errorCatalogue, isWaybillError, type ErrorCode, type Place } from '../../errors.js'

interface Kind {
  readonly status: number
  readonly means: string
}

type OwnCode =
  | 'TOKEN_MISSING'
  | 'TOKEN_INVALID'
  | 'TOKEN_EXPIRED'
  | 'SCOPE_MISSING'
  | 'REQUEST_INVALID'
  | 'REQUEST_TOO_SLOW'
  | 'HEADER_TOO_LARGE'
  | 'BODY_TOO_LARGE'
  | 'MEDIA_TYPE_UNKNOWN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'TOO_MANY_REQUESTS'
  | 'NOT_READY'
  | 'INTERNAL'

/** Of the API itself; all other codes are those of the library. ERRORS.md is made of it. */
export const ownKinds: Readonly<Record<OwnCode, Kind>> = {
  TOKEN_MISSING: { status: 401, means: 'The request has no bearer token' },
  TOKEN_INVALID: { status: 401, means: 'The token is none that this server knows' },
  TOKEN_EXPIRED: { status: 401, means: 'The time of the token is over' },
  SCOPE_MISSING: { status: 403, means: 'The token does not allow this' },
  REQUEST_INVALID: { status: 400, means: 'The request is not as its schema says' },
  REQUEST_TOO_SLOW: { status: 408, means: 'The request did not come in the time that it has' },
  HEADER_TOO_LARGE: { status: 431, means: 'The header of the request is larger than the server takes' },
  BODY_TOO_LARGE: { status: 413, means: 'The body is larger than the server takes' },
  MEDIA_TYPE_UNKNOWN: { status: 415, means: 'The body is of a media type that is not taken here' },
  NOT_FOUND: { status: 404, means: 'There is no such thing' },
  METHOD_NOT_ALLOWED: { status: 405, means: 'There is no such method here; Allow names those that are' },
  TOO_MANY_REQUESTS: { status: 429, means: 'As much as the server does at once is under way' },
  NOT_READY: { status: 503, means: 'The server cannot answer that now' },
  INTERNAL: { status: 500, means: 'A mistake in the server; its log tells' },
}

export type ProblemCode = ErrorCode | OwnCode

/** What the client has given is 400; what the queue cannot do now is 503. */
const statuses: Partial<Readonly<Record<ErrorCode, number>>> = {
  ADDRESS_INVALID: 400,
  RECIPIENTS_EMPTY: 400,
  RECIPIENTS_TOO_MANY: 400,
  MESSAGE_TOO_LARGE: 413,
  LINE_TOO_LONG: 400,
  NUL_IN_DATA: 400,
  DATA_INCOMPLETE: 400,
  OPTION_INVALID: 400,
  DISK_FULL: 503,
  KEYS_TOO_MANY: 503,
  QUEUE_CRASHED: 503,
  QUEUE_DRAINING: 503,
  STORE_UNREACHABLE: 503,
}

const retryAfterSeconds: Partial<Readonly<Record<ProblemCode, number>>> = {
  DISK_FULL: 30,
  KEYS_TOO_MANY: 60,
  QUEUE_CRASHED: 5,
  STORE_UNREACHABLE: 5,
  TOO_MANY_REQUESTS: 1,
  NOT_READY: 2,
}

export interface ProblemDetails {
  /** A reference that this server answers with what the code means. */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: ProblemCode
  readonly place?: Place
  /** That the token lacks. */
  readonly scope?: string
}

/** An error of the API itself. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: OwnCode
  readonly more: { readonly scope?: string; readonly allow?: string }

  constructor(code: OwnCode, detail: string, more: ProblemError['more'] = {}) {
    super(detail)
    this.code = code
    this.more = more
  }
}

export const kindOf = (code: ProblemCode): Kind =>
  code in ownKinds
    ? ownKinds[code as OwnCode]
    : { status: statuses[code as ErrorCode] ?? 500, means: errorCatalogue[code as ErrorCode].means }

/** @returns undefined when there is no such code */
export function meaningOf(code: string): { readonly code: string; readonly title: string } | undefined {
  const isKnown = Object.hasOwn(ownKinds, code) || Object.hasOwn(errorCatalogue, code)
  return isKnown ? { code, title: kindOf(code as ProblemCode).means } : undefined
}

function problem(code: ProblemCode, detail: string, more: Partial<ProblemDetails> = {}): ProblemDetails {
  const { status, means } = kindOf(code)
  return { type: `/v1/problems/${code}`, title: means, status, detail, code, ...more }
}

/** What a framework's error comes to: fastify has its own codes. */
const foreignCodes: Readonly<Record<string, OwnCode>> = {
  FST_ERR_VALIDATION: 'REQUEST_INVALID',
  FST_ERR_CTP_BODY_TOO_LARGE: 'BODY_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'MEDIA_TYPE_UNKNOWN',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'REQUEST_INVALID',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'REQUEST_INVALID',
  FST_ERR_CTP_INVALID_JSON_BODY: 'REQUEST_INVALID',
  FST_ERR_CTP_EMPTY_TYPE: 'MEDIA_TYPE_UNKNOWN',
  FST_ERR_BAD_URL: 'REQUEST_INVALID',
}

/** The framework repeats what it refuses. */
const detailLengthMax = 300

/** @returns undefined for a mistake in a program, of which the client hears `internalProblem` */
export function problemOf(error: unknown): ProblemDetails | undefined {
  if (error instanceof ProblemError) {
    const { scope } = error.more
    return problem(error.code, error.message, scope === undefined ? {} : { scope })
  }
  if (isWaybillError(error)) return problem(error.code, error.message, placeOf(error.place))
  if (!isError(error)) return undefined
  const { code, statusCode } = error as { readonly code?: unknown; readonly statusCode?: unknown }
  const known = foreignCodes[String(code)]
  if (known !== undefined) return problem(known, error.message)
  // What the framework refuses: a JSON text, a URL, a name in it that is too long.
  const isRefusal = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
  return isRefusal ? problem('REQUEST_INVALID', error.message.slice(0, detailLengthMax)) : undefined
}

const placeOf = (place: Place): Partial<ProblemDetails> => (Object.keys(place).length === 0 ? {} : { place })

export const internalProblem = (): ProblemDetails =>
  problem('INTERNAL', 'the server has made a mistake, and its log tells which')

/** Headers of the answer beside its type. */
export function problemHeaders({ code, status }: ProblemDetails, error: unknown): Record<string, string> {
  const retryAfter = retryAfterSeconds[code]
  return {
    ...(retryAfter === undefined ? undefined : { 'retry-after': String(retryAfter) }),
    ...(status === 401 ? { 'www-authenticate': 'Bearer' } : undefined),
    ...(error instanceof ProblemError && error.more.allow !== undefined
      ? { allow: error.more.allow }
      : undefined),
  }
}

export const problemType = 'application/problem+json'

/** What Node's parser of HTTP refuses, before there is a request. */
const parserKinds: Readonly<Record<string, readonly [OwnCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['HEADER_TOO_LARGE', 'the header of a request has at most 16 KiB'],
  ERR_HTTP_REQUEST_TIMEOUT: ['REQUEST_TOO_SLOW', 'the request did not come in time'],
}

/** The whole answer, as octets of a connection that ends with it. */
export function unparsedAnswer({ code }: { readonly code?: unknown }): string {
  const [kind, detail] = parserKinds[String(code)] ?? ['REQUEST_INVALID', 'this is no request of HTTP/1.1']
  const told = problem(kind, detail)
  const body = JSON.stringify(told)
  return (
    `HTTP/1.1 ${told.status} ${STATUS_CODES[told.status]}\r\ncontent-type: ${problemType}\r\n` +
    `content-length: ${body.length}\r\ncache-control: no-store\r\nconnection: close\r\n\r\n${body}`
  )
}
