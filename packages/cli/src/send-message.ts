import type { ListedMessage, MessageSend } from '@uswarm/contract';
import { Failure } from './failure.js';
import { rejectOnAbort, type Realtime } from './realtime.js';
import type { Renderer } from './renderer.js';
import { applyEvent, applyHistory, newTurn, type Outcome, outcomeOf, type Turn } from './turn.js';
import type { Session } from './session.js';

export interface TurnDeps {
  session: Pick<Session, 'latestMessages' | 'choose' | 'stop'>;
  realtime: Pick<Realtime, 'send' | 'onEvent' | 'onGap' | 'rejected'>;
  renderer: Pick<Renderer, 'sent' | 'chosen' | 'messages' | 'settled'>;
  workspaceId: string;
  conversationId: string;
  newId: () => string;
  /** Whether a turn ends with the workflows that it starts. */
  waitsForWorkflows: boolean;
}

/** Messages that are loaded after missed events: the user message and all messages of one turn. */
const HISTORY_LIMIT = 50;

/** An action of a card. */
export interface Choice {
  messageId: string;
  actionId: string;
}

/** The action of a card about a spent budget that ends the reply. No other reply follows. */
const STOP_ACTION = 'stop';

/** A turn that is waited for. */
export interface RunningTurn {
  /** @throws Failure when the message or the connection is rejected; the signal's reason when it is aborted */
  ended: Promise<Outcome>;
  /** Stops the replies. @throws Failure if none is running */
  stop(): Promise<void>;
}

/** Sends a message and renders what agents do, until the turn ends. */
export function sendMessage(deps: TurnDeps, text: string, signal: AbortSignal): RunningTurn {
  const message: MessageSend = {
    workspace_id: deps.workspaceId,
    conversation_id: deps.conversationId,
    local_id: deps.newId(),
    content: { type: 'text', text },
    mentions: [],
    attachments: [],
  };
  deps.renderer.sent(message);
  return followTurn(
    deps,
    newTurn(deps.conversationId, message.local_id, deps.waitsForWorkflows),
    () => deps.realtime.send(message),
    signal,
  );
}

/** Chooses an action of a card and renders what follows. */
export function chooseAction(deps: TurnDeps, { messageId, actionId }: Choice, signal: AbortSignal): RunningTurn {
  const { session, workspaceId } = deps;
  deps.renderer.chosen();
  let sent = false;
  return followTurn(
    deps,
    newTurn(deps.conversationId, undefined, deps.waitsForWorkflows),
    async () => {
      if (sent) return undefined;
      sent = true;
      await session.choose(workspaceId, messageId, actionId);
      return actionId === STOP_ACTION ? 'delivered' : undefined;
    },
    signal,
  );
}

/** Starts a turn and waits for its end. `start` can be called again after missed events. It returns an outcome if nothing follows. */
function followTurn(
  deps: TurnDeps,
  first: Turn,
  start: () => void | Promise<Outcome | undefined>,
  signal: AbortSignal,
): RunningTurn {
  const { session, realtime, renderer, workspaceId, conversationId } = deps;
  const ended = Promise.withResolvers<Outcome>();
  let turn = first;

  function update(next: Turn): void {
    turn = next;
    const outcome = outcomeOf(turn);
    if (outcome !== undefined) ended.resolve(outcome);
    if (turn.rejection !== undefined)
      ended.reject(new Failure(`The message was rejected: ${turn.rejection.error} (${turn.rejection.code})`));
  }
  async function begin(): Promise<void> {
    const outcome = await start();
    if (outcome !== undefined) ended.resolve(outcome);
  }
  async function catchUp(): Promise<void> {
    const messages: ListedMessage[] = await session.latestMessages(workspaceId, conversationId, HISTORY_LIMIT);
    const next = applyHistory(turn, messages);
    renderer.messages(messages, next.messageId);
    update(next);
    // The message was lost before it was stored. The idempotency key prevents a duplicate.
    if (turn.messageId === undefined) await begin();
  }

  const unsubscribeEvents = realtime.onEvent((event) => update(applyEvent(turn, event)));
  const unsubscribeGaps = realtime.onGap(() => void catchUp().catch(ended.reject));
  async function follow(): Promise<Outcome> {
    try {
      begin().catch(ended.reject);
      const outcome = await Promise.race([ended.promise, realtime.rejected, rejectOnAbort(signal)]);
      renderer.settled(outcome);
      return outcome;
    } finally {
      unsubscribeEvents();
      unsubscribeGaps();
    }
  }
  return {
    ended: follow(),
    async stop() {
      if (turn.messageId === undefined) throw new Failure('The message is not stored yet.');
      await session.stop(workspaceId, turn.messageId);
      update({ ...turn, stopped: true });
    },
  };
}
