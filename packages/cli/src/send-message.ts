import type { MessageSend } from '@uswarm/contract';
import { Failure } from './failure.js';
import { NOTHING_STREAMED, textOf } from './chunk-reducer.js';
import { rejectOnAbort, type Realtime } from './realtime.js';
import type { Renderer } from './renderer.js';
import { applyEvent, applyHistory, newTurn, type Outcome, type Turn } from './turn.js';
import type { Session } from './session.js';

export interface SendMessageDeps {
  session: Pick<Session, 'latestMessages'>;
  realtime: Pick<Realtime, 'send' | 'onEvent' | 'onGap' | 'rejected'>;
  renderer: Pick<Renderer, 'sent' | 'streamed' | 'answered'>;
  workspaceId: string;
  conversationId: string;
  newId: () => string;
}

/** Messages that are loaded after missed events: the user message and all messages of one turn. */
const HISTORY_LIMIT = 50;

/**
 * Sends a message and renders the answer until the turn ends.
 *
 * @throws Failure when the server rejects the message or the connection; the signal's reason when it is aborted
 */
export async function sendMessage(deps: SendMessageDeps, text: string, signal: AbortSignal): Promise<Outcome> {
  const { session, realtime, renderer, workspaceId, conversationId } = deps;
  const message: MessageSend = {
    workspace_id: workspaceId,
    conversation_id: conversationId,
    local_id: deps.newId(),
    content: { type: 'text', text },
    mentions: [],
    attachments: [],
  };
  const loadHistory = () => session.latestMessages(workspaceId, conversationId, HISTORY_LIMIT);
  const ended = Promise.withResolvers<Turn>();
  let turn = newTurn(conversationId, message.local_id);

  function update(next: Turn): void {
    const changed = next.streamed !== turn.streamed;
    turn = next;
    if (changed)
      renderer.streamed({ agentId: turn.agentId, generation: turn.streamed.generation, text: textOf(turn.streamed) });
    if (turn.outcome !== undefined) ended.resolve(turn);
    if (turn.rejection !== undefined) {
      ended.reject(new Failure(`The message was rejected: ${turn.rejection.error} (${turn.rejection.code})`));
    }
  }
  async function catchUp(): Promise<void> {
    update(applyHistory(turn, await loadHistory()));
    // The message was lost before it was stored. The idempotency key prevents a duplicate.
    if (turn.messageId === undefined) realtime.send(message);
  }

  const unsubscribeEvents = realtime.onEvent((event) => update(applyEvent(turn, event)));
  const unsubscribeGaps = realtime.onGap(() => void catchUp().catch(ended.reject));
  try {
    renderer.sent(message);
    realtime.send(message);
    const last = await Promise.race([ended.promise, realtime.rejected, rejectOnAbort(signal)]);
    return renderAnswer(last.text === undefined ? applyHistory(last, await loadHistory()) : last, renderer);
  } finally {
    unsubscribeEvents();
    unsubscribeGaps();
  }
}

function renderAnswer(
  { agentId, text, streamed, outcome = 'failed' }: Turn,
  renderer: Pick<Renderer, 'answered'>,
): Outcome {
  const streamedText = streamed === NOTHING_STREAMED ? '' : textOf(streamed);
  renderer.answered({ agentId, text: text ?? streamedText, outcome });
  return outcome;
}
