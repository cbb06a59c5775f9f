import { z } from 'zod';
import { Export } from './resources/export.js';
import { ServerTool } from './resources/integration.js';
import { LegalDocumentName } from './resources/legal.js';
import { Epoch, Id, Period, Timestamp } from './resources/primitives.js';

/** The orchestrator's internal API for `uswarmctl`. Not part of the public documents. */

const reason = z.string().max(500).default('');

const Usage = z.object({
  period: Period,
  tokens_used: z.int(),
  token_limit: z.int(),
  request_count: z.int(),
});

export const AdminUser = z.object({
  id: Id,
  email: z.string(),
  name: z.string(),
  issuer: z.string(),
  idp_uid: z.string(),
  is_banned: z.boolean(),
  plan: z.string(),
  plan_expires_at: Timestamp.nullable(),
  accepted_terms_of_service: z.string().nullable(),
  accepted_privacy_policy: z.string().nullable(),
  created_at: Timestamp,
  usage: Usage,
  workspaces: z.array(z.object({ id: Id, name: z.string(), runtime: z.string() })),
  devices: z.array(
    z.object({
      info: z.string(),
      app_version: z.string(),
      timezone: z.string(),
      has_push_token: z.boolean(),
      last_seen_at: Timestamp,
    }),
  ),
});
export type AdminUser = z.output<typeof AdminUser>;

export const AdminWorkspace = z.object({
  id: Id,
  name: z.string(),
  owner_id: Id,
  created_at: Timestamp,
  runtime: z.object({
    desired: z.string(),
    phase: z.string(),
    reason: z.string(),
    verified: z.boolean(),
    failures: z.int(),
    identified_at: Timestamp.nullable(),
  }),
  agents: z.int(),
  conversations: z.int(),
  messages: z.int(),
  turns: z.object({ queued: z.int(), running: z.int(), failed: z.int() }),
  usage: Usage,
});
export type AdminWorkspace = z.output<typeof AdminWorkspace>;

export const AdminTurnStatus = z.enum(['queued', 'running', 'failed']);
export type AdminTurnStatus = z.output<typeof AdminTurnStatus>;

export const AdminTurn = z.object({
  id: Id,
  workspace_id: Id,
  conversation_id: Id,
  status: AdminTurnStatus,
  generation: z.int(),
  error_code: z.string().nullable(),
  /** Seconds since the user's message. */
  age_s: z.number(),
  /** True if an orchestrator has the lease. */
  leased: z.boolean(),
  failures: z.int(),
  /** Null without tracing, and from earlier releases. */
  trace_id: z.string().nullable().default(null),
});
export type AdminTurn = z.output<typeof AdminTurn>;

/** A step without what users, agents and tools wrote. */
const TraceStep = z.object({
  /** As in `TurnStep`; later releases may have more. */
  type: z.string(),
  /** Model, tool, or the agent's slug for a task. */
  name: z.string().nullable(),
  status: z.string().nullable(),
  started_at: Timestamp,
  finished_at: Timestamp.nullable(),
  tokens: z.int().nullable(),
  cost_micros: z.int().nullable(),
  /** The other agent's turn, for a task. */
  turn_id: Id.nullable(),
});
export type TraceStep = z.output<typeof TraceStep>;

export const TurnTrace = z.object({
  turn_id: Id,
  workspace_id: Id,
  conversation_id: Id,
  /** Slug. */
  agent: z.string(),
  status: z.string(),
  error_code: z.string().nullable(),
  delegated_by: Id.nullable(),
  created_at: Timestamp,
  started_at: Timestamp.nullable(),
  finished_at: Timestamp.nullable(),
  /** Oldest first. */
  steps: z.array(TraceStep),
  /** True if the turn has more steps. */
  truncated: z.boolean(),
});
export type TurnTrace = z.output<typeof TurnTrace>;

export const AuditEntry = z.object({
  id: Id,
  at: Timestamp,
  actor: z.string(),
  action: z.string(),
  user_id: Id.nullable(),
  subject_id: Id.nullable(),
  details: z.record(z.string(), z.unknown()),
  /** Keyed identity hash, for users' actions on their own account. */
  identity: z.string().nullish(),
});
export type AuditEntry = z.output<typeof AuditEntry>;

