import { LIMITS } from '@uswarm/contract';
import { DELEGATION_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { agentData, type AgentRow, type AgentViewContext } from '../../records/agent-view.js';
import { listAgents } from '../../records/agents.store.js';
import type { AttachmentsIn } from '../request/attached-files.js';
import { filesSection } from '../request/message-to-text.js';
import { failed } from '../tools/outcomes.js';
import { defineHandOverTool, defineTaskTool, type PlatformTool, type ToolOutcome } from '../tools/platform-tool.js';
import { findAgentsOfMessage } from '../turns.store.js';
import { startedDelegation, taskPreview, taskPrompt } from './delegation-message.js';
import { DELEGATE, type Delegations } from './delegations.js';
import type { Database } from '../../platform/database/database.js';

export interface DelegationToolDeps {
  database: Database;
  delegations: Pick<Delegations, 'start'>;
  createViewContext: () => AgentViewContext;
  attachmentsIn: AttachmentsIn;
}

const AgentSlug = z.string().min(1).max(64).describe('Its name after the @.');
const Text = z.string().trim().max(LIMITS.taskText);

export function createDelegationTools({
  database,
  delegations,
  createViewContext,
  attachmentsIn,
}: DelegationToolDeps): PlatformTool[] {
  interface Found {
    from: AgentRow;
    to: AgentRow;
  }

  async function find(workspaceId: string, agentId: string, name: string): Promise<Found | ToolOutcome> {
    const rows = await listAgents(database, workspaceId);
    const slug = name.trim().replace(/^@/, '').toLowerCase();
    const from = rows.find(({ id }) => id === agentId);
    const to = rows.find((row) => row.slug === slug);
    const others = rows.filter(({ id }) => id !== agentId).map((row) => row.slug);
    if (from === undefined) return failed('The agent no longer exists.');
    if (to === undefined) return failed(`There is no agent ${slug}. There are: ${others.join(', ')}.`);
    if (to.id === agentId) return failed(`You are ${slug}. Choose another agent: ${others.join(', ')}.`);
    return { from, to };
  }

  /** @returns the outcome if a file is not attached to the conversation */
  async function sectionOf(ids: readonly string[], conversationId: string): Promise<string | ToolOutcome> {
    if (ids.length === 0) return '';
    const files = await attachmentsIn(conversationId, ids);
    const missing = ids.filter((id) => !files.some((file) => file.id === id));
    if (missing.length > 0) return failed(`No attached file of this conversation has the id ${missing.join(', ')}.`);
    return filesSection(files);
  }

  const delegate = defineTaskTool({
    switchedBy: DELEGATION_TOOL,
    name: DELEGATE,
    description:
      'Gives a task to a colleague and returns its result. The colleague knows only what you write here. Several calls in one ' +
      'step run at the same time.',
    maxDepth: LIMITS.delegationDepth - 1,
    input: z.object({
      agent: AgentSlug,
      task: Text.min(1).describe('What to do.'),
      expected: Text.min(1).describe('What the result must contain.'),
      context: Text.optional().describe('Facts that it needs.'),
      files: z
        .array(z.uuid().toLowerCase())
        .max(LIMITS.attachmentsPerMessage)
        .optional()
        .describe('Ids of attached files.'),
    }),
    describe: ({ agent, task }) => `Asking @${agent}: ${taskPreview(task)}`,
    async task(input, call) {
      const found = await find(call.workspaceId, call.agentId, input.agent);
      if ('failed' in found) return () => Promise.resolve(found);
      const files = await sectionOf(input.files ?? [], call.conversationId);
      if (typeof files !== 'string') return () => Promise.resolve(files);
      const viewContext = createViewContext();
      const from = agentData(found.from, viewContext);
      const to = agentData(found.to, viewContext);
      const content = startedDelegation(from, to, input.task);
      return (tx, show) =>
        delegations.start(call, { agentId: to.id, prompt: taskPrompt(from, input, files), content }, show, tx);
    },
  });

  const handOver = defineHandOverTool({
    switchedBy: DELEGATION_TOOL,
    name: 'hand_over',
    hint: 'let a colleague answer instead of you',
    description:
      'Ends your answer and lets a colleague answer the user instead. Use it if the message is for that colleague, not for a ' +
      'task whose result you need. You may write one sentence for the user before you call it.',
    maxDepth: 0,
    input: z.object({ agent: AgentSlug }),
    describe: ({ agent }) => `Handing over to @${agent}`,
    async recipient({ agent }, { workspaceId, agentId, userMessageId }) {
      const found = await find(workspaceId, agentId, agent);
      if ('failed' in found) return found;
      if ((await findAgentsOfMessage(database, userMessageId)).includes(found.to.id))
        return failed(`@${found.to.slug} has answered this message already. Answer yourself.`);
      return found.to.id;
    },
  });

  return [delegate, handOver];
}
