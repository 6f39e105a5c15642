/** The OpenAPI document, held against the routes that the server has and against their answers. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { inspected } from '../../src/http/inspection/inspected.js'
import { httpStage, type HttpStage } from './stage.js'

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly security?: readonly { readonly token: readonly string[] }[]
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}
interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const documentOf = async (stage: HttpStage): Promise<Document> =>
  (await (await fetch(`${stage.url}/v1/openapi.json`)).json()) as Document

const methods = ['get', 'post', 'put', 'patch', 'delete']

test('what the document names is there, with its methods and the scope that it says', async () => {
  const stage = await httpStage()
  const { openapi, paths } = await documentOf(stage)
  expect(openapi).toBe('3.1.0')
  expect(Object.keys(paths).length).toBeGreaterThan(20)
  for (const [path, operations] of Object.entries(paths)) {
    const url = `${stage.url}${path.replace(/\{\w+\}/g, 'x')}`
    const named = Object.keys(operations)
    for (const method of methods) {
      const response = await fetch(url, { method: method.toUpperCase() })
      const { code } = (await response.json()) as { readonly code?: string }
      const scopes = operations[method]?.security?.[0]?.token
      const expected = named.includes(method)
        ? scopes === undefined
          ? code
          : 'TOKEN_MISSING'
        : 'METHOD_NOT_ALLOWED'
      expect(`${method} ${path} ${code}`).toBe(`${method} ${path} ${expected}`)
      if (code !== 'METHOD_NOT_ALLOWED') continue
      const allow = named.map((one) => one.toUpperCase()).join(', ')
      expect(response.headers.get('allow')).toBe(allow)
    }
  }
})

test('HEAD and OPTIONS are no methods of the API, and say which are', async () => {
  const stage = await httpStage()
  for (const [path, operations] of Object.entries((await documentOf(stage)).paths)) {
    const url = `${stage.url}${path.replace(/\{\w+\}/g, 'x')}`
    const allow = Object.keys(operations).map((one) => one.toUpperCase())
    for (const method of ['HEAD', 'OPTIONS']) {
      const { status, headers } = await fetch(url, { method })
      expect([method, path, status, headers.get('allow')]).toEqual([method, path, 405, allow.join(', ')])
    }
  }
})

test('a generated client has a name for each operation, and every header that the routes read', async () => {
  const { paths } = await documentOf(await httpStage())
  const operations = Object.values(paths).flatMap((one) => Object.values(one))
  const names = operations.map(({ operationId }) => operationId)
  expect(new Set(names).size).toBe(operations.length)
  expect(names).toContain('getMessagesByIdPartsByPart')
  const headers = operations.flatMap(({ parameters }) => parameters.filter((one) => one.in === 'header'))
  expect(headers.map(({ name }) => name)).toEqual([
    'Idempotency-Key',
    'traceparent',
    'tracestate',
    'Prefer',
    'Last-Event-ID',
  ])
  expect(paths['/v1/qshape']!['get']!.responses['200']!.content).toHaveProperty('text/event-stream')
})

test('what the server answers is what the document says', async () => {
  const stage: HttpStage = await httpStage({
    inspect: (order, onProgress) => inspected(stage.directory, order, onProgress),
  })
  const document = await documentOf(stage)
  const ajv = new Ajv2020({ strict: false }).addSchema(document, 'api')
  const validator = (path: string, method: string, status: number): ValidateFunction => {
    const { responses } = document.paths[path]![method]!
    const answer = status in responses ? String(status) : 'default'
    const [type] = Object.keys(responses[answer]!.content!)
    const pointer = ['paths', path, method, 'responses', answer, 'content', type!, 'schema']
    return ajv.compile({
      $ref: `api#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`,
    })
  }
  const check = async (path: string, method: string, response: Promise<Response>): Promise<void> => {
    const { status } = await response
    const validate = validator(path, method, status)
    const isValid = validate(await (await response).json())
    expect([path, status, isValid, validate.errors ?? []]).toEqual([path, status, true, []])
  }
  const id = await stage.submit('held@example.net', { hold: true })
  await stage.submit('one@example.net')
  await stage.until(
    async () => (await stage.json('read', '/v1/messages?lane=deferred')).messages.length === 1,
  )
  const { ask, post } = stage
  await check('/v1/queue', 'get', ask('read', '/v1/queue?destinations=5'))
  await check('/v1/queues', 'get', ask('read', '/v1/queues'))
  for (const path of ['/v1/rates', '/v1/lanes', '/v1/destinations', '/v1/messages', '/v1/consumers'])
    await check(path, 'get', ask('read', path))
  for (const path of ['/v1/qshape', '/v1/log/segments', '/v1/log/verify'])
    await check(path, 'get', ask('read', path))
  await check('/v1/log/at', 'get', ask('read', '/v1/log/at?position=0'))
  await check('/v1/messages/{id}', 'get', ask('read', `/v1/messages/${id}`))
  await check('/v1/messages/{id}', 'get', ask('read', '/v1/messages/none'))
  await check('/v1/messages/{id}/history', 'get', ask('read', `/v1/messages/${id}/history`))
  await check('/v1/messages/{id}/structure', 'get', ask('content', `/v1/messages/${id}/structure`))
  await check('/v1/session', 'get', ask('read', '/v1/session'))
  await check('/v1/problems/{code}', 'get', ask('read', '/v1/problems/DISK_FULL'))
  const mail = { from: 'ada@example.org', to: 'b@example.net', text: 'x' }
  await check('/v1/messages', 'post', post('submit', '/v1/messages', mail))
  const resume = { transport: 'out', name: 'example.net' }
  await check('/v1/destinations/resume', 'post', post('operate', '/v1/destinations/resume', resume))
  const target = { nexthop: 'example.net' }
  const suspend = { ...target, forMs: 60_000 }
  await check('/v1/destinations/suspend', 'post', post('operate', '/v1/destinations/suspend', suspend))
  await check('/v1/destinations', 'get', ask('read', '/v1/destinations'))
  await check('/v1/destinations/unsuspend', 'post', post('operate', '/v1/destinations/unsuspend', target))
  await check('/v1/destinations/suspend', 'post', post('operate', '/v1/destinations/suspend', {}))
  const slow = { ...target, count: 5, perMs: 60_000 }
  await check('/v1/destinations/slow', 'post', post('operate', '/v1/destinations/slow', slow))
  const verb = { do: 'release', selector: { all: true }, dryRun: true }
  await check('/v1/operations', 'post', post('operate', '/v1/operations', verb))
  await check('/v1/operations', 'get', ask('operate', '/v1/operations'))
})
