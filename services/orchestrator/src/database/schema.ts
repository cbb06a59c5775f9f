import type {
  AgentModel,
  AgentPrompt,
  AgentRole,
  Attachment,
  AttachmentType,
  ConversationType,
  IntegrationProvider,
  LegalDocumentName,
  Mention,
  MessageContent,
  MessageRole,
  MessageStatus,
  ResponseLength,
} from '@uswarm/contract';
import type { ColumnType, Generated, JSONColumnType } from 'kysely';
import type { ExportsTable } from './exports-table.js';

/** Tables as the newest migration leaves them. bigint columns are read as numbers (see database.ts). */

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type CreatedAt = ColumnType<Date, Date | string | undefined, never>;
type UpdatedAt = ColumnType<Date, Date | string | undefined, Date | string>;

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
  date_of_birth: ColumnType<Date | null, string | null | undefined, string | null>;
  platform_theme: Generated<string>;
  platform_language: Generated<string>;
  currency_code: Generated<string>;
  time_zone: Generated<string>;
  plan_code: Generated<string>;
  plan_expires_at: Timestamp | null;
  accepted_terms_version: string | null;
  accepted_privacy_version: string | null;
  is_banned: Generated<boolean>;
  sessions_valid_after: Timestamp | null;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
}

export interface DeletedIdentitiesTable {
  identity_hash: Buffer;
  /** Emptied by a trigger, which moves the text to `deletion_feedback`. */
  reason: Generated<string>;
  description: Generated<string>;
  deleted_at: CreatedAt;
  sessions_valid_after: Timestamp | null;
  returns: Generated<Date[]>;
}

export interface DeletedUsageTable {
  identity_hash: Buffer;
  /** `2026-11`, in UTC. */
  period: string;
  prompt_tokens: number;
  completion_tokens: number;
  requests: number;
}

export interface DeletionFeedbackTable {
  id: Generated<string>;
  /** `2026-11`, in UTC. */
  month: string;
  reason: string;
  description: string;
}

export interface WorkspacesTable {
  id: string;
  owner_id: string;
  name: string;
  last_seq: Generated<number>;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
}

export type RuntimeDesired = 'running' | 'suspended' | 'deleted';
export const INTERNAL_PHASES = ['Pending', 'Progressing', 'Ready', 'Suspended', 'Error', 'Deleting'] as const;
export type InternalPhase = (typeof INTERNAL_PHASES)[number];

export interface RuntimesTable {
  workspace_id: string;
  user_id: string;
  desired: RuntimeDesired;
  phase: Generated<InternalPhase>;
  reason: Generated<string>;
  verified: Generated<boolean>;
  address: string | null;
  instance_id: string | null;
  identified_at: Timestamp | null;
  silent_since: Timestamp | null;
  polled_until: Timestamp | null;
  failures: Generated<number>;
  wanted_at: ColumnType<Date, Date | string | undefined, Date | string>;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
}

export interface RuntimeProcessesTable {
  workspace_id: string;
  pid: number;
  port: number;
  started_at: CreatedAt;
}

export type AgentActivity = 'online' | 'reading' | 'thinking' | 'writing' | 'pending' | 'error';

export interface AgentsTable {
  id: string;
  workspace_id: string;
  slug: string;
  name: string;
  role: string;
  kind: AgentRole;
  description: string;
  avatar_url: string;
  skills: string[];
  sort_order: number;
  activity: Generated<AgentActivity>;
  model: AgentModel | null;
  response_length: Generated<ResponseLength>;
  prompts: ColumnType<AgentPrompt[], string | undefined, string>;
  created_at: CreatedAt;
  updated_at: Timestamp | null;
}

export interface AgentToolsTable {
  agent_id: string;
  name: string;
  enabled: boolean;
  updated_at: UpdatedAt;
}

export interface AgentMemoriesTable {
  agent_id: string;
  key: string;
  content: string;
  category: string;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
}

/** Where a title comes from: set by the user, the first words of the first message, or made by a model. */
export type TitleSource = 'user' | 'first_message' | 'model';

export interface ConversationsTable {
  id: string;
  workspace_id: string;
  type: ConversationType;
  agent_id: string | null;
  title: string | null;
  title_source: TitleSource | null;
  read_seq: Generated<number>;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
}

export interface MessagesTable {
  id: string;
  workspace_id: string;
  conversation_id: string;
  seq: number;
  role: MessageRole;
  sender_id: string | null;
  agent_id: string | null;
  content: JSONColumnType<MessageContent>;
  status: MessageStatus;
  local_id: string | null;
  body_hash: Buffer | null;
  mentions: ColumnType<Mention[], string | undefined, string>;
  /** Links are made when they are shown. */
  attachments: ColumnType<Omit<Attachment, 'url'>[], string | undefined, string>;
  turn_id: string | null;
  turn_key: string | null;
  shown_seq: ColumnType<number | null, number | null | undefined, number | null>;
  /** Of a tool line: the seq of the reply before which it is listed. */
  before_seq: ColumnType<number | null, number | null | undefined, never>;
  /** Why the message failed. */
  error_code: ColumnType<string | null, string | null | undefined, string | null>;
  search_text: ColumnType<string | null, never, never>;
  edited_at: Timestamp | null;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
}

