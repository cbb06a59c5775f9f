import type { MessageSend } from '@uswarm/contract';
import { Failure } from './failure.js';
import { NOTHING_STREAMED, textOf } from './chunk-reducer.js';
import { aborted, type Realtime } from './realtime.js';
import type { Renderer } from './renderer.js';
import { followEvent, followHistory, newReply, type Outcome, type Reply } from './reply.js';
import type { Session } from './session.js';

export interface AskDeps {
  session: Pick<Session, 'latestMessages'>;
  realtime: Pick<Realtime, 'send' | 'onEvent' | 'onGap' | 'refused'>;
  renderer: Pick<Renderer, 'sent' | 'streamed' | 'answered'>;
  workspaceId: string;
  conversationId: string;
  newId: () => string;
}

/** Messages loaded when events were missed; enough for the question and all that one turn adds. */
const LOOK_BACK = 50;

/**
 * Sends a question and shows the reply until it is finished.
 * @throws Failure when the question is not taken or the connection is refused; the signal's reason when that ends the wait.
 */
export async function ask(deps: AskDeps, question: string, signal: AbortSignal): Promise<Outcome> {
  const { session, realtime, renderer, workspaceId, conversationId } = deps;
  const message: MessageSend = {
    workspace_id: workspaceId,
    conversation_id: conversationId,
    local_id: deps.newId(),
    content: { type: 'text', text: question },
    mentions: [],
    attachments: [],
  };
  const loadHistory = () => session.latestMessages(workspaceId, conversationId, LOOK_BACK);
  const finished = Promise.withResolvers<Reply>();
  let reply = newReply(conversationId, message.local_id);

  function see(next: Reply): void {
    const changed = next.streamed !== reply.streamed;
    reply = next;
    if (changed)
      renderer.streamed({
        agentId: reply.agentId,
        generation: reply.streamed.generation,
        text: textOf(reply.streamed),
      });
    if (reply.outcome !== undefined) finished.resolve(reply);
    if (reply.refusal !== undefined) {
      finished.reject(new Failure(`The message was not taken: ${reply.refusal.error} (${reply.refusal.code})`));
    }
  }
  async function catchUp(): Promise<void> {
    see(followHistory(reply, await loadHistory()));
    // Lost on its way; the same local_id cannot be stored twice.
    if (reply.questionId === undefined) realtime.send(message);
  }

  const stopListening = realtime.onEvent((event) => see(followEvent(reply, event)));
  const stopWatching = realtime.onGap(() => void catchUp().catch(finished.reject));
  try {
    renderer.sent(message);
    realtime.send(message);
    const last = await Promise.race([finished.promise, realtime.refused, aborted(signal)]);
    return conclude(last.text === undefined ? followHistory(last, await loadHistory()) : last, renderer);
  } finally {
    stopListening();
    stopWatching();
  }
}

function conclude(
  { agentId, text, streamed, outcome = 'failed' }: Reply,
  renderer: Pick<Renderer, 'answered'>,
): Outcome {
  const streamedText = streamed === NOTHING_STREAMED ? '' : textOf(streamed);
  renderer.answered({ agentId, text: text ?? streamedText, outcome });
  return outcome;
}
