import { silentLogger } from '@uswarm/service-kit';
import type { PlatformTool } from '../src/turns/tools/platform-tool.js';
import { prepareCall } from '../src/turns/tools/prepare-call.js';
import type { StoredOutcome } from '../src/turns/tools/tool-calls.store.js';
import type { TurnWriter } from '../src/turns/writer/turn-writes.js';
import type { TurnFixture } from './turn-fixture.js';

/** Begins a new message's turn, in which tools are called as a runtime requests them. */
export async function beginToolTurn(world: Readonly<TurnFixture>, tools: readonly PlatformTool[]) {
  await world.user.post(world.home.messages, { content: { type: 'text', text: 'hello' } }, 201);
  const job = await world.turnWorker.claim();
  const turn = await world.turnWorker.turnOf(job);
  const writer = await world.turnWorker.writerOf(job);
  await writer.begin();
  const caller = {
    turnId: turn.id,
    workspaceId: turn.workspace_id,
    userId: turn.user_id,
    agentId: turn.agent_id,
    conversationId: turn.conversation_id,
    depth: 0,
    userMessageId: turn.user_message_id,
    answer: { turnId: turn.usage_turn_id, inReplyTo: turn.in_reply_to },
    signal: new AbortController().signal,
  };
  let calls = 0;
  return {
    job,
    turn,
    writer,
    async call(
      name: string,
      input: unknown,
      { id = `call-${(calls += 1)}`, by = writer }: { id?: string; by?: TurnWriter } = {},
    ): Promise<StoredOutcome> {
      const tool = tools.find((each) => each.name === name);
      if (tool === undefined || !('prepare' in tool)) throw new Error(`there is no tool ${name}`);
      const commit = await prepareCall(tool, input, { id, ...caller }, silentLogger);
      const { outcome } = await by.call({ id, tool: name, description: tool.describe(input), stoppable: true }, commit);
      return outcome;
    },
  };
}
