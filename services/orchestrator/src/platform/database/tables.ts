// Generated from the migrations by `npm run generate`. Do not edit.
import type { AgentPrompt, Attachment, DurableEventName, LegalDocumentName, Mention, MessageContent, PushKeys } from '@uswarm/contract';
import type { ColumnType } from 'kysely';

/** Has a default. */
type Generated<T> = [T] extends [ColumnType<infer S, infer I, infer U>]
  ? ColumnType<S, I | undefined, U>
  : ColumnType<T, T | undefined, T>;
type Timestamp = ColumnType<Date, Date | string, Date | string>;
/** Read as a value, written as JSON text. */
type Json<T> = ColumnType<T, string, string>;
/** Computed by Postgres. */
type Computed<T> = ColumnType<T, never, never>;

export interface AgentMemoriesTable {
  agent_id: string;
  key: string;
  content: string;
  category: string;
  created_at: Generated<Timestamp>;
  updated_at: Generated<Timestamp>;
  terms: Computed<number[]>;
  untrusted: Generated<boolean>;
  created_by: Generated<'user' | 'agent'>;
  written_by: Generated<'user' | 'agent'>;
  turn_id: string | null;
  message_id: string | null;
  workspace_id: string | null;
}

export interface AgentToolsTable {
  agent_id: string;
  name: string;
  enabled: boolean;
  updated_at: Generated<Timestamp>;
  permission: 'allow' | 'ask' | null;
}

export interface AgentsTable {
  id: string;
  workspace_id: string;
  slug: string;
  name: string;
  role: string;
  kind: 'manager' | 'sub-agent';
  description: string;
  avatar_url: string;
  skills: string[];
  sort_order: number;
  activity: Generated<'online' | 'reading' | 'thinking' | 'writing' | 'pending' | 'error'>;
  created_at: Generated<Timestamp>;
  updated_at: Timestamp | null;
  model: 'flash' | 'sonnet' | 'opus' | null;
  response_length: Generated<'auto' | 'short' | 'medium' | 'long'>;
  prompts: Generated<Json<AgentPrompt[]>>;
  activity_until: Timestamp | null;
  deleted_at: Timestamp | null;
  untrusted: Generated<boolean>;
}

export interface ApiTokensTable {
  id: string;
  user_id: string;
  token_hash: Buffer;
  name: string;
  scopes: string[];
  workspace_ids: string[] | null;
  created_at: Generated<Timestamp>;
  expires_at: Timestamp;
  last_used_at: Timestamp | null;
}

export interface ArtifactVersionsTable {
  artifact_id: string;
  version: number;
  title: string;
  status: 'draft' | 'final';
  agent_slug: string;
  preview: string;
  size: number;
  object_id: string;
  created_at: Generated<Timestamp>;
  untrusted: Generated<boolean>;
}

export interface ArtifactsTable {
  id: string;
  workspace_id: string;
  conversation_id: string | null;
  version: Generated<number>;
  updated_at: Generated<Timestamp>;
}

export interface AuditLogTable {
  id: string;
  at: Generated<Timestamp>;
  actor: string;
  action: string;
  user_id: string | null;
  subject_id: string | null;
  details: Generated<Json<Record<string, unknown>>>;
  identity_hash: Buffer | null;
}

export interface ConversationSummariesTable {
  conversation_id: string;
  through_seq: number;
  text: string;
  updated_at: Generated<Timestamp>;
}

export interface ConversationsTable {
  id: string;
  workspace_id: string;
  type: 'swarm' | 'agent';
  agent_id: string | null;
  title: string | null;
  read_seq: Generated<number>;
  created_at: Generated<Timestamp>;
  updated_at: Generated<Timestamp>;
  title_source: 'user' | 'first_message' | 'model' | null;
  title_seq: number | null;
  rev: Generated<number>;
  muted: Generated<boolean>;
}

export interface DelegationsTable {
  turn_id: string;
  parent_turn_id: string;
  call_id: string;
  message_id: string;
  status: Generated<'running' | 'completed' | 'failed'>;
  created_at: Generated<Timestamp>;
  ended_at: Timestamp | null;
}

