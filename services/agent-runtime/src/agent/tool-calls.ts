import { create } from '@bufbuild/protobuf';
import { READ_PAGE_TOOL, WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import type { ToolPart, ToolResult } from '@uswarm/mcp-client';
import { MessageSchema, type Resolution, ToolSchema, ToolState } from '@uswarm/runtime-proto';
import { visibleText } from '@uswarm/service-kit';
import { UNSEEN_PICTURES } from '../context/attached-files.js';
import type { ToolCall } from '../models/port.js';
import { INVALID_TOOL } from '../models/step-assembler.js';
import type { BuiltInTool, BuiltInToolResult } from '../tools/define-tool.js';
import { callRecord } from '../tools/sources.js';
import type { ToolSource } from '../tools/tool.js';
import type { UntrustedBlock } from '../text/untrusted-block.js';
import { requestEvent, toolEvent, waitingEvent } from '../turns/turn-events.js';
import type { Journal, Produced } from './journal.js';
import type { ReplyWriter } from './reply-writer.js';
import type { ResultEntry, ResultPart } from './turn-state.js';

/** Tool calls that a model may ask for in one step. */
const MAX_CALLS_PER_STEP = 8;

const MAX_LINE = 200;

function oneLine(text: string): string {
  const line = visibleText(text.replace(/\s+/g, ' ')).trim();
  return line.length <= MAX_LINE ? line : `${line.slice(0, MAX_LINE - 1).toWellFormed()}…`;
}

/** The argument that leaves the platform with a call, which the orchestrator judges. */
const SENT_ARGUMENTS = new Map([
  [WEB_SEARCH_TOOL, 'query'],
  [READ_PAGE_TOOL, 'url'],
]);

/** Without a protocol, and without what is not sent. */
const shownAddress = (address: string): string =>
  address
    .replace(/^https?:\/\//i, '')
    .replace(/#.*$/, '')
    .replace(/\/$/, '');

function describe(name: string, sent: string): string {
  if (name === WEB_SEARCH_TOOL) return oneLine(`Searching the web for “${sent}”`);
  return name === READ_PAGE_TOOL ? oneLine(`Reading ${shownAddress(sent)}`) : `Using ${name}`;
}

function sentBy({ name, input }: ToolCall): string {
  const sent = input?.[SENT_ARGUMENTS.get(name) ?? ''];
  return typeof sent === 'string' ? sent : '';
}

/** Tools that the orchestrator executes. */
export interface ToolRequests {
  names: ReadonlySet<string>;
  journal: Pick<Journal, 'ended'>;
  /** Outcome of a request, or the answer to an announced call. */
  resolution: (callId: string) => Promise<Resolution>;
  /** The answer to an announced call for which the user is asked. */
  decision: (callId: string) => Promise<Resolution>;
}

export interface ToolCallDeps {
  tools: Pick<ToolSource, 'call'>;
  builtIn: readonly BuiltInTool[];
  requests: ToolRequests;
  /** Tool names that the model was offered. */
  offered: ReadonlySet<string>;
  /** Call ids: the same call ran in each of the last steps, so it does not run again. */
  repeated: ReadonlySet<string>;
  /** The calling agent. */
  agentId: string;
  writer: Pick<ReplyWriter, 'event'>;
  untrusted: UntrustedBlock;
  /** True if the model accepts images. */
  images: boolean;
  signal: AbortSignal;
  /** Whether the orchestrator stores calls that are announced, and sends the token for each of them. */
  announced: boolean;
  onResult: (result: ResultEntry, produced: Produced) => Promise<void>;
}

const NOT_AN_OBJECT = 'the arguments are not a JSON object.';
const REPEATED =
  'You have made this call several times in a row, and it did not run again. Use the results that you have, change the ' +
  'arguments, or answer with what you know.';
const TURN_TOO_LONG = 'This reply has become too long for another call of this tool. Tell the user to ask again.';

/** @param waits called if the call waits for the user */
async function run(
  call: ToolCall,
  { tools, requests, announced, signal }: ToolCallDeps,
  waits: () => void,
): Promise<ToolResult> {
  let granted = announced ? await requests.resolution(call.id) : undefined;
  if (granted?.waits === true) {
    waits();
    granted = await requests.decision(call.id);
  }
  if (call.input === undefined) return { text: `${call.name}: ${NOT_AN_OBJECT}`, failed: true };
  if (granted?.failed === true) return { text: granted.text, failed: true };
  return await tools.call(call.name, call.input, signal, granted?.toolToken);
}

/** Images follow the text, which describes them for other models. */
function toOutput({ text, failed, parts = [] }: ToolResult, images: boolean): ResultPart['output'] {
  const files = parts
    .filter((part) => part.type === 'image')
    .map(({ mediaType, data }) => ({ type: 'file' as const, mediaType, data: { type: 'data' as const, data } }));
  if (!images || files.length === 0) return { type: failed ? 'error-text' : 'text', value: text };
  return { type: 'content', value: [{ type: 'text', text }, ...files] };
}

function toResult(
  call: ToolCall,
  { offered, images }: ToolCallDeps,
  result: ToolResult & { showsMessage?: boolean; silent?: true },
): ResultEntry {
  const known = offered.has(call.name);
  const part: ResultPart = {
    type: 'tool-result',
    toolCallId: call.id,
    toolName: known ? call.name : INVALID_TOOL,
    output: toOutput(result, images),
  };
  return {
    callId: call.id,
    part,
    invalid: !known || call.input === undefined,
    messages: result.showsMessage === true ? 1 : 0,
    silent: result.silent === true,
  };
}

/** A result and what it produced. */
interface Executed {
  result: ResultEntry;
  produced: Produced;
}

/** Built-in tools have no tool status: their effect is visible. */
function runBuiltIn(tool: BuiltInTool, call: ToolCall, deps: ToolCallDeps): Executed {
  const result: BuiltInToolResult =
    call.input === undefined ? { text: `${call.name}: ${NOT_AN_OBJECT}`, failed: true } : tool.run(call.input);
  const { message: content } = result;
  const message =
    content === undefined ? undefined : create(MessageSchema, { key: call.id, agentId: deps.agentId, content });
  return { result: toResult(call, deps, { ...result, showsMessage: content !== undefined }), produced: { message } };
}

/** The orchestrator shows the status of tools that it executes. */
async function runRequested(call: ToolCall, deps: ToolCallDeps): Promise<Executed> {
  const { requests, writer, untrusted } = deps;
  const refused = (text: string): Executed => ({ result: toResult(call, deps, { text, failed: true }), produced: {} });
  if (call.input === undefined) return refused(`${call.name}: ${NOT_AN_OBJECT}`);
  // Without a journal, the next generation would repeat the call under another id.
  if (requests.journal.ended) return refused(TURN_TOO_LONG);
  writer.event(requestEvent({ callId: call.id, tool: call.name, arguments: JSON.stringify(call.input) }));
  const { text, failed, message, pictures } = await requests.resolution(call.id);
  const parts = pictures.map(({ mediaType, data }): ToolPart => {
    return { type: 'image', mediaType, data: Buffer.from(data).toString('base64') };
  });
  const seen = parts.length === 0 || deps.images ? text : `${text}\n${UNSEEN_PICTURES}`;
  return {
    result: toResult(call, deps, { text: untrusted(call.name, seen), failed, parts, showsMessage: message }),
    produced: { call: callRecord(call.name, call.input, { text, failed }) },
  };
}

/** True if all calls in a step are announced before they are made, with a barrier. */
export const areAnnounced = (
  calls: readonly ToolCall[],
  {
    announced,
    builtIn,
    requests,
    offered,
    repeated,
  }: Pick<ToolCallDeps, 'announced' | 'builtIn' | 'requests' | 'offered' | 'repeated'>,
): boolean =>
  announced &&
  calls.length <= MAX_CALLS_PER_STEP &&
  calls.every(
    ({ id, name }) =>
      offered.has(name) &&
      !repeated.has(id) &&
      !requests.names.has(name) &&
      !builtIn.some(({ definition }) => definition.name === name),
  );

async function execute(call: ToolCall, deps: ToolCallDeps, waits: () => void): Promise<Executed> {
  const refused = (text: string): Executed => ({ result: toResult(call, deps, { text, failed: true }), produced: {} });
  if (deps.repeated.has(call.id)) return refused(`${call.name}: ${REPEATED}`);
  const tool = oneLine(call.name);
  // Users are not shown calls to tools that do not exist.
  if (!deps.offered.has(call.name)) return refused(`${tool}: unknown tool.`);
  const builtIn = deps.builtIn.find(({ definition }) => definition.name === call.name);
  if (builtIn !== undefined) return runBuiltIn(builtIn, call, deps);
  if (deps.requests.names.has(call.name)) return await runRequested(call, deps);
  const exact = sentBy(call);
  const query = oneLine(exact);
  const event = { callId: call.id, tool, query };
  const running = { ...event, query: exact, state: ToolState.RUNNING, description: describe(tool, query) };
  deps.writer.event(toolEvent(running), deps.announced);
  const result = await run(call, deps, waits);
  const { text, failed } = result;
  const end = failed
    ? { state: ToolState.FAILED, description: oneLine(text) }
    : { state: ToolState.COMPLETED, description: describe(tool, query) };
  return {
    result: toResult(call, deps, { ...result, text: deps.untrusted(tool, text) }),
    produced: {
      tool: create(ToolSchema, { ...event, ...end }),
      call: call.input === undefined ? undefined : callRecord(tool, call.input, result),
    },
  };
}

function tooMany(call: ToolCall, deps: ToolCallDeps): Executed {
  const text = `At most ${MAX_CALLS_PER_STEP} tool calls run in one step; this one did not.`;
  return { result: toResult(call, deps, { text, failed: true }), produced: {} };
}

/**
 * Runs a step's calls concurrently, except calls that have a result already. A failed tool is a result, which the model
 * handles. Reports when all calls that are left wait for the orchestrator or the user.
 * @throws only the signal's reason, and errors of `onResult`.
 */
export async function executeToolCalls(
  calls: readonly ToolCall[],
  finished: ReadonlySet<string>,
  deps: ToolCallDeps,
): Promise<void> {
  const unfinished = [...calls.entries()].filter(([, call]) => !finished.has(call.id));
  const isRequest = ([index, call]: [number, ToolCall]): boolean =>
    index < MAX_CALLS_PER_STEP && deps.requests.names.has(call.name);
  /** Calls that this process executes. */
  const running = new Set(unfinished.filter((one) => !isRequest(one)).map(([index]) => index));
  const open = new Set(unfinished.filter(isRequest).map(([index]) => index));
  let isReported = false;
  const reportWaiting = (): void => {
    if (isReported || running.size > 0 || open.size === 0) return;
    isReported = true;
    deps.writer.event(waitingEvent());
  };
  const results = unfinished.map(async ([index, call]) => {
    const waits = (): void => {
      running.delete(index);
      open.add(index);
      reportWaiting();
    };
    const executed = index < MAX_CALLS_PER_STEP ? await execute(call, deps, waits) : tooMany(call, deps);
    open.delete(index);
    await deps.onResult(executed.result, executed.produced);
    running.delete(index);
    reportWaiting();
  });
  // Requests are sent before it is reported that only they are left.
  await Promise.resolve();
  reportWaiting();
  await Promise.all(results);
}
