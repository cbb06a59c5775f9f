import { create } from '@bufbuild/protobuf';
import { LIMITS } from '@uswarm/contract';
import { serverOfTool } from '@uswarm/contract/agent-tools';
import { type Picture, PictureSchema, type Request, type Resolution, ResolutionSchema } from '@uswarm/runtime-proto';
import { failSpan, inSpan, storable, type Logger } from '@uswarm/service-kit';
import { approvalCard, type AskedTool, callHash, type OfferedCard } from '../../records/approval-card.js';
import type { FoundApproval } from '../../records/approvals.store.js';
import type { StoredOutcome } from '../tools/tool-calls.store.js';
import { withOutcome } from '../tools/outcomes.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import {
  type Commit,
  AccountNeeded,
  type HandOverTool,
  type PlatformTool,
  type TaskTool,
  type ToolCall,
  type ToolOutcome,
} from '../tools/platform-tool.js';
import type { CallRules } from '../tools/call-rules.js';
import { parseArguments, prepareCall, unavailable } from '../tools/prepare-call.js';
import { sendCall, type SendCallDeps } from '../tools/send-call.js';
import { askedBecause, asksAfterUntrusted, contentOf, type UntrustedSource } from '../tools/untrusted-content.js';
import { createCallQuestions, type WatchAnswers } from './call-questions.js';
import type { LiveEvents } from './reply-stream.js';
import { executionOf } from './runtime-spans.js';
import { ReplyLimitExceeded } from '../content/reply-limit.js';
import { lineDescription } from '../content/turn-messages.js';
import type { TurnRow } from '../turns.store.js';
import type { StoredCall, TurnWriter } from '../writer/turn-writes.js';

const refusal = (text: string): ToolOutcome => ({ text, failed: true });

const REFUSALS: Record<Exclude<FoundApproval['status'], 'approved' | 'open'>, ToolOutcome> = {
  denied: refusal('The user denied this call. Nothing was changed. Do not repeat it.'),
  expired: refusal(`The user did not approve this call within ${LIMITS.approvalHours} hours. Nothing was changed.`),
  superseded: refusal('The user sent another message instead of approving this call. Nothing was changed.'),
  outdated: refusal('The user approved this call, but too long ago. Nothing was changed. Ask the user again.'),
};
const TURNED_OFF = refusal('The user has turned this tool off. Nothing was changed.');

/** Includes the untrusted content kinds if they are the reason to ask. */
interface Asking {
  ask: readonly UntrustedSource[];
  permission: AskedTool['permission'];
  /** The account that the user must connect before. */
  account?: string;
}

const accountText = (account: string): string =>
  `${account} needs you to connect your account again. Connect it under Connections, and approve this call then.`;

/** After an approval without a new account. */
const notConnected = (account: string): ToolOutcome =>
  refusal(
    `The user has not connected an account of ${account} with permission for this call. Nothing was changed. Tell the user.`,
  );

export interface ToolOffer {
  tools: readonly PlatformTool[];
  asked: readonly string[];
  /** The model's window in tokens; undefined if unknown. */
  contextWindow?: number | undefined;
  signal: AbortSignal;
}

export interface ToolRequests {
  /** Not acknowledged by the runtime. */
  readonly resolutions: Resolution[];
  offer(offer: ToolOffer): void;
  /** Discards an earlier generation's requests. */
  restart(): void;
  /**
   * Executes a request, or asks the user to approve it.
   *
   * @param number its event's number
   * @returns the sequence of its event, if any
   * @throws ReplyLimitExceeded if the runtime was not offered the tool, or if it changed arguments that the user
   * approved
   */
  execute(request: Request, number: number): Promise<number | undefined>;
  /** The runtime waits for the answer to a call that this event announced. */
  announced(callId: string, number: number): void;
  acknowledged(): void;
  /** Event number of the first request or announced call whose outcome the runtime does not have. */
  readonly firstUnacknowledged: number | undefined;
  /** Executes requests that the user has decided on meanwhile, and delivers results from other agents. */
  retry(): Promise<number | undefined>;
  /** The agent that answers instead, after a handover. */
  readonly recipient: string | undefined;
  /** Call ids that wait for the user, or for another agent's result. */
  readonly waitingCalls: readonly string[];
  readonly aborted: boolean;
}

export interface ToolRequestDeps {
  turn: TurnRow;
  writer: Pick<TurnWriter, 'call' | 'ask' | 'findCall' | 'markSent' | 'startTask' | 'question' | 'answer'>;
  /** Calls the listener when the user may have answered a question, until the returned function is called. */
  watchAnswers: WatchAnswers;
  rules: CallRules;
  receipts: Pick<ReceiptLog, 'finish' | 'recordOwn'>;
  live: Pick<LiveEvents, 'tool'>;
  logger: Pick<Logger, 'error' | 'warn'>;
  seq: () => number;
  /** Delay before the first retry to another system. */
  retryMs?: number | undefined;
}