export interface DeletedIdentitiesTable {
  identity_hash: Buffer;
  reason: Generated<string>;
  description: Generated<string>;
  deleted_at: Generated<Timestamp>;
  sessions_valid_after: Timestamp | null;
  returns: Generated<Date[]>;
}

export interface DeletedMemoriesTable {
  agent_id: string;
  hash: Buffer;
  deleted_at: Generated<Timestamp>;
}

export interface DeletedUsageTable {
  identity_hash: Buffer;
  period: string;
  prompt_tokens: number;
  completion_tokens: number;
  requests: number;
}

export interface DeletionFeedbackTable {
  id: Generated<string>;
  month: string;
  reason: string;
  description: string;
}

export interface DevicePositionsTable {
  user_id: string;
  device_id: string;
  workspace_id: string;
  seq: number;
  at: Generated<Timestamp>;
}

export interface DevicesTable {
  user_id: string;
  device_id: string;
  info: Generated<string>;
  app_version: Generated<string>;
  timezone: Generated<string>;
  push_token: string | null;
  push_token_hash: Buffer | null;
  created_at: Generated<Timestamp>;
  last_seen_at: Generated<Timestamp>;
  push_service: Generated<'fcm' | 'apns' | 'web_push'>;
  push_keys: Json<PushKeys> | null;
}

export interface EventEpochTable {
  id: Generated<boolean>;
  bumps: Generated<number>;
}

export interface EventOutboxTable {
  workspace_id: string;
  shard: Computed<number>;
  from_seq: number;
  upto_seq: number;
  since: Generated<Timestamp>;
  due_at: Generated<Timestamp>;
}

export interface ExportsTable {
  id: string;
  user_id: string | null;
  status: Generated<'pending' | 'running' | 'ready' | 'failed'>;
  object_id: string | null;
  size: number | null;
  created_at: Generated<Timestamp>;
  expires_at: Timestamp | null;
  workspace_id: string | null;
}

export interface GatewaysTable {
  id: string;
  bus_version: number;
  seen_at: Generated<Timestamp>;
}

export interface IdempotencyKeysTable {
  user_id: string;
  key_hash: Buffer;
  request_hash: Buffer;
  subject_id: string;
  created_at: Generated<Timestamp>;
}

export interface ImportedReceiptsTable {
  workspace_id: string;
  number: number;
  jws: string;
  kid: string;
  x: string;
}

export interface ImportsTable {
  id: string;
  user_id: string | null;
  status: Generated<'receiving' | 'pending' | 'running' | 'done' | 'failed'>;
  problem: string | null;
  object_id: string | null;
  size: Generated<number>;
  workspace_id: string | null;
  created_at: Generated<Timestamp>;
  expires_at: Timestamp | null;
}

export interface IntegrationRevocationsTable {
  id: string;
  user_id: string;
  provider: string;
  key_id: string;
  tokens: Buffer;
  created_at: Generated<Timestamp>;
}

export interface IntegrationStatesTable {
  nonce: string;
  code_hash: Buffer;
  expires_at: Timestamp;
}

export interface IntegrationsTable {
  id: string;
  user_id: string;
  provider: string;
  key_id: string;
  tokens: Buffer;
  code_hash: Buffer;
  expires_at: Timestamp | null;
  refresh_at: Timestamp | null;
  created_at: Generated<Timestamp>;
  updated_at: Generated<Timestamp>;
  needed_scopes: Generated<Json<Record<string, string[]>>>;
  asked_scopes: Generated<string[]>;
}

export interface LegalAcceptancesTable {
  user_id: string;
  document: LegalDocumentName;
  version: string;
  accepted_at: Generated<Timestamp>;
}

export interface LegalDocumentsTable {
  document: 'terms_of_service' | 'privacy_policy';
  version: string;
  content: string;
  published_at: Generated<Timestamp>;
}

export interface MessageAttachmentsTable {
  message_id: string;
  upload_id: string;
}

