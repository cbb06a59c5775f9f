import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { ChatArguments } from './chat-arguments.js';
import { sendMessage } from './send-message.js';
import { Failure } from './failure.js';
import { createHttpClient, type HttpClient } from './http-client.js';
import { createIdTokenSource } from './id-token.js';
import { chatInteractively } from './interactive.js';
import { readLocalFile } from './local-file.js';
import { openRealtime } from './realtime.js';
import { createJsonRenderer } from './render-json.js';
import { createTextRenderer, wantsColour } from './render-text.js';
import type { Renderer } from './renderer.js';
import type { Outcome } from './turn.js';
import { createSession } from './session.js';
import { waitUntilReady } from './workspace-ready.js';

export interface ChatIo {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable;
  env: Record<string, string | undefined>;
}

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
  const agentNames = new Map<string, string>();
  const renderer = createRenderer(target, streams, agentNames);
  const idTokens = createIdTokenSource({ http, issuer: target.issuer, email: target.email, name: target.name });
  const session = createSession({ http, idTokens, url: target.url });
  await session.signUp();
  const [workspace] = await session.workspaces();
  if (workspace === undefined) throw new Failure('The user has no workspace.');
  renderer.note(`${target.email} at ${target.url}`);

  const limit = withLimit(signal);
  const realtime = openRealtime({
    url: target.url,
    workspaceId: workspace.id,
    idToken: idTokens.current,
    note: renderer.note,
  });
  realtime.onEvent(renderer.event);
  try {
    await waitUntilReady({ session, realtime, renderer }, workspace, limit);
    for (const { id, name } of await session.agents(workspace.id)) agentNames.set(id, name);
    const conversation = await session.swarmConversation(workspace.id);
    const deps = {
      session,
      realtime,
      renderer,
      workspaceId: workspace.id,
      conversationId: conversation.id,
      newId: randomUUID,
    };
    if (target.message !== undefined) return exitCode(await sendMessage(deps, target.message, limit));
    renderer.history((await session.latestMessages(workspace.id, conversation.id, HISTORY_LIMIT)).toReversed());
    await interactively((text, stop) => sendMessage(deps, text, withLimit(stop)), target.json, streams, signal);
    return 0;
  } finally {
    realtime.close();
  }
}

function createRenderer({ json }: Target, { stdout, stderr, env }: ChatIo, agentNames: Map<string, string>): Renderer {
  if (json) return createJsonRenderer({ lines: stdout, notes: stderr });
  const agentName = (id: string | undefined) => agentNames.get(id ?? '') ?? 'agent';
  return createTextRenderer({ out: stdout, colour: wantsColour(stdout, env), agentName });
}

type Send = (text: string, stop: AbortSignal) => Promise<Outcome>;

async function interactively(
  send: Send,
  json: boolean,
  { stdin, stdout, stderr }: ChatIo,
  signal: AbortSignal,
): Promise<void> {
  const interruption = new AbortController();
  await chatInteractively({
    input: stdin,
    output: json ? stderr : stdout,
    terminal: stdin.isTTY === true && stdout.isTTY === true,
    send: (text) => send(text, AbortSignal.any([signal, interruption.signal])),
    interrupt: () => interruption.abort(),
    signal,
  });
}

/** Combines the signal with the time limit. */
function withLimit(signal: AbortSignal): AbortSignal {
  const limit = new AbortController();
  const timeout = new Failure(`Timeout of ${WAIT_LIMIT_MS / 60_000} minutes exceeded.`);
  setTimeout(() => limit.abort(timeout), WAIT_LIMIT_MS).unref();
  return AbortSignal.any([signal, limit.signal]);
}

function exitCode(outcome: Outcome): number {
  return outcome === 'delivered' ? 0 : 1;
}
