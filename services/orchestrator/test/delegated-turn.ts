import { randomUUID } from 'node:crypto';
import type { WithTransaction } from '../src/platform/database/database.js';
import type { ToolOutcome } from '../src/turns/tools/platform-tool.js';
import { createSafeMarkdown } from '../src/turns/content/reply-text.js';
import { createTurnMessages } from '../src/turns/content/turn-messages.js';
import type { TurnRow } from '../src/turns/turns.store.js';
import { type Stores, tasksOfStores } from './stores.js';

/** A running turn gives a task to its own agent, as the tool `delegate` does. @returns why it was not given, if so */
export async function giveTask(
  stores: Stores,
  { turn }: { turn: TurnRow },
  withTransaction: WithTransaction,
): Promise<ToolOutcome | undefined> {
  const call = {
    id: randomUUID(),
    turnId: turn.id,
    depth: turn.task_depth ?? 0,
    userMessageId: turn.user_message_id,
    answer: { turnId: turn.usage_turn_id, inReplyTo: turn.in_reply_to },
    workspaceId: turn.workspace_id,
    userId: turn.user_id,
    agentId: turn.agent_id,
    conversationId: turn.conversation_id,
    signal: new AbortController().signal,
  };
  const content = { type: 'delegation', from: null, to: null, status: 'running', task_preview: 'Find facts' } as const;
  const { delegations } = tasksOfStores(stores);
  const task = { agentId: turn.agent_id, prompt: 'Find facts', content };
  const place = { isEmpty: () => true, taken: () => void (turn.reply_message_id = null) };
  const markdown = createSafeMarkdown(undefined);
  const { show } = createTurnMessages({ ...stores, markdown }, turn, place);
  const started = await withTransaction((tx) => delegations.start(call, task, show, tx));
  return typeof started === 'number' ? undefined : started;
}
