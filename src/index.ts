/** What an embedder imports: the queue, the policies, the transports' port, the errors. */
export { openQueue } from './queue/open.js'
export type { Clock, Timer } from './base/clock.js'
export type { Notify, NotifyWhen, RecipientDsn, Relayed, Ret } from './base/notification.js'
export type { MessageId } from './base/message-id.js'
export type { Prng } from './base/prng.js'
export type { AttemptOptions } from './delivery/attempt.js'
export type { Disk } from './disk/disk.js'
export type { Layout } from './lane/lane-plan.js'
export type { QueueName } from './lane/queue-name.js'
export { serveControl, type ControlOptions, type ControlServer } from './admin/control-server.js'
export type { FlushOptions } from './admin/flush.js'
export type { NewRoute } from './admin/reroute.js'
export type { VerbOptions, VerbResult } from './admin/tally.js'
export type { ControlRequest, ReloadedFile, VerbOutcome, VerbRequest } from './admin/control-protocol.js'
export type { OutcomeKind, OutcomeNote } from './record/outcome-note.js'
export type { Accepted } from './engine/tickets.js'
export type { QueueEvents, RecipientEvent } from './engine/events.js'
export type { ListedMessage, ListOptions } from './engine/listing.js'
export type { Selector } from './engine/selector.js'
export type { QueueOptions, Route } from './engine/options.js'
export type { Queue, QueueLimits } from './queue/queue.js'
export type { Room } from './engine/space-watch.js'
export type { LaneStatistics, QueueStatistics } from './engine/statistics.js'
export type { Submission } from './engine/submission.js'
export type { AskedRecipient, SubmissionDsn } from './engine/submission-dsn.js'
export { isWaybillError, WaybillError, type ErrorCode, type Place, type SmtpReply } from './errors.js'
export type {
  DeliveryRequest,
  DeliveryResult,
  MessageData,
  Outcome,
  RequestDsn,
  SiteTrouble,
  Transport,
} from './delivery/transport.js'
export type {
  DestinationSnapshot,
  DestinationState,
  FeedbackEvent,
  SchedulerOptions,
  TransportOptions,
} from './scheduler/scheduler.js'
export { fixedRetry } from './policy/fixed-retry.js'
export { postfixRetry, type PostfixRetryOptions } from './policy/postfix-retry.js'
export type { RetryDecision, RetryPolicy, RetryState } from './policy/retry-policy.js'
export { zmailerPolicy } from './policy/zmailer-policy.js'
export type { DkimKey } from './relay/dkim-keys.js'
export { lmtpTransport, type LmtpTransportOptions } from './relay/lmtp-out.js'
export { maildirTransport, type MaildirOptions } from './relay/maildir.js'
export type { MxResolver } from './relay/dns-questions.js'
export { mxTransport } from './relay/mx-out.js'
export type { MxTransportOptions } from './relay/mx-out-options.js'
export { smtpTransport } from './relay/smtp-out.js'
export type { TlsPolicyLine } from './relay/tls-policy.js'
export type { SmtpTransportOptions } from './relay/smtp-out-options.js'
