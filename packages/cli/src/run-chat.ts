import { randomUUID } from 'node:crypto';
import type { ChatArguments } from './chat-arguments.js';
import { type ChatIo, type ChatView, createChatView, isTerminal } from './chat-view.js';
import { Failure } from './failure.js';
import { createHttpClient, type HttpClient } from './http-client.js';
import { createIdTokenSource } from './id-token.js';
import { chatInteractively } from './interactive.js';
import { createLineHandler } from './line-handler.js';
import { readLocalFile } from './local-file.js';
import { openRealtime } from './realtime.js';
import { sendMessage, type TurnDeps } from './send-message.js';
import { createSession, type Session } from './session.js';
import { waitUntilReady } from './workspace-ready.js';

/** Time limit for an answer and for the start of the workspace, in milliseconds. */
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
  const session = createSession({ http, idTokens, url: target.url });
  await session.signUp();
  const [workspace] = await session.workspaces();
  if (workspace === undefined) throw new Failure('The user has no workspace.');
  const view = createChatView(target, streams, workspace.id);
  const { renderer } = view;
  renderer.note(`${target.email} at ${target.url}`);

  const limit = withLimit(signal, WAIT_LIMIT_MS);
  const realtime = openRealtime({
    url: target.url,
    workspaceId: workspace.id,
    idToken: idTokens.current,
    note: renderer.note,
  });
  realtime.onEvent(renderer.event);
  try {
    await waitUntilReady({ session, realtime, renderer }, workspace, limit);
    view.nameAgents(await session.agents(workspace.id));
    const { id: conversationId } = await session.swarmConversation(workspace.id);
    const deps = { session, realtime, renderer, workspaceId: workspace.id, conversationId, newId: randomUUID };
    return target.message === undefined
      ? await talk(deps, view, streams, signal)
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

type Connected = Omit<TurnDeps, 'waitsForWorkflows' | 'session'> & { session: Session };

/** Chats until the input ends. @returns the exit code */
async function talk(deps: Connected, view: ChatView, streams: ChatIo, signal: AbortSignal): Promise<number> {
  const { session, workspaceId, conversationId } = deps;
  view.renderer.history(conversationId, await session.latestMessages(workspaceId, conversationId, HISTORY_LIMIT));
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

/** Combines the signal with a time limit. */
function withLimit(signal: AbortSignal, limitMs: number): AbortSignal {
  const limit = new AbortController();
  const timeout = new Failure(`Timeout of ${limitMs / 60_000} minutes exceeded.`);
  setTimeout(() => limit.abort(timeout), limitMs).unref();
  return AbortSignal.any([signal, limit.signal]);
}