const noting =
  (note: string, commit: Commit): Commit =>
  async (tx) => {
    const outcome = await commit(tx);
    return { ...outcome, text: `${outcome.text}\n${note}` };
  };

const NOTHING: ToolOffer = { tools: [], asked: [], signal: new AbortController().signal };

interface Requested {
  request: Request;
  tool: PlatformTool;
  input: unknown;
  call: ToolCall;
}

/** The running generation's requests. */
interface OpenRequests {
  resolutions: Resolution[];
  recipient: string | undefined;
  waiting: Map<string, Request>;
  /** Clients were told that these calls have begun. */
  readonly begun: Set<string>;
}

async function requested(
  deps: ToolRequestDeps,
  { contextWindow, signal }: ToolOffer,
  tool: PlatformTool,
  request: Request,
): Promise<Requested> {
  const { turn, rules } = deps;
  const { callId, arguments: json } = request;
  const input = parseArguments(json);
  const argumentsHash = callHash(tool.name, input);
  const call = {
    id: callId,
    turnId: turn.id,
    depth: turn.task_depth ?? 0,
    userMessageId: turn.resumes_message_id ?? turn.user_message_id,
    answer: { turnId: turn.usage_turn_id, inReplyTo: turn.in_reply_to },
    workspaceId: turn.workspace_id,
    userId: turn.user_id,
    agentId: turn.agent_id,
    conversationId: turn.conversation_id,
    integrationId: await rules.connection(turn.user_id, tool),
    contextWindow,
    signal,
    ask: createCallQuestions(deps, { id: callId, tool: tool.name, argumentsHash }, signal),
  };
  return { request, tool, input, call };
}

/** @returns a call's card and what identifies its request; an outcome if the call cannot be executed */
async function cardOf(
  deps: ToolRequestDeps,
  request: Requested,
  { ask: sources, permission, account }: Asking,
): Promise<{ card: OfferedCard; key: string | undefined } | { outcome: ToolOutcome }> {
  const { logger, turn } = deps;
  const { tool, input, call } = request;
  const problem = tool.check(input);
  if (problem !== undefined) return { outcome: problem };
  try {
    const plan = 'send' in tool && account === undefined ? await tool.plan(input, call) : { key: undefined };
    if ('outcome' in plan) return plan;
    const reasons = [
      ...(account === undefined ? [] : [accountText(account)]),
      ...(sources.length === 0 ? [] : [askedBecause(sources)]),
    ];
    const because = reasons.length === 0 ? undefined : reasons.join(' ');
    const asked = { tool: tool.switchedBy, permission };
    return { card: approvalCard(await tool.preview(input, call), asked, because), key: plan.key };
  } catch (error) {
    if (error instanceof AccountNeeded && account === undefined)
      return cardOf(deps, request, { ask: sources, permission, account: error.message });
    logger.error({ err: error, tool: tool.name, turn: turn.id }, 'the preview of a tool call failed');
    return { outcome: unavailable(tool.name) };
  }
}

/** True if a deleted or failed reply to the same question may have sent the same call. Then the user must see it. */
async function mayRepeat({ turn, rules }: ToolRequestDeps, tool: PlatformTool): Promise<boolean> {
  if (!('send' in tool)) return false;
  const { id, agent_id: agentId, repeats_from_message_id: messageId } = turn;
  return await rules.mayRepeat({ id, agentId, messageId });
}

const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsIn(item)]);
};

/** @returns the content from others because of which a call must not run without asking */
async function askedSources(
  { rules, turn }: ToolRequestDeps,
  { tool, input }: Pick<Requested, 'tool' | 'input'>,
): Promise<UntrustedSource[]> {
  const server = serverOfTool(tool.name);
  const always = asksAfterUntrusted(tool);
  if (!always && server === undefined) return [];
  const sources = await rules.untrustedSources(turn.conversation_id);
  if (always || sources.length === 0) return sources;
  // A call that only reads can carry text to its server.
  const place = { workspaceId: turn.workspace_id, conversationId: turn.conversation_id, userId: turn.user_id };
  return (await rules.sharesPrivateText(place, textsIn(input).join('\n'), server)) ? sources : [];
}