const LegalVersion = z.object({ document: LegalDocumentName, version: z.string(), published_at: Timestamp });

/** A tool with a shared account. */
const AdminServerTool = ServerTool.extend({ server: z.string() });
export type AdminServerTool = z.output<typeof AdminServerTool>;

/** Each is a POST to `/internal/v1/admin/<name>` with an operator token, which contains the actor. */
export const ADMIN_CALLS = {
  'user.show': {
    /** An id, an email address, or the uid at the identity provider. */
    body: z.strictObject({ user: z.string().min(1).max(320) }),
    answer: z.object({ users: z.array(AdminUser) }),
  },
  'user.ban': { body: z.strictObject({ user_id: Id, reason }), answer: z.object({ changed: z.boolean() }) },
  'user.unban': { body: z.strictObject({ user_id: Id, reason }), answer: z.object({ changed: z.boolean() }) },
  'user.plan': {
    body: z.strictObject({ user_id: Id, plan: z.string().max(100), expires_at: Timestamp.nullable(), reason }),
    answer: z.object({ plan: z.string(), expires_at: Timestamp.nullable() }),
  },
  /**
   * Starts a data export, or returns the newest one if the user could not start another. `export_id`: returns that one, whose
   * `url` downloads it without an account once it is ready.
   */
  'user.export': {
    body: z.strictObject({ user_id: Id, export_id: Id.optional(), reason }),
    answer: z.object({ export: Export }),
  },
  'workspace.show': { body: z.strictObject({ workspace_id: Id }), answer: AdminWorkspace },
  'legal.list': { body: z.strictObject({}), answer: z.object({ versions: z.array(LegalVersion) }) },
  'legal.publish': {
    body: z.strictObject({
      document: LegalDocumentName,
      version: z.string().regex(/^[\w.-]{1,100}$/, 'must be 1 to 100 letters, digits, dots, hyphens and underscores'),
      content: z.string().min(1).max(1_000_000),
    }),
    answer: LegalVersion,
  },
  'turns.list': {
    body: z.strictObject({
      status: AdminTurnStatus.optional(),
      workspace_id: Id.optional(),
      older_than_s: z.int().nonnegative().default(0),
      limit: z.int().min(1).max(500).default(50),
    }),
    answer: z.object({ turns: z.array(AdminTurn) }),
  },
  /** The turn, or a workspace's newest turn, by id. */
  'turns.trace': { body: z.strictObject({ id: Id }), answer: TurnTrace },
  'turns.requeue': {
    body: z.strictObject({ turn_ids: z.array(Id).min(1).max(100), reason }),
    answer: z.object({ requeued: z.array(Id), refused: z.array(z.object({ id: Id, why: z.string() })) }),
  },
  /** Changes the event epoch, after a restore that Postgres does not show: all clients reload. */
  'epoch.bump': { body: z.strictObject({ reason }), answer: z.object({ epoch: Epoch }) },
  'tools.list': { body: z.strictObject({}), answer: z.object({ tools: z.array(AdminServerTool) }) },
  'tools.accept': {
    body: z.strictObject({
      server: z.string().max(24),
      tools: z.array(z.string().max(200)).min(1).max(1_000).optional(),
    }),
    answer: z.object({ accepted: z.array(z.string()) }),
  },
  'audit.list': {
    body: z.strictObject({ user_id: Id.optional(), limit: z.int().min(1).max(500).default(50) }),
    answer: z.object({ entries: z.array(AuditEntry) }),
  },
} as const;

export type AdminCall = keyof typeof ADMIN_CALLS;
export type AdminBody<Call extends AdminCall> = z.output<(typeof ADMIN_CALLS)[Call]['body']>;
export type AdminAnswer<Call extends AdminCall> = z.output<(typeof ADMIN_CALLS)[Call]['answer']>;

export const adminPath = (call: AdminCall): string => `/internal/v1/admin/${call}`;
