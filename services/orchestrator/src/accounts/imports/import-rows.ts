import {
  AgentModel,
  AgentPrompt,
  AgentSkill,
  LIMITS,
  Mention,
  MESSAGE_ERROR_CODES,
  MessageContent,
  MessageStatus,
  ResponseLength,
} from '@uswarm/contract';
import { z } from 'zod';
import { visibleLine } from '../../platform/http/visible-text.js';

/** Rows as docs/swarm-file.md describes them. Unknown fields are refused. */

const Id = z.uuid();
const Time = z.iso.datetime();
const Seq = z.int().nonnegative().max(1e15);
/** A character has up to two units. */
const text = (maxCharacters: number) => z.string().max(2 * maxCharacters);
/** As the API cleans it. */
const line = (maxCharacters: number) => text(maxCharacters).overwrite(visibleLine);
const Line = line(LIMITS.title);
const times = { created_at: Time, updated_at: Time };
const Budget = z.int().positive().max(1e15).nullable();
/** The length is checked first: a schema reports each element, also of a list that is too long. */
const list = <Element extends z.ZodType>(element: Element, maxLength: number) =>
  z.array(z.unknown()).max(maxLength).pipe(z.array(element));
const SOURCES = ['web', 'app', 'attachment', 'memory', 'artifact'] as const;
const Sources = list(z.enum(SOURCES), SOURCES.length);

/** Buttons, fields and steps have lower limits, which can change. */
const LONGEST_LIST = 200;
const hasShortLists = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  ((!Array.isArray(value) || value.length <= LONGEST_LIST) && Object.values(value).every(hasShortLists));

export const ImportedWorkspace = z.strictObject({
  id: Id,
  name: line(100).min(1),
  monthly_cost_micros: Budget,
  monthly_tokens: Budget,
  ...times,
});

export const ImportedConversation = z.strictObject({
  id: Id,
  type: z.enum(['swarm', 'agent']),
  agent_id: Id.nullable(),
  title: Line.nullable(),
  title_source: z.enum(['user', 'first_message', 'model']).nullable(),
  title_seq: Seq.nullable(),
  muted: z.boolean(),
  read_seq: Seq,
  ...times,
  summary: z.strictObject({ through_seq: Seq, text: text(LIMITS.messageText) }).nullable(),
  untrusted: Sources,
});

export const ImportedMessage = z.strictObject({
  id: Id,
  conversation_id: Id,
  seq: Seq,
  before_seq: Seq.nullable(),
  shown_seq: Seq.nullable(),
  role: z.enum(['user', 'agent', 'system']),
  agent_id: Id.nullable(),
  content: z
    .unknown()
    .refine(hasShortLists, 'has a long list')
    .pipe(MessageContent)
    .refine((content) => content.type !== 'loading', 'has no content')
    .refine((content) => JSON.stringify(content).length <= 2 * LIMITS.replyBytes, 'is too long'),
  status: MessageStatus,
  error_code: z.enum(MESSAGE_ERROR_CODES).nullable(),
  mentions: list(Mention, LIMITS.mentionsPerMessage),
  attachments: list(z.object({ id: Id }), LIMITS.attachmentsPerMessage),
  answer_turn_id: Id.nullable(),
  in_reply_to: Id.nullable(),
  answered_with: Id.nullable(),
  schedule_id: Id.nullable(),
  trigger_id: Id.nullable(),
  ...times,
  edited_at: Time.nullable(),
});

export const ImportedArtifact = z.strictObject({
  id: Id,
  conversation_id: Id.nullable(),
  version: z.int().positive().max(LIMITS.artifactVersions),
  updated_at: Time,
  versions: list(
    z.strictObject({
      version: z.int().positive(),
      title: line(LIMITS.artifactTitle),
      status: z.enum(['draft', 'final']),
      agent_slug: text(LIMITS.agentName),
      preview: z.string(),
      size: z.int(),
      untrusted: z.boolean(),
      created_at: Time,
    }),
    LIMITS.artifactVersions,
  )
    .refine((versions) => versions.length > 0, 'are missing')
    .refine((versions) => versions.every(({ version }, at) => version === at + 1), 'have gaps'),
});

export const ImportedSchedule = z.strictObject({
  id: Id,
  agent_id: Id,
  conversation_id: Id.nullable(),
  title: line(LIMITS.scheduleTitle),
  prompt: text(LIMITS.schedulePrompt),
  start_time: z.string().max(40),
  rrule: z.string().max(1_000).nullable(),
  time_zone: z.string().max(100),
  status: z.enum(['active', 'paused', 'finished']),
  token_limit: z.int().positive().nullable(),
  ...times,
});

export const ImportedMemory = z.strictObject({
  agent_id: Id,
  key: text(LIMITS.title).min(1),
  content: z.string().refine((content) => Buffer.byteLength(content) <= LIMITS.memoryBytes, 'is too long'),
  category: text(LIMITS.title),
  scope: z.enum(['agent', 'workspace']),
  untrusted: z.boolean(),
  created_by: z.enum(['user', 'agent']),
  written_by: z.enum(['user', 'agent']),
  message_id: Id.nullable(),
  ...times,
});

export const ImportedAgent = z.strictObject({
  id: Id,
  slug: z.string().regex(/^[^\s/]{1,120}$/),
  name: line(LIMITS.agentName).min(1),
  role: line(LIMITS.agentRole),
  kind: z.enum(['manager', 'sub-agent']),
  description: line(LIMITS.agentDescription),
  avatar_url: z
    .string()
    .max(2_000)
    .regex(/^(?:https:\/\/[^\s"'<>\\]+|\/v1\/assets\/[\w.-]+)?$/),
  skills: list(AgentSkill, AgentSkill.options.length),
  sort_order: z.int().nonnegative().max(1e6),
  model: AgentModel.nullable(),
  response_length: ResponseLength,
  prompts: list(AgentPrompt.extend({ content: text(LIMITS.promptText) }), LIMITS.promptsPerAgent),
  created_at: Time,
  updated_at: Time.nullable(),
  deleted_at: Time.nullable(),
  tools: list(
    z.strictObject({
      name: text(LIMITS.title),
      enabled: z.boolean(),
      permission: z.enum(['allow', 'ask']).nullable(),
      updated_at: Time,
    }),
    500,
  ),
});

export const ImportedUpload = z.strictObject({
  id: Id,
  name: z.string(),
  type: z.string(),
  mime_type: z.string(),
  size: z.int().nonnegative(),
  duration: z.int().nonnegative().nullable(),
  width: z.int().positive().max(1e6).nullable(),
  height: z.int().positive().max(1e6).nullable(),
  transcript: z.string().nullable(),
  created_at: Time,
});
