import { LIMITS, type MessageSend } from '@uswarm/contract';
import { unlessAborted } from '@uswarm/service-kit';
import type { Choice } from './choices.js';
import { Failure } from './failure.js';
import type { Realtime } from './realtime.js';
import type { Renderer } from './renderer.js';
import { loadTurn } from './load-turn.js';
import {
  applyEvent,
  applyHistory,
  type ChosenAction,
  newTurn,
  type Outcome,
  outcomeOf,
  type ServerEvent,
  type Turn,
} from './turn.js';
import type { SavedTurn, TurnFile } from './saved-turn.js';
import type { Session } from './session.js';

export interface TurnDeps {
  session: Pick<Session, 'latestMessages' | 'messagePage' | 'choose' | 'stop'>;
  realtime: Pick<Realtime, 'send' | 'onEvent' | 'onGap' | 'position' | 'rejected'>;
  renderer: Pick<Renderer, 'sent' | 'chosen' | 'messages' | 'printed' | 'settled'>;
  /** Saves a turn, so that a later chat continues it. */
  turnFile: Pick<TurnFile, 'save' | 'remove'>;
  workspaceId: string;
  conversationId: string;
  newId: () => string;
  /** True if a turn ends with the workflows that it starts. */
  waitsForWorkflows: boolean;
}

/** An action on a card about a spent budget, which ends the reply. No other reply follows. */
const STOP_ACTION = 'stop';

/** A turn that is waited for. */
export interface RunningTurn {
  /** @throws Failure when the message or the connection is rejected; the signal's reason when it is aborted */
  ended: Promise<Outcome>;
  /** Stops the replies. @throws Failure if none is running */
  stop(): Promise<void>;
}

/** Sends a message and renders what agents do, until the turn ends. @throws Failure if the message is too long */
export function sendMessage(deps: TurnDeps, text: string, signal: AbortSignal): RunningTurn {
  // The server closes the connection instead of rejecting a much longer one.
  if ([...text].length > LIMITS.messageText)
    throw new Failure(`The message is longer than ${LIMITS.messageText} characters.`);
  const message = draft(deps, deps.newId(), text);
  deps.renderer.sent(message);
  return followMessage(deps, message, text, signal, false);
}

/**
 * Waits for an earlier chat's turn, which the renderer continues. If its message was not stored, it is sent again: its
 * id prevents a duplicate.
 */
export function resumeTurn(deps: TurnDeps, { local_id: localId, text }: SavedTurn, signal: AbortSignal): RunningTurn {
  return followMessage(deps, draft(deps, localId, text), text, signal, true);
}

function draft({ workspaceId, conversationId }: TurnDeps, localId: string, text: string): MessageSend {
  return {
    workspace_id: workspaceId,
    conversation_id: conversationId,
    local_id: localId,
    content: { type: 'text', text },
    mentions: [],
    attachments: [],
  };
}

/** Saves what is printed after each event, until the turn ends. */
function followMessage(
  deps: TurnDeps,
  message: MessageSend,
  text: string,
  signal: AbortSignal,
  resumes: boolean,
): RunningTurn {
  const { conversationId, realtime, renderer, turnFile } = deps;
  const save = (): void =>
    turnFile.save({
      conversation_id: conversationId,
      local_id: message.local_id,
      text,
      position: realtime.position(),
      printed: renderer.printed(),
    });
  const turn = newTurn(conversationId, message.local_id, deps.waitsForWorkflows);
  const start: StartTurn = async (_chosen, apply) => {
    apply(await realtime.send(message));
    return undefined;
  };
  const running = followTurn(deps, turn, start, signal, { resumes, changed: save });
  save();
  // After an interruption, a later chat continues.
  running.ended.then(turnFile.remove, (error: unknown) => (error instanceof Failure ? turnFile.remove() : undefined));
  return running;
}

/** Chooses a card action and renders what follows. */
export function chooseAction(deps: TurnDeps, { messageId, actionId, label }: Choice, signal: AbortSignal): RunningTurn {
  const { session, workspaceId, conversationId } = deps;
  deps.renderer.chosen();
  let sent = false;
  return followTurn(
    deps,
    newTurn(conversationId, undefined, deps.waitsForWorkflows),
    async (chosen) => {
      if (sent) return undefined;
      sent = true;
      // An earlier choice can have the same label.
      const [last] = await session.latestMessages(workspaceId, conversationId, 1);
      chosen({ label, after: last?.position ?? '' });
      await session.choose(workspaceId, messageId, actionId);
      return actionId === STOP_ACTION ? 'delivered' : undefined;
    },
    signal,
  );
}

interface FollowOptions {
  /** True if the turn has started: then it begins with stored messages. */
  resumes: boolean;
  /** Called after each change of what is rendered. */
  changed: () => void;
}

/** Starts a turn. Before it chooses an action, it tells which one; it applies the answer to its message. @returns an outcome if nothing follows */
type StartTurn = (
  chosen: (choice: ChosenAction) => void,
  apply: (event: ServerEvent) => void,
) => Promise<Outcome | undefined>;

/** Starts a turn and waits for its end. `start` can be called again after missed events. */
function followTurn(
  deps: TurnDeps,
  first: Turn,
  start: StartTurn,
  signal: AbortSignal,
  { resumes, changed }: FollowOptions = { resumes: false, changed: () => undefined },
): RunningTurn {
  const { session, realtime, renderer, workspaceId } = deps;
  const ended = Promise.withResolvers<Outcome>();
  let turn = first;

  function update(next: Turn): void {
    turn = next;
    const outcome = outcomeOf(turn);
    if (outcome !== undefined) ended.resolve(outcome);
    changed();
    if (turn.rejection !== undefined)
      ended.reject(new Failure(`The message was rejected: ${turn.rejection.error} (${turn.rejection.code})`));
  }
  async function begin(): Promise<void> {
    const outcome = await start(
      (choice) => update({ ...turn, choice }),
      (event) => update(applyEvent(turn, event)),
    );
    if (outcome !== undefined) ended.resolve(outcome);
  }
  async function catchUp(): Promise<void> {
    const messages = await loadTurn(session, workspaceId, turn);
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
      (resumes ? catchUp() : begin()).catch(ended.reject);
      const outcome = await unlessAborted(Promise.race([ended.promise, realtime.rejected]), signal);
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
