import { z } from 'zod';
import {
  AgentDataStatus,
  AgentModel,
  AgentRole,
  AgentRouteStatus,
  AgentSkill,
  ResponseLength,
  ToolPermission,
} from '../enums.js';
import { LIMITS } from '../limits.js';
import { Id, STRICT, Timestamp } from './primitives.js';

export const AgentSummary = z
  .strictObject({
    id: Id,
    name: z.string(),
    role: z.string(),
    slug: z.string(),
    avatar: z.string(),
    status: AgentRouteStatus,
  })
  .meta({ id: 'AgentSummary' });
export type AgentSummary = z.output<typeof AgentSummary>;

export const AgentDetails = z
  .strictObject({
    id: Id,
    workspace_id: Id,
    name: z.string(),
    role: z.string(),
    slug: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp.nullable(),
    description: z.string(),
    avatar_url: z.string(),
    status: AgentRouteStatus,
    sort_order: z.int(),
    skills: z.array(AgentSkill),
    stats: z.strictObject({
      total_messages: z
        .int()
        .nonnegative()
        .meta({ description: 'The number of messages of the agent in all conversations.' }),
      memory_used_pct: z.int().min(0).max(100).meta({
        description:
          'The used share of the memory limit; 0 only if there are no memories, 100 only if the limit is reached.',
      }),
    }),
  })
  .meta({ id: 'AgentDetails' });
export type AgentDetails = z.output<typeof AgentDetails>;

export const AgentPrompt = z
  .strictObject({ id: z.string(), name: z.string(), description: z.string(), content: z.string() })
  .meta({ id: 'AgentPrompt' });
export type AgentPrompt = z.output<typeof AgentPrompt>;

/** A prompt from a client. Limited, because each model request contains all prompts. */
const PromptDraft = z.object({
  id: z.string().min(1).max(128),
  name: z.string().max(200),
  description: z.string().max(1_000),
  content: z.string().max(LIMITS.promptText),
});

export const AgentSettings = z
  .strictObject({ model: AgentModel, response_length: ResponseLength, prompts: z.array(AgentPrompt) })
  .meta({ id: 'AgentSettings' });
export type AgentSettings = z.output<typeof AgentSettings>;

/** Absent fields do not change; `prompts` replaces all prompts. */
export const UpdateAgentSettingsBody = z
  .object({
    model: AgentModel,
    response_length: ResponseLength,
    prompts: z
      .array(PromptDraft)
      .max(LIMITS.promptsPerAgent)
      .refine((prompts) => new Set(prompts.map(({ id }) => id)).size === prompts.length, 'ids must be unique')
      .meta({ description: 'Replaces all prompts; ids must be unique.' }),
  })
  .partial()
  .meta({ id: 'UpdateAgentSettingsBody' });
export type UpdateAgentSettingsBody = z.output<typeof UpdateAgentSettingsBody>;

export const AgentTool = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    icon_url: z.string(),
    category_id: z.string().meta({ description: 'The id of a category of `GET /v1/integrations`.' }),
    enabled: z.boolean().meta({
      description:
        'Whether the agent may use the tool. A tool without a backend, such as a web search that is not configured, ' +
        'stays enabled; calls to it fail with the reason.',
    }),
    permission: ToolPermission.meta({
      description:
        '`deny` if the tool is disabled. With `ask`, each call that changes something shows an action card, and runs only ' +
        'if the user approves it within 24 hours and before another message.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'AgentTool' });
export type AgentTool = z.output<typeof AgentTool>;

/** Strict: a misspelled permission must not look as if it were set. */
export const UpdateAgentToolBody = z
  .strictObject({ enabled: z.boolean(), permission: ToolPermission })
  .partial()
  .refine(({ enabled, permission }) => (enabled === undefined) !== (permission === undefined), {
    path: ['permission'],
    message: 'either enabled or permission is required',
  })
  .meta({ id: 'UpdateAgentToolBody', ...STRICT });
export type UpdateAgentToolBody = z.output<typeof UpdateAgentToolBody>;

const MemorySource = z.strictObject({ message_id: Id, conversation_id: Id }).meta({ id: 'MemorySource' });

export const AgentMemory = z
  .strictObject({
    key: z.string(),
    content: z.string(),
    category: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp,
    created_by: z.enum(['user', 'agent']).meta({ description: 'Who created the memory.', 'x-extension': true }),
    source: MemorySource.nullable().meta({
      description:
        'The message that led an agent to save the memory. Null for memories of the user, and after the message was deleted.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'AgentMemory' });
export type AgentMemory = z.output<typeof AgentMemory>;

export const AgentMemoryList = z
  .strictObject({
    data: z.array(AgentMemory),
    next_scroll_id: z.string().optional().meta({
      description:
        'Present only if the installation allows more or larger memories than the default, and they do not fit into one response.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'AgentMemoryList' });
export type AgentMemoryList = z.output<typeof AgentMemoryList>;

/** URL paths end or go up at these, encoded or not, so a route cannot address such a memory. */
const PATH_DOTS = new Set(['.', '..']);

export const CreateMemoryBody = z
  .object({
    key: z
      .string()
      .min(1)
      .max(256)
      .refine((key) => !PATH_DOTS.has(key), 'must not be . or ..')
      .meta({ description: 'Any text except `.` and `..`; percent-encode it in the path of the delete route.' }),
    content: z.string().meta({ description: 'Up to 8 KiB of UTF-8, otherwise `memory_too_large`.' }),
    category: z.string().min(1).max(100).default('core'),
  })
  .meta({ id: 'CreateMemoryBody' });
export type CreateMemoryBody = z.output<typeof CreateMemoryBody>;

export const UpdateMemoryBody = CreateMemoryBody.pick({ content: true })
  .extend({ category: z.string().min(1).max(100) })
  .partial()
  .refine(({ content, category }) => content !== undefined || category !== undefined, {
    path: ['content'],
    message: 'either content or category is required',
  })
  .meta({ id: 'UpdateMemoryBody' });
export type UpdateMemoryBody = z.output<typeof UpdateMemoryBody>;

/** An agent inside a message or a delegation. */
export const AgentData = z
  .strictObject({
    id: Id,
    name: z.string(),
    role: AgentRole,
    slug: z.string(),
    avatar: z.string(),
    status: AgentDataStatus,
  })
  .meta({ id: 'AgentData' });
export type AgentData = z.output<typeof AgentData>;
