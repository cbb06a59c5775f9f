import type {
  AgentRole,
  Attachment,
  ConversationType,
  Mention,
  MessageContent,
  MessageRole,
  MessageStatus,
} from '@uswarm/contract';
import type { ColumnType, Generated, JSONColumnType } from 'kysely';

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
  plan_code: Generated<string>;
  plan_expires_at: Timestamp | null;
  accepted_terms_version: string | null;
  accepted_privacy_version: string | null;
  is_banned: Generated<boolean>;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
}

export interface DeletedIdentitiesTable {
  identity_hash: Buffer;
  reason: string;
  description: string;
  deleted_at: CreatedAt;
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
  created_at: CreatedAt;
  updated_at: Timestamp | null;
}

export interface ConversationsTable {
  id: string;
  workspace_id: string;
  type: ConversationType;
  agent_id: string | null;
  title: string | null;
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
  attachments: ColumnType<Attachment[], string | undefined, string>;
  turn_id: string | null;
  turn_key: string | null;
  created_at: CreatedAt;
  updated_at: UpdatedAt;
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

export interface WorkspaceEventsTable {
  workspace_id: string;
  seq: number;
  type: string;
  subject_id: string;
  created_at: CreatedAt;
  published_at: Timestamp | null;
}

export interface WorkTable {
  kind: string;
  subject_id: string;
  workspace_id: string;
  serial_key: string;
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
  workspaces: WorkspacesTable;
  runtimes: RuntimesTable;
  runtime_processes: RuntimeProcessesTable;
  agents: AgentsTable;
  conversations: ConversationsTable;
  messages: MessagesTable;
  turns: TurnsTable;
  usage_entries: UsageEntriesTable;
  workspace_events: WorkspaceEventsTable;
  work: WorkTable;
}
