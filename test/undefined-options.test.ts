/** Options that are undefined, which a program gives where it has no value: types and effect. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  fixedRetry,
  lmtpTransport,
  maildirTransport,
  mxTransport,
  pipeTransport,
  postfixRetry,
  postOutcomes,
  smtpTransport,
  type LmtpTransportOptions,
  type MxTransportOptions,
  type OpenOptions,
  type PipeOptions,
  type PostfixRetryOptions,
  type SmtpTransportOptions,
  type SubmitManyOptions,
  type VerbOptions,
  type WebhookOptions,
} from '../src/index.js'
import type { ListOptions } from '../src/admin/select/listing.js'
import type { MaildirOptions } from '../src/relay/maildir/maildir.js'
import { simulated, submission } from './engine/stage.js'
import { root } from './tree/sources.js'

type Optional<T> = { [K in keyof T]-?: Record<string, never> extends Pick<T, K> ? K : never }[keyof T]
type Unset<T> = { readonly [K in Optional<T>]: undefined }

/** Every optional member of the interface is undefined. The compiler says where the type of one
 * does not take that, as in a program that has `exactOptionalPropertyTypes`. */
function unset<T>(path: string, ...names: string[]): Unset<T> {
  const text = readFileSync(join(root, 'src', path), 'utf8')
  const members = names.flatMap((name) => {
    const body = text.split(`export interface ${name} `)[1]!.split('\n}')[0]!
    return [...body.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, member]) => [member, undefined])
  })
  return Object.fromEntries(members) as Unset<T>
}

test('a queue whose options are undefined is one with the defaults', async () => {
  await simulated(async (stage) => {
    const { clock, ...others } = unset<OpenOptions>('engine/life/options.ts', 'QueueOptions')
    const options: Omit<Partial<OpenOptions>, 'clock'> = { ...others, history: undefined }
    expect([clock, Object.keys(options).length]).toEqual([undefined, 29])
    const queue = await stage.open({ ...others, retry: fixedRetry([50]) })
    const verb: VerbOptions = unset<VerbOptions>('admin/verbs/tally.ts', 'VerbOptions')
    const many: SubmitManyOptions = unset<SubmitManyOptions>(
      'engine/accept/submit-many.ts',
      'SubmitManyOptions',
    )
    const listed: ListOptions = unset<ListOptions>('admin/select/listing.ts', 'ListOptions')
    const results = []
    for await (const result of queue.submitMany([submission()], many)) results.push(result.error)
    expect(results).toEqual([undefined])
    await queue.idle()
    expect(stage.told('delivered')).toHaveLength(1)
    await queue.submit({ ...submission(), hold: true })
    const found = []
    for await (const { sender } of queue.list({ all: true }, listed)) found.push(sender)
    expect(found).toEqual(['ada@example.org'])
    queue.reconfigure({
      retry: undefined,
      scheduler: undefined,
      limits: undefined,
      shaping: undefined,
      transports: undefined,
    })
    expect(await queue.release({ all: true }, verb)).toMatchObject({ messageCount: 1 })
    await queue.idle()
    expect(stage.told('delivered')).toHaveLength(2)
    expect(stage.warnings).toEqual([])
  })
})

test('transports and policies take options that are undefined', () => {
  const smtp: SmtpTransportOptions = unset<SmtpTransportOptions>(
    'relay/smtp-out/smtp-out-options.ts',
    'SmtpTransportOptions',
  )
  const mx: MxTransportOptions = unset<MxTransportOptions>(
    'relay/smtp-out/mx-out-options.ts',
    'MxTransportOptions',
  )
  const lmtp: LmtpTransportOptions = unset<LmtpTransportOptions>(
    'relay/smtp-out/lmtp-out.ts',
    'LmtpTransportOptions',
  )
  const maildir: Unset<MaildirOptions> = unset<MaildirOptions>('relay/maildir/maildir.ts', 'MaildirOptions')
  const pipe: Unset<PipeOptions> = unset<PipeOptions>('relay/agents/pipe-transport.ts', 'PipeOptions')
  const policy: PostfixRetryOptions = unset<PostfixRetryOptions>(
    'policy/postfix-retry.ts',
    'PostfixRetryOptions',
  )
  const transports = [
    smtpTransport(smtp),
    mxTransport(mx),
    lmtpTransport(lmtp),
    maildirTransport({ directory: '/tmp/waybill-never-made', ...maildir } satisfies MaildirOptions),
    pipeTransport({ command: 'true', ...pipe } satisfies PipeOptions),
  ]
  expect(transports.map((transport) => 'deliver' in transport)).toEqual(Array(5).fill(true))
  expect(postfixRetry(policy).intervalsMs).toEqual(postfixRetry().intervalsMs)
})

test('a receiver of outcomes takes options that are undefined', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const options: Partial<WebhookOptions> = unset<WebhookOptions>('relay/webhook.ts', 'WebhookOptions')
    const posting = postOutcomes(queue, {
      url: 'http://127.0.0.1:9/',
      secret: `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
      ...options,
      signal: AbortSignal.abort(),
    })
    await expect(posting).resolves.toBeUndefined()
  })
})
