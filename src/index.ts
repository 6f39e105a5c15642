/** The module `waybill`: the queue, the policies, the transports, the errors. */
export type { Change } from './engine/life/change.js'
export { openQueue } from './queue.js'
export type { Clock, Timer } from './base/clock.js'
export type { AskedRecipient, Notify, NotifyWhen, RecipientDsn, Relayed, Ret } from './base/notification.js'
export { newMessageId, type MessageId } from './base/message-id.js'
export type { Prng } from './base/prng.js'
export type { AttemptOptions } from './delivery/attempt.js'
export type { Disk, DiskFile, DiskSpace, DiskTraits, FileStatus, LockReport, OpenMode } from './disk/disk.js'
export type { Layout } from './lane/lane-plan.js'
export type { LaneKind, QueueName } from './lane/lane.js'
export { serveControl, type ControlOptions, type ControlServer } from './control/server.js'
export type { ControlledQueue } from './control/controlled-queue.js'
export type { QueueOwner, SessionWitness } from './control/session.js'
export type { TakingQueue } from './control/submissions.js'
export type { FlushOptions } from './admin/verbs/flush.js'
export type { NewRoute } from './admin/verbs/reroute.js'
export type { SlowOptions } from './admin/verbs/slow.js'
export type { SuspendOptions } from './admin/verbs/suspend.js'
export type { VerbOptions, VerbResult } from './admin/verbs/tally.js'
export type { Suspension, SuspensionTarget } from './engine/life/suspensions.js'
export type {
  ControlRequest,
  PlainVerb,
  ReloadedFile,
  SubmitRequest,
  ToldProblem,
  VerbOutcome,
  VerbRequest,
} from './control/protocol.js'
export type { OutcomeKind, OutcomeNote } from './record/outcome-note.js'
export type { Ranges } from './base/ranges.js'
export type { BackupReport, BackupRequest } from './backup/back-up.js'
export type { Manifest } from './backup/manifest.js'
export type { Position } from './base/position.js'
export type { BackupPin } from './engine/life/backup-pins.js'
export type { PinnedFiles } from './engine/checkpoint/pinned-files.js'
export type { DrainOptions, DrainResult } from './engine/deliver/drain.js'
export type { SubmitManyOptions, SubmitResult } from './engine/accept/submit-many.js'
export type { Accepted } from './engine/accept/tickets.js'
export type { AcceptedKey } from './record/keys.js'
export type { EndedEvent, Listener, QueueEvents, RecipientEvent } from './engine/life/events.js'
export type { Listenable } from './engine/life/listenable.js'
export type { RoutedRecipient } from './admin/select/listed-message.js'
export type { ListedMessage, ListOptions } from './admin/select/listing.js'
export type { ListPage, PageOptions } from './admin/select/page.js'
export type { StoredMessage } from './admin/select/stored-message.js'
export type { Selector } from './admin/select/selector.js'
export type { QueueOptions, Route } from './engine/life/options.js'
export type { OpenOptions, Queue, QueueLimits } from './queue.js'
export type { HistoryOptions } from './history/history.js'
export type { HistoryEntry, HistorySelector } from './history/history-entry.js'
export type { HistoryPage, HistoryPageOptions } from './history/history-reader.js'
export type { Room } from './engine/accept/space-watch.js'
export type { LaneStatistics, QueueStatistics, StatsOptions } from './admin/select/statistics.js'
export type { DestinationChoice } from './engine/deliver/destinations-now.js'
export type { Submission } from './engine/accept/submission.js'
export type { SubmissionTerms } from './engine/accept/submission-terms.js'
export type { Priority } from './record/envelope.js'
export type { Conversation, ConversationLine } from './delivery/conversation.js'
export type { Rate } from './policy/rate.js'
export type {
  ConsumerStatus,
  OutcomeBatchesRequest,
  OutcomeGap,
  OutcomesRequest,
} from './engine/outcomes/consume.js'
export { postOutcomes } from './relay/webhook.js'
export type { OutcomeSource, WebhookBody, WebhookOptions, WebhookTrouble } from './relay/webhook.js'
export type { QueueOutcome, QueueOutcomeKind } from './record/outcome.js'
export type { SubmissionDsn } from './engine/accept/submission.js'
export {
  isWaybillError,
  WaybillError,
  type ErrorCode,
  type Place,
  type SmtpReply,
  type WarningCode,
} from './errors.js'
export type {
  DeliveryRequest,
  DeliveryResult,
  MessageData,
  Outcome,
  OutcomeTls,
  RequestDsn,
  SiteTrouble,
  Transport,
} from './delivery/transport.js'
export type {
  DestinationSnapshot,
  WaitingLimit,
  DeferReason,
  DestinationState,
  FeedbackEvent,
  SchedulerOptions,
  TransportOptions,
  TransportSnapshot,
} from './scheduler/scheduler.js'
export type {
  DefaultName,
  DefaultOptions,
  SchedulerParameters,
  TransportParameters,
} from './scheduler/parameters.js'
export { fixedRetry } from './policy/fixed-retry.js'
export type { ReplyShaping, SendingLimit } from './policy/rate-limits.js'
export { postfixRetry, type PostfixRetryOptions } from './policy/postfix-retry.js'
export type { RetryDecision, RetryPolicy, RetryState } from './policy/retry-policy.js'
export type { DeliveryLimits } from './policy/concurrency-limits.js'
export type { Glob, GlobToken } from './policy/glob.js'
export type { PolicyProblem, ZmailerClause } from './policy/zmailer-clauses.js'
export type { SettingName, ZmailerSettings } from './policy/zmailer-clauses.js'
export type { TextPlace } from './policy/zmailer-scan.js'
export {
  zmailerPolicy,
  zmailerPolicyProblems,
  type ZmailerExplanation,
  type ZmailerPolicy,
  type ZmailerPolicyOptions,
} from './policy/zmailer-policy.js'
export type { DkimKey } from './relay/dkim/dkim-keys.js'
export type { DkimSigns } from './relay/dkim/dkim-signer.js'
export { lmtpTransport, type LmtpTransportOptions } from './relay/smtp-out/lmtp-out.js'
export { maildirTransport, type MaildirOptions } from './relay/maildir/maildir.js'
export type { MxResolver } from './relay/dns/dns-questions.js'
export type { OwnServers } from './relay/dns/mail-hosts.js'
export { mxTransport } from './relay/smtp-out/mx-out.js'
export type { MxTransportOptions } from './relay/smtp-out/mx-out-options.js'
export { ClauseAgents, type ClauseAgentsOptions } from './relay/agents/clause-agents.js'
export { pipeTransport, type PipeOptions } from './relay/agents/pipe-transport.js'
export { smtpTransport } from './relay/smtp-out/smtp-out.js'
export type { MtaSts, MtaStsOptions } from './relay/tls/mta-sts.js'
export type { StsPolicy } from './relay/tls/mta-sts-policy.js'
export type { StsWeb } from './relay/tls/mta-sts-web.js'
export type { TlsLevel, TlsPolicyLine } from './relay/tls/tls-policy.js'
export type { SmtpTransportOptions } from './relay/smtp-out/smtp-out-options.js'
