import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { USAGE, type ChatArguments } from './arguments.js';
import { ask } from './ask.js';
import { Failure } from './failure.js';
import { createHttpClient, type HttpClient } from './http-client.js';
import { createIdTokenSource } from './id-token.js';
import { chatInteractively } from './interactive.js';
import { readLocalFile } from './local-file.js';
import { openRealtime } from './realtime.js';
import { createJsonRenderer } from './render-json.js';
import { createTextRenderer, wantsColour } from './render-text.js';
import type { Renderer } from './renderer.js';
import type { Outcome } from './reply.js';
import { createSession } from './session.js';
import { waitUntilReady } from './workspace-ready.js';

export interface ChatIo {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean };
  stderr: Writable;
  env: Record<string, string | undefined>;
}

/** Milliseconds that a question, or the workspace at the start, is waited for. */
const WAIT_LIMIT_MS = 10 * 60_000;

/** Messages shown when an interactive chat begins. */
const HISTORY = 6;

/**
 * Runs `npm run chat`.
 * @returns the exit code: 0 when the question was answered, 1 when the reply failed.
 * @throws Failure with the sentence to print; the signal's reason when that ended it.
 */
export async function runChat(wanted: ChatArguments, streams: ChatIo, signal: AbortSignal): Promise<number> {
  if (wanted.help) {
    streams.stdout.write(USAGE);
    return 0;
  }
  const local = await readLocalFile(wanted.dataDir);
  const http = createHttpClient();
  try {
    return await chatWith(
      http,
      { ...wanted, url: wanted.url ?? new URL(local.url).origin, issuer: local.issuer },
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
  if (workspace === undefined) throw new Failure('uswarm gave the user no workspace.');
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
    if (target.question !== undefined) return exitCode(await ask(deps, target.question, limit));
    renderer.history((await session.latestMessages(workspace.id, conversation.id, HISTORY)).toReversed());
    await interactively((question, stop) => ask(deps, question, withLimit(stop)), target.json, streams, signal);
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

type Asking = (question: string, stop: AbortSignal) => Promise<Outcome>;

async function interactively(
  asking: Asking,
  json: boolean,
  { stdin, stdout, stderr }: ChatIo,
  signal: AbortSignal,
): Promise<void> {
  const interruption = new AbortController();
  await chatInteractively({
    input: stdin,
    output: json ? stderr : stdout,
    terminal: stdin.isTTY === true && stdout.isTTY === true,
    ask: (question) => asking(question, AbortSignal.any([signal, interruption.signal])),
    interrupt: () => interruption.abort(),
    signal,
  });
}

/** The signal, which besides ends a wait that takes too long. */
function withLimit(signal: AbortSignal): AbortSignal {
  const limit = new AbortController();
  const gaveUp = new Failure(`Gave up after ${WAIT_LIMIT_MS / 60_000} minutes.`);
  setTimeout(() => limit.abort(gaveUp), WAIT_LIMIT_MS).unref();
  return AbortSignal.any([signal, limit.signal]);
}

function exitCode(outcome: Outcome): number {
  return outcome === 'delivered' ? 0 : 1;
}