export interface MessagesTable {
  id: string;
  workspace_id: string;
  conversation_id: string;
  seq: number;
  role: 'user' | 'agent' | 'system';
  sender_id: string | null;
  agent_id: string | null;
  content: Json<MessageContent>;
  status: 'pending' | 'sent' | 'delivered' | 'read' | 'failed' | 'incomplete' | 'silent' | 'delegated';
  local_id: string | null;
  body_hash: Buffer | null;
  mentions: Generated<Json<Mention[]>>;
  attachments: Generated<Json<Omit<Attachment, 'url'>[]>>;
  turn_id: string | null;
  turn_key: string | null;
  created_at: Generated<Timestamp>;
  updated_at: Generated<Timestamp>;
  search_text: Computed<string | null>;
  shown_seq: number | null;
  before_seq: number | null;
  edited_at: Timestamp | null;
  error_code: string | null;
  rev: Generated<number>;
  answer_turn_id: string | null;
  in_reply_to: string | null;
  answered_with: string | null;
  schedule_id: string | null;
  trigger_id: string | null;
}

export interface PushDeliveriesTable {
  message_id: string;
  user_id: string;
  device_id: string;
  at: Generated<Timestamp>;
}

export interface ReceiptKeysTable {
  kid: string;
  x: string;
  created_at: Generated<Timestamp>;
}

export interface ReceiptsTable {
  id: string;
  user_id: string;
  workspace_id: string;
  conversation_id: string;
  agent_id: string;
  turn_id: string;
  call_id: string;
  tool: string;
  effect: 'own' | 'keyed' | 'once';
  arguments: Json<Record<string, unknown>> | null;
  arguments_hash: Buffer;
  key: string;
  approval: Json<{ approved_at: string; title: string | null; description: string | null }> | null;
  status: Generated<'sent' | 'succeeded' | 'failed' | 'unknown'>;
  outcome: string | null;
  sent_at: Generated<Timestamp>;
  finished_at: Timestamp | null;
  kid: string | null;
  jws: string | null;
  integration_id: string | null;
}

export interface RelaysTable {
  id: string;
  seen_at: Generated<Timestamp>;
}

export interface RevokedTokensTable {
  token_hash: Buffer;
  expires_at: Timestamp;
}

export interface RuntimeProcessesTable {
  workspace_id: string;
  pid: number;
  port: number;
  started_at: Generated<Timestamp>;
  pool_member: string | null;
}

export interface RuntimesTable {
  workspace_id: string;
  user_id: string;
  desired: 'running' | 'suspended' | 'deleted';
  phase: Generated<'Pending' | 'Progressing' | 'Ready' | 'Suspended' | 'Error' | 'Deleting'>;
  reason: Generated<string>;
  verified: Generated<boolean>;
  address: string | null;
  instance_id: string | null;
  identified_at: Timestamp | null;
  failures: Generated<number>;
  created_at: Generated<Timestamp>;
  updated_at: Generated<Timestamp>;
  wanted_at: Generated<Timestamp>;
  silent_since: Timestamp | null;
  polled_until: Timestamp | null;
}

export interface ScheduleRunsTable {
  id: string;
  schedule_id: string;
  due_at: Timestamp;
  is_manual: Generated<boolean>;
  status: 'queued' | 'running' | 'completed' | 'failed' | 'stopped' | 'skipped';
  message_id: string | null;
  error_code: string | null;
  total_tokens: Generated<number>;
  cost_micros: Generated<number>;
  started_at: Generated<Timestamp>;
  finished_at: Timestamp | null;
  body: Buffer | null;
  body_name: string | null;
}

export interface SchedulesTable {
  id: string;
  workspace_id: string;
  agent_id: string;
  conversation_id: string | null;
  title: string;
  prompt: string;
  start_time: string | null;
  rrule: string | null;
  time_zone: string | null;
  status: 'active' | 'paused' | 'finished';
  paused_by: 'user' | 'failures' | null;
  next_at: Timestamp | null;
  failures: Generated<number>;
  token_limit: number | null;
  created_at: Generated<Timestamp>;
  updated_at: Generated<Timestamp>;
  secret_hash: Buffer | null;
}

export interface SpentLocalIdsTable {
  workspace_id: string;
  sender_id: string;
  local_id_hash: Buffer;
}

