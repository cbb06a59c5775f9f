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

const AgentId = Id.meta({ description: 'Identifies the agent. It never changes.' });
const Name = z.string().meta({ description: 'What clients show as the author of messages, such as `Researcher`.' });
const JobTitle = z.string().meta({ description: 'A short job title for display, such as `Research specialist`.' });
const Slug = z.string().meta({
  description: 'A readable identifier that is unique within the workspace and never changes, such as `researcher`.',
});
const Avatar = z.string().meta({
  description: 'The URL of a square picture, usually `/v1/assets/…`. Empty if there is none.',
});
const RouteStatus = AgentRouteStatus.meta({
  description: 'What the agent is doing now. `agent.status` events report changes in more detail.',
});

export const AgentSummary = z
  .strictObject({
    id: AgentId,
    name: Name,
    role: JobTitle,
    slug: Slug,
    avatar: Avatar,
    status: RouteStatus,
    deleted: z.boolean().optional().meta({
      description: 'True if the user deleted the agent: its conversations stay readable, and it no longer answers.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'AgentSummary', description: 'An agent as lists and conversations show it.' });
export type AgentSummary = z.output<typeof AgentSummary>;

const AgentStats = z
  .strictObject({
    total_messages: z
      .int()
      .nonnegative()
      .meta({ description: 'The number of messages that the agent has written in all conversations.' }),
    memory_used_pct: z.int().min(0).max(100).meta({
      description:
        'The used share of the memory limit in percent; 0 only if there are no memories, 100 only if the limit is reached.',
    }),
  })
  .meta({ id: 'AgentStats', description: 'Counters that a profile page of an agent can show.' });

export const AgentDetails = z
  .strictObject({
    id: AgentId,
    workspace_id: Id.meta({ description: 'The workspace that the agent works in.' }),
    name: Name,
    role: JobTitle,
    slug: Slug,
    created_at: Timestamp.meta({ description: 'When the agent joined the workspace.' }),
    updated_at: Timestamp.nullable().meta({
      description: 'When the user last changed its settings; null if never.',
    }),
    description: z.string().meta({ description: 'One or two sentences about what the agent is good at.' }),
    avatar_url: Avatar,
    status: RouteStatus,
    sort_order: z.int().meta({ description: 'Position in lists of agents: lower numbers come first.' }),
    skills: z.array(AgentSkill).meta({ description: 'What the manager considers when it delegates a task.' }),
    stats: AgentStats.meta({ description: 'Counters about messages and memories.' }),
  })
  .meta({ id: 'AgentDetails', description: 'An agent with everything that its profile page shows.' });
export type AgentDetails = z.output<typeof AgentDetails>;

export const AgentPrompt = z
  .strictObject({
    id: z.string().meta({ description: 'Chosen by the client; unique among the prompts of the agent.' }),
    name: z.string().meta({ description: 'The heading that the user gave to this instruction; may be empty.' }),
    description: z.string().meta({ description: 'A note of the user about the purpose; may be empty.' }),
    content: z
      .string()
      .meta({ description: 'The instruction that the agent receives with every request to its model.' }),
  })
  .meta({ id: 'AgentPrompt', description: 'An instruction of the user that an agent always follows.' });
export type AgentPrompt = z.output<typeof AgentPrompt>;

/** Limited, because each model request contains all prompts. */
const AgentPromptDraft = z
  .object({
    id: z.string().min(1).max(128).meta({ description: 'Chosen by the client, 1 to 128 characters.' }),
    name: z.string().max(200).meta({ description: 'A heading for display, up to 200 characters.' }),
    description: z.string().max(1_000).meta({ description: 'A note about the purpose, up to 1,000 characters.' }),
    content: z
      .string()
      .max(LIMITS.promptText)
      .meta({
        description: `The instruction for the agent, up to ${LIMITS.promptText.toLocaleString('en')} characters.`,
      }),
  })
  .meta({ id: 'AgentPromptDraft', description: 'A new or changed instruction of the user for an agent.' });

export const AgentSettings = z
  .strictObject({
    model: AgentModel.meta({ description: 'Which model of `GET /v1/models` writes the answers.' }),
    response_length: ResponseLength.meta({ description: 'How long answers should be; a preference, not a limit.' }),
    prompts: z
      .array(AgentPrompt)
      .meta({ description: 'Permanent instructions, in the order that the user gave them.' }),
  })
  .meta({ id: 'AgentSettings', description: 'How the user has configured an agent.' });
export type AgentSettings = z.output<typeof AgentSettings>;

const Prompts = z
  .array(AgentPromptDraft)
  .max(LIMITS.promptsPerAgent)
  .refine((prompts) => new Set(prompts.map(({ id }) => id)).size === prompts.length, 'ids must be unique');

export const UpdateAgentSettingsBody = z
  .object({
    model: AgentModel.meta({ description: 'Which model of `GET /v1/models` writes the answers from now on.' }),
    response_length: ResponseLength.meta({ description: 'How long answers should be from now on.' }),
    prompts: Prompts.meta({
      description: `Replaces all prompts, of which there may be ${LIMITS.promptsPerAgent}; ids must be unique.`,
    }),
  })
  .partial()
  .meta({ id: 'UpdateAgentSettingsBody', description: 'Fields that are absent do not change.' });
export type UpdateAgentSettingsBody = z.output<typeof UpdateAgentSettingsBody>;

const CLEANED = 'Whitespace is collapsed; control and bidirectional characters are removed.';

const NewName = z
  .string()
  .trim()
  .min(1)
  .max(LIMITS.agentName)
  .meta({ description: `Up to ${LIMITS.agentName} characters. ${CLEANED}` });

const NewRole = z
  .string()
  .max(LIMITS.agentRole)
  .meta({ description: `A job title, up to ${LIMITS.agentRole} characters. ${CLEANED} Empty: the name.` });

const NewDescription = z
  .string()
  .max(LIMITS.agentDescription)
  .meta({
    description: `What the agent is good at, which the other agents read. Up to ${LIMITS.agentDescription} characters.`,
  });

const NewSkills = z
  .array(AgentSkill)
  .max(AgentSkill.options.length)
  .refine((skills) => new Set(skills).size === skills.length, 'skills must be unique')
  .meta({ description: 'What the manager considers when it delegates a task; each at most once.' });

const AVATAR_URL = 2_000;

const NewAvatar = z
  .string()
  .max(AVATAR_URL)
  .regex(/^(?:https:\/\/[^\s"'<>\\]+)?$/, 'must be an https URL or empty')
  .meta({
    description: `An https URL of a square picture, up to ${AVATAR_URL} characters. Empty: the default picture.`,
  });

const AgentToolChoice = z
  .strictObject({
    name: z.string().min(1).max(100).meta({ description: 'The `name` of a tool of `GET /v1/agents/{id}/tools`.' }),
    permission: ToolPermission.meta({ description: 'When calls may run; `deny` disables the tool.' }),
  })
  .meta({ id: 'AgentToolChoice', description: 'When a new agent may use a tool.' });

export const CreateAgentBody = z
  .object({
    name: NewName,
    role: NewRole.optional(),
    description: NewDescription.optional(),
    skills: NewSkills.optional(),
    avatar_url: NewAvatar.optional(),
    model: AgentModel.optional().meta({
      description: 'The model that writes the answers, from `GET /v1/models`. Default: as for other sub-agents.',
    }),
    response_length: ResponseLength.optional().meta({ description: 'How long answers should be; `auto` without it.' }),
    prompts: Prompts.optional().meta({
      description: `Permanent instructions, up to ${LIMITS.promptsPerAgent}; ids must be unique.`,
    }),
    tools: z
      .array(AgentToolChoice)
      .max(100)
      .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'names must be unique')
      .optional()
      .meta({ description: 'Tools whose permission is not the default.' }),
  })
  .meta({ id: 'CreateAgentBody', description: 'A new agent. Only the name is required.' });
export type CreateAgentBody = z.output<typeof CreateAgentBody>;

export const UpdateAgentBody = z
  .object({
    name: NewName.optional(),
    role: NewRole.optional(),
    description: NewDescription.optional(),
    skills: NewSkills.optional(),
    avatar_url: NewAvatar.optional(),
  })
  .meta({ id: 'UpdateAgentBody', description: 'What changes. A field that is absent stays as it is.' });
export type UpdateAgentBody = z.output<typeof UpdateAgentBody>;

const ENABLED =
  'Whether the agent may use the tool. A tool without a backend, such as a web search that is not configured, ' +
  'stays enabled; calls to it fail with the reason.';
const PERMISSION =
  '`deny` if the tool is disabled. With `ask`, each call that changes something shows an action card, and runs only ' +
  'if the user approves it within 24 hours and before another message.';

export const AgentTool = z
  .strictObject({
    name: z
      .string()
      .meta({ description: 'Identifies the tool in paths and `tool_status` messages: `web_search_tool`.' }),
    description: z.string().meta({ description: 'A sentence for users about what it does.' }),
    icon_url: z.string().meta({ description: 'Where to load a small picture, usually `/v1/assets/…`.' }),
    category_id: z.string().meta({ description: 'The id of a category of `GET /v1/integrations`.' }),
    enabled: z.boolean().meta({ description: ENABLED }),
    permission: ToolPermission.meta({ description: PERMISSION, 'x-extension': true }),
  })
  .meta({ id: 'AgentTool', description: 'A tool with the choice that the user made for one agent.' });
export type AgentTool = z.output<typeof AgentTool>;

/** Strict: a misspelled permission must not look as if it were set. */
export const UpdateAgentToolBody = z
  .strictObject({
    enabled: z
      .boolean()
      .meta({ description: 'True allows calls, false denies them. Mutually exclusive with `permission`.' }),
    permission: ToolPermission.meta({ description: 'When calls may run. Mutually exclusive with `enabled`.' }),
  })
  .partial()
  .refine(({ enabled, permission }) => (enabled === undefined) !== (permission === undefined), {
    path: ['permission'],
    message: 'either enabled or permission is required',
  })
  .meta({ id: 'UpdateAgentToolBody', description: `Exactly one of the two fields is required. ${STRICT}` });
export type UpdateAgentToolBody = z.output<typeof UpdateAgentToolBody>;

const MemorySource = z
  .strictObject({
    message_id: Id.meta({ description: 'The user message that the agent was answering.' }),
    conversation_id: Id.meta({ description: 'Where that message is.' }),
  })
  .meta({ id: 'MemorySource', description: 'The place in a conversation that led to a memory.' });

const KEY = 'What the memory is about, such as `favourite tea`; unique among the memories that an agent has.';

const MemoryScope = z.enum(['agent', 'workspace']);

export const AgentMemory = z
  .strictObject({
    key: z.string().meta({ description: KEY }),
    content: z.string().meta({ description: 'What the agent remembers: plain text of up to 8 KiB of UTF-8.' }),
    category: z.string().meta({ description: 'A group chosen by the writer, to filter by; `core` by default.' }),
    created_at: Timestamp.meta({ description: 'When the memory was first saved.' }),
    updated_at: Timestamp.meta({ description: 'When content or category last changed.' }),
    created_by: z.enum(['user', 'agent']).meta({
      description: 'Who created the memory. Agents replace a text of the user only if they repeat it.',
      'x-extension': true,
    }),
    source: MemorySource.nullable().meta({
      description:
        'The message that led an agent to save the memory. Null for memories of the user, and after the message was deleted.',
      'x-extension': true,
    }),
    scope: MemoryScope.meta({
      description:
        'Who has the memory: this agent, or all agents of the workspace. An own memory hides one of the workspace with the same key.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'AgentMemory', description: 'A fact that an agent takes into account in all conversations.' });
export type AgentMemory = z.output<typeof AgentMemory>;

export const AgentMemoryList = z
  .strictObject({
    data: z.array(AgentMemory).meta({ description: 'The memories of this response, oldest first.' }),
    next_scroll_id: z
      .string()
      .optional()
      .meta({
        description:
          'The cursor of the next response. Present only if the installation allows more or larger memories than the default, ' +
          'and they do not fit into one response.',
        'x-extension': true,
      }),
  })
  .meta({ id: 'AgentMemoryList', description: 'The memories of an agent, usually all in one response.' });
export type AgentMemoryList = z.output<typeof AgentMemoryList>;

/** URL paths end or go up at these, encoded or not, so a route cannot address such a memory. */
const PATH_DOTS = new Set(['.', '..']);

const MemoryCategory = z.string().min(1).max(100);

export const CreateMemoryBody = z
  .object({
    key: z
      .string()
      .min(1)
      .max(256)
      .refine((key) => !PATH_DOTS.has(key), 'must not be . or ..')
      .meta({
        description:
          'What the memory is about; an existing memory with the same key is replaced. Up to 256 characters, but not `.` or `..`. ' +
          'Percent-encode it in the path of other routes.',
      }),
    content: z.string().meta({ description: 'Up to 8 KiB of UTF-8, otherwise `memory_too_large`.' }),
    category: MemoryCategory.default('core').meta({ description: 'A group to filter by, up to 100 characters.' }),
    scope: MemoryScope.optional().meta({
      description:
        'Who has the memory: this agent, or all agents of the workspace. Default: as before if the key exists; otherwise ' +
        '`workspace` for the categories `core`, `user`, `profile`, `preferences` and `pinned`, which are in every prompt, and ' +
        '`agent` for others.',
      'x-extension': true,
    }),
  })
  .meta({ id: 'CreateMemoryBody', description: 'A memory to create, or to replace if its key exists.' });
export type CreateMemoryBody = z.output<typeof CreateMemoryBody>;

export const UpdateMemoryBody = CreateMemoryBody.pick({ content: true })
  .extend({
    category: MemoryCategory.meta({ description: 'The new group, up to 100 characters.' }),
    scope: MemoryScope.meta({
      description:
        'The new scope. `workspace` replaces a memory of the workspace with the same key; `agent` takes it from the other agents.',
    }),
  })
  .partial()
  .refine(({ content, category, scope }) => (content ?? category ?? scope) !== undefined, {
    path: ['content'],
    message: 'content, category or scope is required',
  })
  .meta({ id: 'UpdateMemoryBody', description: 'At least one of the fields is required; absent ones do not change.' });
export type UpdateMemoryBody = z.output<typeof UpdateMemoryBody>;

export const AgentData = z
  .strictObject({
    id: AgentId,
    name: Name,
    role: AgentRole.meta({ description: 'Whether the agent leads the swarm or works for the manager.' }),
    slug: Slug,
    avatar: Avatar,
    status: AgentDataStatus.meta({ description: 'What the agent was doing when the resource was read.' }),
  })
  .meta({ id: 'AgentData', description: 'An agent inside a message or a delegation.' });
export type AgentData = z.output<typeof AgentData>;