/** Decides on a call that has no outcome: the stricter of the settings then and now applies. */
async function verdictOn(
  deps: ToolRequestDeps,
  { asked }: ToolOffer,
  request: Pick<Requested, 'tool' | 'input'>,
  { sent, approval, isDelegated }: StoredCall,
): Promise<'execute' | 'wait' | Asking | ToolOutcome> {
  const { rules } = deps;
  const { tool } = request;
  if (isDelegated) return 'wait';
  // The outcome of a sent call must be found out, whatever the user allows now.
  if (sent !== undefined) return 'execute';
  const permission = await rules.permission(deps.turn.agent_id, tool);
  if (permission === 'deny') return TURNED_OFF;
  if (approval === undefined) {
    if (permission === 'ask' || asked.includes(tool.name) || (await mayRepeat(deps, tool)))
      return { ask: [], permission };
    const sources = await askedSources(deps, request);
    return sources.length > 0 ? { ask: sources, permission } : 'execute';
  }
  if (approval.status === 'approved') return 'execute';
  return approval.status === 'open' ? 'wait' : REFUSALS[approval.status];
}

async function picturesOf({ turn, logger }: ToolRequestDeps, { tool, input, call }: Requested): Promise<Picture[]> {
  if (tool.pictures === undefined || tool.check(input) !== undefined) return [];
  try {
    const pictures = await tool.pictures(input, call);
    return pictures.map(({ type, bytes }) => create(PictureSchema, { mediaType: type, data: bytes }));
  } catch (error) {
    logger.warn({ err: error, tool: tool.name, turn: turn.id }, 'the pictures of a tool call cannot be read');
    return [];
  }
}

/** Executes calls, and delivers their outcomes. */
function createCallRunner(deps: ToolRequestDeps, open: OpenRequests) {
  const { writer, live, logger, seq: lastSeq } = deps;

  function showStart(tool: string, callId: string, seq: number): void {
    open.begun.add(callId);
    live.tool({ tool, running: true }, seq);
  }

  async function deliver(request: Requested, outcome: StoredOutcome, seq: number): Promise<void> {
    const { text, failed, showsMessage: message } = outcome;
    const { name: tool } = request.tool;
    const { id: callId } = request.call;
    const pictures = failed ? [] : await picturesOf(deps, request);
    // The call was refused, failed before it ran, or was executed by another process or agent.
    if (!open.begun.delete(callId)) live.tool({ tool, running: true }, seq);
    live.tool({ tool, running: false, failed }, seq);
    open.resolutions.push(create(ResolutionSchema, { callId, text, failed, message, pictures }));
  }

  /** @returns the sequence of its event, unless the call was executed before */
  async function run(request: Requested, commit: Commit): Promise<number | undefined> {
    const { tool, input } = request;
    const { id } = request.call;
    const stoppable = !('send' in tool);
    const description = lineDescription(tool, input);
    const { outcome, seq } = await writer.call(
      { id, tool: tool.name, description, stoppable, reads: contentOf(tool) },
      commit,
    );
    await deliver(request, outcome, seq ?? lastSeq());
    return seq;
  }

  /** Records a call that changed our data, in the same transaction as the change. */
  const withReceipt =
    ({ tool: { name, effect }, input, call }: Requested, commit: Commit): Commit =>
    async (tx) => {
      const outcome = await commit(tx);
      if (effect === 'own' && !outcome.failed)
        await deps.receipts.recordOwn({ call, tool: name, arguments: input, outcome: outcome.text }, tx);
      return outcome;
    };

  /** The task's end is the call outcome. */
  async function startTask(request: Requested & { tool: TaskTool }): Promise<number | undefined> {
    const { tool, input, call } = request;
    const started = tool.check(input) ?? (await writer.startTask(await tool.task(input, call)));
    if (typeof started !== 'number') return await run(request, withOutcome(started));
    open.waiting.set(call.id, request.request);
    showStart(tool.name, call.id, started);
    return started;
  }

  async function choose(request: Requested & { tool: HandOverTool }): Promise<number | undefined> {
    const { tool, input, call } = request;
    const recipient = tool.check(input) ?? (await tool.recipient(input, call));
    if (typeof recipient !== 'string') return await run(request, withOutcome(recipient));
    open.recipient ??= recipient;
    return undefined;
  }

  async function prepareAndRun(request: Requested, stored: StoredCall): Promise<number | undefined> {
    const { tool, input, call } = request;
    if ('task' in tool) return await startTask({ ...request, tool });
    if ('recipient' in tool) return await choose({ ...request, tool });
    const { sent, approval: approved } = stored;
    const markSent: SendCallDeps['markSent'] = (receipt) => writer.markSent(receipt, lineDescription(tool, input));
    showStart(tool.name, call.id, lastSeq());
    const commit =
      'prepare' in tool
        ? withReceipt(request, await prepareCall(tool, input, call, logger))
        : await sendCall(tool, input, call, {
            sent,
            approved,
            markSent,
            receipts: deps.receipts,
            logger,
            retryMs: deps.retryMs,
          });
    const decidedAt = approved?.decidedAt;
    // The turn's context has the time when it started, which can be a day earlier.
    const note = decidedAt && `The user approved this call at ${decidedAt.toISOString()}.`;
    return await run(request, note ? noting(note, commit) : commit);
  }

  return { run, deliver, prepareAndRun };
}