export interface ToolApprovalsTable {
  card_message_id: string;
  turn_id: string;
  conversation_id: string;
  call_id: string;
  tool: string;
  arguments_hash: Buffer;
  status: Generated<'open' | 'approved' | 'denied' | 'expired' | 'superseded'>;
  created_at: Generated<Timestamp>;
  expires_at: Timestamp;
  decided_at: Timestamp | null;
  granted_tokens: number | null;
  key: string | null;
  integration_id: string | null;
  question: Json<Record<string, unknown>> | null;
  answer: Json<Record<string, unknown>> | null;
  decision_message_id: string | null;
}

export interface ToolCallsTable {
  turn_id: string;
  call_id: string;
  tool: string;
  text: string;
  failed: boolean;
  shows_message: boolean;
  created_at: Generated<Timestamp>;
}

export interface ToolDefinitionsTable {
  server: string;
  name: string;
  definition: Json<{ name: string; description: string; inputSchema: Record<string, unknown>; readOnly: boolean }>;
  hash: Buffer;
  changed: Json<{ name: string; description: string; inputSchema: Record<string, unknown>; readOnly: boolean }> | null;
  changed_hash: Buffer | null;
  is_listed: Generated<boolean>;
  updated_at: Generated<Timestamp>;
  owner_id: string | null;
}

export interface ToolServerClientsTable {
  server: string;
  client: Json<Record<string, unknown>>;
  key_id: string | null;
  secret: Buffer | null;
  updated_at: Generated<Timestamp>;
}

export interface TranscriptionsTable {
  upload_id: string;
  turn_id: string;
  attempts: Generated<number>;
  problem: 'too_large' | 'too_long' | 'refused' | 'limit' | 'unavailable' | null;
  updated_at: Generated<Timestamp>;
}

export interface TriggerSecretsTable {
  id: string;
  user_id: string;
  provider: string;
  key_id: string;
  tokens: Buffer;
}

export interface TurnContextsTable {
  turn_id: string;
  context: Json<Record<string, unknown>>;
  agent_id: string | null;
}

export interface TurnEntriesTable {
  turn_id: string;
  number: number;
  generation: number;
  kind: 'step' | 'result' | 'steering';
  body: string | null;
  created_at: Generated<Timestamp>;
  object_id: string | null;
  hash: Buffer | null;
  size: number | null;
  call: Json<{ tool: string; arguments: string; failed: boolean; sources: { title: string; address: string }[] }> | null;
}

export interface TurnProgressTable {
  turn_id: string;
  generation: number;
  applied_event: number;
  resume_from: number;
  chunk_seq: number;
  announced_step: number;
  text: string;
  received: string | null;
}

export interface TurnTasksTable {
  turn_id: string;
  depth: number;
  prompt: string;
}

export interface TurnsTable {
  id: string;
  workspace_id: string;
  conversation_id: string;
  agent_id: string;
  user_message_id: string;
  reply_message_id: string | null;
  status: Generated<'queued' | 'running' | 'done' | 'failed' | 'stopped'>;
  generation: Generated<number>;
  runtime_instance: string | null;
  error_code: string | null;
  created_at: Generated<Timestamp>;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
  stop_requested: Generated<boolean>;
  resumes_message_id: string | null;
  shown_entries: Generated<number>;
  first_turn_id: string | null;
  tokens_budget: number | null;
  waits_until: Timestamp | null;
  waited_generation: Generated<number>;
  activity: 'reading' | 'thinking' | 'writing' | 'pending' | null;
  activity_until: Timestamp | null;
  repeats_from_message_id: string | null;
  merged_into_turn_id: string | null;
  steers: Generated<boolean>;
  traceparent: string | null;
  schedule_run_id: string | null;
}

export interface UntrustedContentsTable {
  conversation_id: string;
  source: 'web' | 'app' | 'attachment' | 'memory' | 'artifact';
  turn_id: string | null;
  created_at: Generated<Timestamp>;
}

