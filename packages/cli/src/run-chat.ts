import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import type { ChatArguments } from './chat-arguments.js';
import { type Choices, createChoices } from './choices.js';
import { createArtifactNumbers, executeCommand } from './commands.js';
import { Failure } from './failure.js';
import { createHttpClient, type HttpClient } from './http-client.js';
import { createIdTokenSource } from './id-token.js';
import { chatInteractively } from './interactive.js';
import { readLocalFile } from './local-file.js';
import { openRealtime } from './realtime.js';
import { createJsonRenderer } from './render-json.js';
import { createPromptedOutput, type PromptedOutput } from './prompted-output.js';
import { createTextRenderer, type TextRendererOptions } from './render-text.js';
import type { Renderer } from './renderer.js';
import { chooseAction, type RunningTurn, sendMessage, type TurnDeps } from './send-message.js';
import { createSession } from './session.js';
import { oneLine, wantsColour } from './terminal-text.js';
import type { Outcome } from './turn.js';
import { waitUntilReady } from './workspace-ready.js';

export interface ChatIo {
  stdin: Readable & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
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
  const choices = createChoices();
  const artifacts = createArtifactNumbers();
  const out = createPromptedOutput(streams.stdout);
  const idTokens = createIdTokenSource({ http, issuer: target.issuer, email: target.email, name: target.name });
  const session = createSession({ http, idTokens, url: target.url });
  await session.signUp();
  const [workspace] = await session.workspaces();
  if (workspace === undefined) throw new Failure('The user has no workspace.');
  const isInteractive = target.message === undefined;
  const openArtifact = (id: string): string =>
    isInteractive ? `/open ${artifacts.numberOf(id)}` : `GET /v1/workspaces/${workspace.id}/artifacts/${oneLine(id)}`;
  const agentName = (id: string | undefined): string => oneLine(agentNames.get(id ?? '') ?? 'agent');
  const renderer = createRenderer(target, streams, { out, choices, openArtifact, agentName });
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
    const context = { session, workspaceId: workspace.id, conversationId: conversation.id };
    const waitsForWorkflows = !isTerminal(streams);
    const turn = { ...context, realtime, renderer, newId: randomUUID };
    if (target.message !== undefined) {
      renderer.history(conversation.id, []);
      const outcome = await sendMessage({ ...turn, waitsForWorkflows: true }, target.message, limit).ended;
      if (choices.size > 0) renderer.note('to choose, run: npm run chat');
      return exitCode(outcome);
    }
    renderer.history(conversation.id, await session.latestMessages(workspace.id, conversation.id, HISTORY_LIMIT));
    const commandOut = target.json ? streams.stderr : out;
    const commands = (line: string) => executeCommand({ ...context, artifacts, out: commandOut }, line);
    await interactively({ ...turn, waitsForWorkflows }, { choices, commands, out }, target.json, streams, signal);
    return 0;
  } finally {
    realtime.close();
  }
}

type Rendering = Pick<TextRendererOptions, 'out' | 'choices' | 'openArtifact' | 'agentName'>;

function createRenderer({ json }: Target, streams: ChatIo, rendering: Rendering): Renderer {
  const { stdout, stderr, env } = streams;
  if (json) return createJsonRenderer({ lines: stdout, notes: stderr, choices: rendering.choices });
  const size = () => ({ columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 });
  return createTextRenderer({
    ...rendering,
    colour: wantsColour(stdout, env),
    ...(isTerminal(streams) ? { size } : {}),
  });
}

const isTerminal = ({ stdin, stdout }: Pick<ChatIo, 'stdin' | 'stdout'>): boolean =>
  stdin.isTTY === true && stdout.isTTY === true;

interface Interaction {
  choices: Choices;
  commands: (line: string) => Promise<void>;
  out: PromptedOutput;
}

async function interactively(
  deps: TurnDeps,
  { choices, commands, out }: Interaction,
  json: boolean,
  streams: ChatIo,
  signal: AbortSignal,
): Promise<void> {
  const interruption = new AbortController();
  let running: RunningTurn | undefined;

  function start(line: string, limit: AbortSignal): RunningTurn {
    if (choices.size === 0 || !/^\d+$/.test(line)) return sendMessage(deps, line, limit);
    const choice = choices.find(Number(line));
    if (choice === undefined) throw new Failure(`No open card has the action ${line}.`);
    return chooseAction(deps, choice, limit);
  }
  async function execute(line: string): Promise<void> {
    if (line.startsWith('/')) return commands(line);
    running = start(line, withLimit(AbortSignal.any([signal, interruption.signal])));
    await running.ended.finally(() => (running = undefined));
  }
  await chatInteractively({
    input: streams.stdin,
    output: json ? streams.stderr : streams.stdout,
    terminal: isTerminal(streams),
    execute,
    stop: async () => running?.stop(),
    prompting: out.prompting,
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
