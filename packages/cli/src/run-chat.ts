import { randomUUID } from 'node:crypto';
import { createClient } from '@uswarm/client';
import type { ChatArguments } from './chat-arguments.js';
import { type ChatIo, type ChatView, createChatView, isTerminal } from './chat-view.js';
import { Failure } from './failure.js';
import { createHttpClient, fetchWith, type HttpClient } from './http-client.js';
import { createIdTokenSource } from './id-token.js';
import { chatInteractively } from './interactive.js';
import { createLineHandler } from './line-handler.js';
import { readLocalFile } from './local-file.js';
import { createPositionStore, openRealtime } from './realtime.js';
import { openTurnFile, type SavedTurn } from './saved-turn.js';
import { resumeTurn, sendMessage, type TurnDeps } from './send-message.js';
import type { Renderer } from './renderer.js';
import { createSession, type Session } from './session.js';
import { oneLine } from './terminal-text.js';
import { waitUntilReady } from './workspace-ready.js';

/** Milliseconds for an answer and for the workspace to start. */
const WAIT_LIMIT_MS = 10 * 60_000;

/** Messages that an interactive chat prints when it starts. */
const HISTORY_LIMIT = 6;

/**
 * Runs `npm run chat`.
 *
 * @returns the exit code: 0 if the answer was delivered, 1 if the turn failed
 * @throws Failure; the signal's reason when it is aborted
 */
export async function runChat(args: ChatArguments, streams: ChatIo, signal: AbortSignal): Promise<number> {
  const local = await readLocalFile(args.dataDir);
  const http = createHttpClient();
  try {
    return await chatWith(
      http,
      { ...args, url: args.url ?? new URL(local.url).origin, issuer: local.issuer },
      streams,
      signal,
    );
  } finally {
    await http.close();
  }
}

type Target = ChatArguments & { url: string; issuer: string };

async function chatWith(http: HttpClient, target: Target, streams: ChatIo, signal: AbortSignal): Promise<number> {
  const idTokens = createIdTokenSource({ http, issuer: target.issuer, email: target.email, name: target.name });
  const positions = createPositionStore();
  const client = createClient({ url: target.url, token: idTokens.current, store: positions, fetch: fetchWith(http) });
  const session = createSession(client);
  await session.signUp();
  const [workspace] = await session.workspaces();
  if (workspace === undefined) throw new Failure('The user has no workspace.');
  const view = createChatView(target, streams, workspace.id);
  const { renderer } = view;
  renderer.note(`${target.email} at ${target.url}`);

  const turnFile = openTurnFile(target.dataDir, target);
  const saved = target.message === undefined ? turnFile.read() : undefined;
  // Before any event.
  if (saved !== undefined) continueRendering(renderer, saved);
  const limit = withLimit(signal, WAIT_LIMIT_MS);
  positions.begin(workspace, saved?.position);
  const realtime = openRealtime({ client, positions, workspaceId: workspace.id, note: renderer.note });
  realtime.onEvent(renderer.event);
  try {
    await waitUntilReady({ session, realtime, renderer }, workspace, limit);
    view.nameAgents(await session.agents(workspace.id));
    const { id: conversationId } = await session.swarmConversation(workspace.id);
    const ids = { workspaceId: workspace.id, conversationId, newId: randomUUID };
    const deps = { session, realtime, renderer, turnFile, ...ids };
    return target.message === undefined
      ? await talk(deps, view, streams, signal, saved)
      : await say({ ...deps, waitsForWorkflows: true }, view, target.message, limit);
  } finally {
    realtime.close();
  }
}

/** Sends one message. @returns the exit code */
async function say(
  deps: TurnDeps,
  { choices, renderer }: ChatView,
  message: string,
  limit: AbortSignal,
): Promise<number> {
  renderer.history(deps.conversationId, []);
  const outcome = await sendMessage(deps, message, limit).ended;
  if (choices.size > 0) renderer.note('to choose, run: npm run chat');
  return outcome === 'delivered' ? 0 : 1;
}

type Connected = Omit<TurnDeps, 'waitsForWorkflows' | 'session' | 'renderer'> & {
  session: Session;
  renderer: Renderer;
};

/** Chats until the input ends. @returns the exit code */
async function talk(
  deps: Connected,
  view: ChatView,
  streams: ChatIo,
  signal: AbortSignal,
  saved: SavedTurn | undefined,
): Promise<number> {
  const { session, workspaceId, conversationId } = deps;
  if (saved?.conversation_id === conversationId) await finish(deps, saved, withLimit(signal, WAIT_LIMIT_MS));
  else {
    if (saved !== undefined) view.renderer.settled('failed');
    view.renderer.history(conversationId, await session.latestMessages(workspaceId, conversationId, HISTORY_LIMIT));
  }
  const interruption = new AbortController();
  const stop = AbortSignal.any([signal, interruption.signal]);
  const line = createLineHandler({
    turn: { ...deps, waitsForWorkflows: !isTerminal(streams) },
    commands: { session, workspaceId, conversationId, artifacts: view.artifacts, out: view.messages },
    choices: view.choices,
    limit: () => withLimit(stop, WAIT_LIMIT_MS),
  });
  await chatInteractively({
    ...line,
    input: streams.stdin,
    output: view.prompt,
    terminal: isTerminal(streams),
    prompting: view.prompting,
    interrupt: () => interruption.abort(),
    signal,
  });
  return 0;
}

function continueRendering(
  renderer: Renderer,
  { conversation_id: conversationId, local_id: localId, ...saved }: SavedTurn,
) {
  renderer.history(conversationId, []);
  renderer.note(`continues with the answer to: ${oneLine(saved.text)}`);
  renderer.resume(localId, saved.printed);
}

/** Waits until a turn ends that an earlier chat waited for. */
async function finish(deps: Connected, saved: SavedTurn, limit: AbortSignal): Promise<void> {
  await resumeTurn({ ...deps, waitsForWorkflows: true }, saved, limit).ended.catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error;
    deps.renderer.note(error.message);
  });
}

/** Combines the signal with a time limit. */
function withLimit(signal: AbortSignal, limitMs: number): AbortSignal {
  const limit = new AbortController();
  const timeout = new Failure(`Timeout of ${limitMs / 60_000} minutes exceeded.`);
  setTimeout(() => limit.abort(timeout), limitMs).unref();
  return AbortSignal.any([signal, limit.signal]);
}