export interface UploadsTable {
  id: string;
  user_id: string | null;
  state: Generated<'receiving' | 'stored' | 'removing'>;
  attached: Generated<boolean>;
  name: Generated<string>;
  type: Generated<'image' | 'video' | 'audio' | 'file'>;
  mime_type: Generated<string>;
  size: Generated<number>;
  created_at: Generated<Timestamp>;
  duration: number | null;
  width: number | null;
  height: number | null;
  transcript: string | null;
}

export interface UsageEntriesTable {
  turn_id: string;
  step: number;
  user_id: string;
  workspace_id: string;
  provider: string;
  model: string;
  prompt_tokens: number;
  completion_tokens: number;
  created_at: Generated<Timestamp>;
  cached_tokens: Generated<number>;
  reasoning_tokens: Generated<number>;
  estimated: Generated<boolean>;
  call_id: string | null;
  kind: Generated<'step' | 'summary' | 'title' | 'transcription'>;
  reserved: Generated<boolean>;
  agent_id: string | null;
  conversation_id: string | null;
  model_id: string | null;
  prices: Json<{ input: number; cached_input: number; output: number }> | null;
  cost_micros: number | null;
  finished_at: Timestamp | null;
}

export interface UsagePeriodsTable {
  user_id: string;
  period: string;
  workspace_id: string;
  prompt_tokens: number;
  completion_tokens: number;
  requests: number;
  cost_micros: Generated<number>;
}

export interface UserToolServersTable {
  id: string;
  user_id: string;
  name: string;
  url: string;
  auth: 'none' | 'bearer' | 'oauth';
  client_id: string | null;
  failure: string | null;
  created_at: Generated<Timestamp>;
}

export interface UsersTable {
  id: string;
  issuer: string;
  subject: string;
  email: Generated<string>;
  nickname: Generated<string>;
  name: Generated<string>;
  surname: Generated<string>;
  avatar_url: Generated<string>;
  country_code: Generated<string>;
  date_of_birth: Timestamp | null;
  platform_theme: Generated<string>;
  platform_language: Generated<string>;
  currency_code: Generated<string>;
  plan_code: Generated<string>;
  plan_expires_at: Timestamp | null;
  accepted_terms_version: string | null;
  accepted_privacy_version: string | null;
  is_banned: Generated<boolean>;
  created_at: Generated<Timestamp>;
  updated_at: Generated<Timestamp>;
  sessions_valid_after: Timestamp | null;
  time_zone: Generated<string>;
}

export interface WebhookDeliveriesTable {
  id: string;
  webhook_id: string;
  seq: number;
  type: DurableEventName;
  subject_id: string;
  conversation_id: string | null;
  occurred_at: Timestamp;
  state: Generated<'pending' | 'delivered'>;
  attempts: Generated<number>;
  failing_since: Timestamp | null;
  next_attempt_at: Timestamp | null;
  last_attempt_at: Timestamp | null;
  duration_ms: number | null;
  status: number | null;
  response: Generated<string>;
  failure: 'status' | 'timeout' | 'unreachable' | 'private_address' | 'secret_unreadable' | null;
}

export interface WebhookSecretsTable {
  id: string;
  webhook_id: string;
  user_id: string;
  provider: string;
  key_id: string;
  tokens: Buffer;
  expires_at: Timestamp | null;
}

export interface WebhooksTable {
  id: string;
  workspace_id: string;
  url: string;
  description: string;
  events: DurableEventName[];
  state: Generated<'enabled' | 'paused' | 'disabled'>;
  disabled_reason: 'failing' | 'gone' | null;
  queued_seq: number;
  created_at: Generated<Timestamp>;
}

export interface WorkTable {
  kind: string;
  subject_id: string;
  workspace_id: string;
  serial_key: string;
  ordinal: Generated<number>;
  run_at: Generated<Timestamp>;
  lease_id: string | null;
  lease_expires_at: Timestamp | null;
  attempts: Generated<number>;
  failures: Generated<number>;
  created_at: Generated<Timestamp>;
  fair_key: string | null;
}

export interface WorkflowStepsTable {
  workflow_id: string;
  step_id: string;
  number: number;
  name: string;
  agent_id: string;
  task: string;
  after: string[];
  status: Generated<'pending' | 'running' | 'completed' | 'failed'>;
  turn_id: string | null;
  result: string | null;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
}

