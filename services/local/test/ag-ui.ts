import type { AgentSubscriber, BaseEvent, HttpAgent, Message, RunAgentParameters } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';

type Outcome = { type: string; interrupts?: { id: string; reason: string; message?: string }[] };
export type Seen = BaseEvent & { outcome?: Outcome; [field: string]: unknown };

/** Ends where its connection is lost: the client would reject a promise without a handler. */
async function* untilLost(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch {
    // The client sees a run without an end.
  }
}
export async function fetchUntilLost(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  return response.body === null ? response : new Response(ReadableStream.from(untilLost(response.body)), response);
}

/** Runs the agent, and checks each event against the protocol's schema, in addition to the client's own checks. */
export async function runAgent(
  agent: HttpAgent,
  parameters: RunAgentParameters = {},
  subscriber: AgentSubscriber = {},
) {
  const events: Seen[] = [];
  const seen: AgentSubscriber = {
    ...subscriber,
    onEvent(params) {
      EventSchemas.parse(params.event);
      events.push(params.event as Seen);
      return subscriber.onEvent?.(params);
    },
  };
  const { newMessages } = await agent.runAgent(parameters, seen);
  return { events, types: events.map(({ type }) => String(type)), outcome: events.at(-1)?.outcome, newMessages };
}
export const textsOf = (messages: readonly Message[]): unknown[] =>
  messages.filter(({ role, content }) => role === 'assistant' && Boolean(content)).map(({ content }) => content);
export const lastText = (agent: HttpAgent): unknown => textsOf(agent.messages).at(-1);
/** Calls `then` when a message contains the part. */
export const untilText = (part: string, then: () => void): AgentSubscriber => ({
  onTextMessageContentEvent: ({ textMessageBuffer, event }) => {
    if (`${textMessageBuffer}${event.delta}`.includes(part)) then();
  },
});