export interface SpentLocalIdsTable {
  workspace_id: string;
  sender_id: string;
  local_id_hash: Buffer;
}

export type TurnStatus = 'queued' | 'running' | 'done' | 'failed' | 'stopped';

export interface TurnsTable {
  id: string;
  workspace_id: string;
  conversation_id: string;
  agent_id: string;
  user_message_id: string;
  reply_message_id: string | null;
  status: Generated<TurnStatus>;
  generation: Generated<number>;
  runtime_instance: string | null;
  error_code: string | null;
  stop_requested: Generated<boolean>;
  created_at: CreatedAt;
  started_at: Timestamp | null;
  finished_at: Timestamp | null;
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
  created_at: CreatedAt;
}

export interface UsagePeriodsTable {
  user_id: string;
  /** `2026-11`, in UTC. */
  period: string;
  workspace_id: string;
  prompt_tokens: number;
  completion_tokens: number;
  requests: number;
}

export interface RevokedTokensTable {
  token_hash: Buffer;
  expires_at: Date;
}

export interface DevicesTable {
  user_id: string;
  device_id: string;
  info: Generated<string>;
  app_version: Generated<string>;
  timezone: Generated<string>;
  push_token: string | null;
  push_token_hash: Buffer | null;
  created_at: CreatedAt;
  last_seen_at: UpdatedAt;
}

export interface LegalDocumentsTable {
  document: LegalDocumentName;
  version: string;
  content: string;
  published_at: CreatedAt;
}

export interface LegalAcceptancesTable {
  user_id: string;
  document: LegalDocumentName;
  version: string;
  accepted_at: CreatedAt;
}

export interface AuditLogTable {
  id: string;
  at: CreatedAt;
  actor: string;
  action: string;
  user_id: string | null;
  subject_id: string | null;
  details: JSONColumnType<Record<string, unknown>>;
  identity_hash: Buffer | null;
}

/** `removing`: the file is going, or gone, and the row with it in a moment. */
export type UploadState = 'receiving' | 'stored' | 'removing';

export interface UploadsTable {
  id: string;
  user_id: string | null;
  state: Generated<UploadState>;
  attached: Generated<boolean>;
  name: Generated<string>;
  type: Generated<AttachmentType>;
  mime_type: Generated<string>;
  size: Generated<number>;
  created_at: CreatedAt;
}

export interface MessageAttachmentsTable {
  message_id: string;
  upload_id: string;
}

export interface IntegrationsTable {
  id: string;
  user_id: string;
  provider: IntegrationProvider;
  key_id: string;
  tokens: Buffer;
  code_hash: Buffer;
  expires_at: Timestamp | null;
  refresh_at: Timestamp | null;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
}

interface IntegrationStatesTable {
  nonce: string;
  code_hash: Buffer;
  expires_at: Date;
}

export interface IntegrationRevocationsTable {
  id: string;
  user_id: string;
  provider: IntegrationProvider;
  key_id: string;
  tokens: Buffer;
  created_at: CreatedAt;
}

export interface IdempotencyKeysTable {
  user_id: string;
  key_hash: Buffer;
  request_hash: Buffer;
  subject_id: string;
  created_at: CreatedAt;
}

export interface WorkspaceEventsTable {
  workspace_id: string;
  seq: number;
  type: string;
  subject_id: string;
  /** Of `message.deleted`. */
  conversation_id: string | null;
  created_at: CreatedAt;
  published_at: Timestamp | null;
}

export interface WorkTable {
  kind: string;
  subject_id: string;
  workspace_id: string;
  serial_key: string;
  /** Whose share of the workers it uses up; null is the workspace. */
  fair_key: ColumnType<string | null, string | null | undefined, never>;
  ordinal: Generated<number>;
  run_at: UpdatedAt;
  lease_id: string | null;
  lease_expires_at: Timestamp | null;
  attempts: Generated<number>;
  failures: Generated<number>;
  created_at: CreatedAt;
}

export interface Schema {
  users: UsersTable;
  deleted_identities: DeletedIdentitiesTable;
  deleted_usage: DeletedUsageTable;
  deletion_feedback: DeletionFeedbackTable;
  workspaces: WorkspacesTable;
  runtimes: RuntimesTable;
  runtime_processes: RuntimeProcessesTable;
  agents: AgentsTable;
  agent_tools: AgentToolsTable;
  agent_memories: AgentMemoriesTable;
  conversations: ConversationsTable;
  idempotency_keys: IdempotencyKeysTable;
  messages: MessagesTable;
  spent_local_ids: SpentLocalIdsTable;
  turns: TurnsTable;
  usage_entries: UsageEntriesTable;
  usage_periods: UsagePeriodsTable;
  revoked_tokens: RevokedTokensTable;
  devices: DevicesTable;
  legal_documents: LegalDocumentsTable;
  legal_acceptances: LegalAcceptancesTable;
  audit_log: AuditLogTable;
  uploads: UploadsTable;
  exports: ExportsTable;
  message_attachments: MessageAttachmentsTable;
  integrations: IntegrationsTable;
  integration_revocations: IntegrationRevocationsTable;
  integration_states: IntegrationStatesTable;
  workspace_events: WorkspaceEventsTable;
  work: WorkTable;
}
