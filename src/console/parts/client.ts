/** Requests to the relay's public HTTP API.
 * Invariant: the token is kept in this tab alone, and goes nowhere but in a header to the
 * page's own origin. */
import type { ProblemDetails, Session } from '../facts/api.js'
import { decoded } from '../facts/place.js'
import { EventStream, type StreamEvent } from '../facts/event-stream.js'

/** A request that failed, with the relay's code, or `UNREACHABLE`. */
export class ApiError extends Error {
  readonly problem: ProblemDetails

  constructor(problem: ProblemDetails) {
    super(problem.detail ?? problem.title)
    this.problem = problem
  }
}

const tokenKey = 'waybill-token'

/** No header may have another character, and a request with one is not even made. */
const tokenPattern = /^[!-~]+$/

export class Client {
  /** The token was refused: it is missing, wrong or expired. */
  onRefused: (problem: ProblemDetails) => void = () => undefined

  /** Takes the token out of a link, so that it stands in no history. */
  takeToken(): void {
    const [, token, rest = ''] = /^#token=([^&]+)&?(.*)$/.exec(location.hash) ?? []
    if (token === undefined) return
    this.keepToken(decoded(token))
    history.replaceState(null, '', `${location.pathname}#${rest}`)
  }

  keepToken(token: string): void {
    sessionStorage.setItem(tokenKey, token)
  }

  session(): Promise<Session> {
    return this.get('/v1/session')
  }

  async get<T>(path: string, signal?: AbortSignal): Promise<T> {
    const response = await this.#asked(path, signal === undefined ? {} : { signal })
    return (await response.json()) as T
  }

  async text(path: string, signal?: AbortSignal): Promise<{ text: string; isCut: boolean }> {
    const response = await this.#asked(path, signal === undefined ? {} : { signal })
    return { text: await response.text(), isCut: response.headers.get('x-truncated') === 'true' }
  }

  async blob(path: string): Promise<Blob> {
    return await (await this.#asked(path, {})).blob()
  }

  async post<T>(path: string, body: unknown = {}): Promise<T> {
    const response = await this.#asked(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await response.json()) as T
  }

  async delete<T>(path: string): Promise<T> {
    return (await (await this.#asked(path, { method: 'DELETE' })).json()) as T
  }

  /** Events until the relay ends the stream.
   * @throws ApiError also for an event `error` */
  async *stream(path: string, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    const headers = { accept: 'text/event-stream' }
    const response = await this.#asked(path, { headers, signal })
    if (response.body === null) return
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    const events = new EventStream()
    try {
      for (;;) {
        const { done, value } = await reader.read().catch(unreachable)
        if (done) return
        for (const event of events.push(value)) {
          if (event.name === 'error') throw this.#failed(JSON.parse(event.data) as ProblemDetails)
          yield event
        }
      }
    } finally {
      void reader.cancel().catch(() => undefined)
    }
  }

  async #asked(path: string, init: RequestInit): Promise<Response> {
    const token = sessionStorage.getItem(tokenKey)
    if (token !== null && !tokenPattern.test(token)) throw this.#failed(notAToken)
    const headers = {
      ...(init.headers as Record<string, string> | undefined),
      ...(token === null ? undefined : { authorization: `Bearer ${token}` }),
    }
    const response = await fetch(path, { ...init, headers, cache: 'no-store' }).catch(unreachable)
    if (response.ok) return response
    throw this.#failed(await problemOf(response))
  }

  #failed(problem: ProblemDetails): ApiError {
    if (problem.status === 401) this.onRefused(problem)
    return new ApiError(problem)
  }
}

const notAToken: ProblemDetails = {
  status: 401,
  code: 'TOKEN_INVALID',
  title: 'It has a blank, or a character that is in no token.',
}

const silence = 'The relay does not answer.'

/** What a reason says to people that have read as much. */
export const beyondSilence = (why: string): string => (why === silence ? '' : why)

/** @throws ApiError, or that the request was aborted */
function unreachable(error: unknown): never {
  if (error instanceof DOMException && error.name === 'AbortError') throw error
  throw new ApiError({ status: 0, code: 'UNREACHABLE', title: silence })
}

/** A proxy between may answer something else. */
async function problemOf(response: Response): Promise<ProblemDetails> {
  const text = await response.text().catch(() => '')
  try {
    const problem = JSON.parse(text) as ProblemDetails
    if (typeof problem.code === 'string') return problem
  } catch {
    // It is none of the relay's.
  }
  const { status, statusText } = response
  return { status, code: 'NO_PROBLEM_DETAILS', title: `The answer was ${status} ${statusText}.` }
}

/** For a reader: what went wrong, with its code. */
export const errorText = (error: unknown): string =>
  error instanceof ApiError ? `${error.message} (${error.problem.code})` : String(error)

export const isAbort = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'AbortError'
