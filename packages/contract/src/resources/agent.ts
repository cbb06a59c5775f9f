import { z } from 'zod';
import { AgentDataStatus, AgentModel, AgentRole, AgentRouteStatus, AgentSkill, ResponseLength } from '../enums.js';
import { Id, Timestamp } from './primitives.js';

/** spec: orchestrator §2.8 */
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

/** spec: orchestrator §2.8 */
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
      total_messages: z.int().nonnegative(),
      memory_used_pct: z.int().min(0).max(100),
    }),
  })
  .meta({ id: 'AgentDetails' });

export const AgentPrompt = z
  .strictObject({ id: z.string(), name: z.string(), description: z.string(), content: z.string() })
  .meta({ id: 'AgentPrompt' });

/** spec: orchestrator §2.8 */
export const AgentSettings = z
  .strictObject({ model: AgentModel, response_length: ResponseLength, prompts: z.array(AgentPrompt) })
  .meta({ id: 'AgentSettings' });

/** spec: orchestrator §2.8 */
export const AgentTool = z
  .strictObject({
    name: z.string(),
    description: z.string(),
    icon_url: z.string(),
    category_id: z.string(),
    enabled: z.boolean(),
  })
  .meta({ id: 'AgentTool' });

/** spec: orchestrator §2.8 */
export const AgentMemory = z
  .strictObject({
    key: z.string(),
    content: z.string(),
    category: z.string(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'AgentMemory' });

/** An agent inside a message or a delegation. spec: orchestrator §2.10 */
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