export function createToolRequests(deps: ToolRequestDeps): ToolRequests {
  const { writer, seq: lastSeq } = deps;
  let offer = NOTHING;
  const open: OpenRequests = { resolutions: [], recipient: undefined, waiting: new Map(), begun: new Set() };
  const { run, deliver, prepareAndRun } = createCallRunner(deps, open);
  /** Event numbers by call id, for requests whose outcome the runtime does not have. */
  const unacknowledged = new Map<string, number>();
  /** @returns the sequence of its event; undefined if the call has an outcome instead */
  async function ask(request: Requested, asking: Asking): Promise<number | undefined> {
    const { tool, input, call } = request;
    const shown = await cardOf(deps, request, asking);
    if ('outcome' in shown) {
      await run(request, withOutcome(shown.outcome));
      return undefined;
    }
    const { id, integrationId } = call;
    return writer.ask({ id, tool: tool.name, argumentsHash: callHash(tool.name, input), integrationId, ...shown });
  }

  /** The turn goes on with the call when the user has connected the account. */
  async function askForAccount(request: Requested, stored: StoredCall, account: string): Promise<number | undefined> {
    if (stored.approval !== undefined) return run(request, withOutcome(notConnected(account)));
    const { tool, call } = request;
    if (open.begun.delete(call.id)) deps.live.tool({ tool: tool.name, running: false, failed: false }, lastSeq());
    const permission = await deps.rules.permission(deps.turn.agent_id, tool);
    const seq = await ask(request, { ask: [], permission: permission === 'deny' ? 'ask' : permission, account });
    if (seq !== undefined) open.waiting.set(call.id, request.request);
    return seq;
  }

  const requests: ToolRequests = {
    get resolutions() {
      return open.resolutions;
    },
    get recipient() {
      return open.recipient;
    },
    get waitingCalls() {
      return [...open.waiting.keys()];
    },
    get aborted() {
      return offer.signal.aborted;
    },

    offer(newOffer) {
      offer = newOffer;
    },

    announced: (callId, number) => void unacknowledged.set(callId, number),

    acknowledged() {
      // Another resolution follows for a call that waits for the user.
      for (const { callId, waits } of open.resolutions) if (!waits) unacknowledged.delete(callId);
      open.resolutions = [];
    },

    get firstUnacknowledged() {
      return unacknowledged.size === 0 ? undefined : Math.min(...unacknowledged.values());
    },

    restart() {
      open.resolutions = [];
      unacknowledged.clear();
      open.begun.clear();
      open.recipient = undefined;
      open.waiting = new Map();
    },

    async execute(request, number) {
      const { callId, tool: name } = request;
      unacknowledged.set(callId, number);
      const tool = offer.tools.find((one) => one.name === name);
      if (tool === undefined || callId !== storable(callId))
        throw new ReplyLimitExceeded('runtime_output_invalid', 'tool_not_offered');
      const stored = await writer.findCall(callId);
      // Clients were told when the task began, perhaps by another process. Its result can arrive hours later.
      if ('task' in tool && stored.outcome !== undefined) open.begun.add(callId);
      const parsed = await requested(deps, offer, tool, request);
      // The runtime no longer has the arguments of a call whose outcome it received.
      if (stored.outcome !== undefined) return void (await deliver(parsed, stored.outcome, lastSeq()));
      if (stored.approval?.argumentsHash.equals(callHash(name, parsed.input)) === false)
        throw new ReplyLimitExceeded('runtime_output_invalid', 'arguments_changed');
      const verdict = await verdictOn(deps, offer, parsed, stored);
      if (verdict === 'execute') {
        const span = { attributes: executionOf(name, callId) };
        return await inSpan(`execute_tool ${name}`, span, async (execution) => {
          try {
            return await prepareAndRun(parsed, stored);
          } catch (error) {
            if (!(error instanceof AccountNeeded)) throw error;
            return await askForAccount(parsed, stored, error.message);
          } finally {
            if (open.resolutions.some((one) => one.callId === callId && one.failed)) failSpan(execution, 'tool_failed');
          }
        });
      }
      if (typeof verdict !== 'string' && 'text' in verdict) return await run(parsed, withOutcome(verdict));
      const seq = verdict === 'wait' ? undefined : await ask(parsed, verdict);
      if (verdict === 'wait' || seq !== undefined) open.waiting.set(callId, request);
      return seq;
    },

    async retry() {
      const retried = open.waiting;
      open.waiting = new Map();
      let last: number | undefined;
      for (const request of retried.values())
        last = (await requests.execute(request, unacknowledged.get(request.callId) ?? 1)) ?? last;
      return last;
    },
  };
  return requests;
}