export interface WorkflowsTable {
  id: string;
  workspace_id: string;
  conversation_id: string;
  agent_id: string;
  turn_id: string | null;
  user_message_id: string | null;
  message_id: string;
  report_message_id: string | null;
  name: string;
  status: Generated<'running' | 'completed' | 'failed' | 'cancelled'>;
  created_at: Timestamp;
  finished_at: Timestamp | null;
}

export interface WorkspaceEventsTable {
  workspace_id: string;
  seq: number;
  day: Generated<Timestamp>;
  type: string;
  subject_id: string;
  conversation_id: string | null;
  created_at: Generated<Timestamp>;
  published_at: Timestamp | null;
}

export interface WorkspacesTable {
  id: string;
  owner_id: string;
  name: string;
  last_seq: Generated<number>;
  created_at: Generated<Timestamp>;
  updated_at: Generated<Timestamp>;
  monthly_cost_micros: number | null;
  monthly_tokens: number | null;
  budget_warned_period: string | null;
  rev: Generated<number>;
  agents_rev: Generated<number>;
}

export interface Schema {
  agent_memories: AgentMemoriesTable;
  agent_tools: AgentToolsTable;
  agents: AgentsTable;
  api_tokens: ApiTokensTable;
  artifact_versions: ArtifactVersionsTable;
  artifacts: ArtifactsTable;
  audit_log: AuditLogTable;
  conversation_summaries: ConversationSummariesTable;
  conversations: ConversationsTable;
  delegations: DelegationsTable;
  deleted_identities: DeletedIdentitiesTable;
  deleted_memories: DeletedMemoriesTable;
  deleted_usage: DeletedUsageTable;
  deletion_feedback: DeletionFeedbackTable;
  device_positions: DevicePositionsTable;
  devices: DevicesTable;
  event_epoch: EventEpochTable;
  event_outbox: EventOutboxTable;
  exports: ExportsTable;
  gateways: GatewaysTable;
  idempotency_keys: IdempotencyKeysTable;
  imported_receipts: ImportedReceiptsTable;
  imports: ImportsTable;
  integration_revocations: IntegrationRevocationsTable;
  integration_states: IntegrationStatesTable;
  integrations: IntegrationsTable;
  legal_acceptances: LegalAcceptancesTable;
  legal_documents: LegalDocumentsTable;
  message_attachments: MessageAttachmentsTable;
  messages: MessagesTable;
  push_deliveries: PushDeliveriesTable;
  receipt_keys: ReceiptKeysTable;
  receipts: ReceiptsTable;
  relays: RelaysTable;
  revoked_tokens: RevokedTokensTable;
  runtime_processes: RuntimeProcessesTable;
  runtimes: RuntimesTable;
  schedule_runs: ScheduleRunsTable;
  schedules: SchedulesTable;
  spent_local_ids: SpentLocalIdsTable;
  tool_approvals: ToolApprovalsTable;
  tool_calls: ToolCallsTable;
  tool_definitions: ToolDefinitionsTable;
  tool_server_clients: ToolServerClientsTable;
  transcriptions: TranscriptionsTable;
  trigger_secrets: TriggerSecretsTable;
  turn_contexts: TurnContextsTable;
  turn_entries: TurnEntriesTable;
  turn_progress: TurnProgressTable;
  turn_tasks: TurnTasksTable;
  turns: TurnsTable;
  untrusted_contents: UntrustedContentsTable;
  uploads: UploadsTable;
  usage_entries: UsageEntriesTable;
  usage_periods: UsagePeriodsTable;
  user_tool_servers: UserToolServersTable;
  users: UsersTable;
  webhook_deliveries: WebhookDeliveriesTable;
  webhook_secrets: WebhookSecretsTable;
  webhooks: WebhooksTable;
  work: WorkTable;
  workflow_steps: WorkflowStepsTable;
  workflows: WorkflowsTable;
  workspace_events: WorkspaceEventsTable;
  workspaces: WorkspacesTable;
}
