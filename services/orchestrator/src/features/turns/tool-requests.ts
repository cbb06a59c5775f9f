import { create } from '@bufbuild/protobuf';
import { LIMITS } from '@uswarm/contract';
import { type Request, type Resolution, ResolutionSchema } from '@uswarm/runtime-proto';
import type { Logger } from '@uswarm/service-kit';
import { approvalCard, callHash } from '../approvals/approval-card.js';
import { withOutcome } from '../tools/outcomes.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type { Commit, PlatformTool, ToolCall, ToolOutcome } from '../tools/platform-tool.js';
import { parseArguments, prepareCall, unavailable } from '../tools/prepare-call.js';
import { sendCall } from '../tools/send-call.js';
import { storable } from './agent-content-schema.js';
import type { LiveEvents } from './live-events.js';
import { ReplyLimitExceeded } from './reply-limit.js';
import type { TurnRow } from './turns.store.js';
import type { ApprovalState, TurnWriter } from './turn-writer.js';

/** Maximum length of descriptions of calls, in UTF-16 code units. */
const MAX_DESCRIPTION_LENGTH = 4_000;

const refusal = (text: string): ToolOutcome => ({ text, failed: true });

type Card = ReturnType<typeof approvalCard>;

/** What the model learns about a call that the user did not approve. */
const REFUSALS: Record<Exclude<ApprovalState, 'approved' | 'open' | 'changed'>, ToolOutcome> = {
  denied: refusal('The user denied this call. Nothing was changed. Do not repeat it.'),
  expired: refusal(`The user did not approve this call within ${LIMITS.approvalHours} hours. Nothing was changed.`),
  superseded: refusal('The user sent another message instead of approving this call. Nothing was changed.'),
};

export interface ToolOffer {
  tools: readonly PlatformTool[];
  /** Names of the tools that need the approval of the user. */
  asked: readonly string[];
  /** Aborted if the turn is stopped. */
  signal: AbortSignal;
}

/** The tool requests of a turn. */
export interface ToolRequests {
  /** Outcomes that the runtime has not acknowledged. */
  resolutions: Resolution[];
  /** Sets what the runtime may request. */
  offer(offer: ToolOffer): void;
  /** Discards the requests of an earlier generation. */
  restart(): void;
  /**
   * Executes a request, or asks the user to approve it.
   *
   * @returns the sequence of its event, if any
   * @throws ReplyLimitExceeded if the runtime was not offered the tool, or if it changed arguments that the user approved
   */
  execute(request: Request): Promise<number | undefined>;
  /** Executes the requests that the user has decided on in the meantime. */
  retry(): Promise<number | undefined>;
  /** Whether requests wait for the user. */
  readonly areWaiting: boolean;
}

export interface ToolRequestDeps {
  turn: TurnRow;
  writer: Pick<TurnWriter, 'call' | 'ask' | 'findSent' | 'markSent'>;
  receipts: Pick<ReceiptLog, 'finish'>;
  live: Pick<LiveEvents, 'tool'>;
  logger: Pick<Logger, 'error' | 'warn'>;
  /** The sequence of the last durable event of the turn. */
  seq: () => number;
}

const NOTHING: ToolOffer = { tools: [], asked: [], signal: new AbortController().signal };

export function createToolRequests(deps: ToolRequestDeps): ToolRequests {
  const { turn, writer, live, logger, seq: lastSeq } = deps;
  let offer = NOTHING;
  let waiting: Request[] = [];
  const callOf = (id: string): ToolCall => ({
    id,
    turnId: turn.id,
    workspaceId: turn.workspace_id,
    userId: turn.user_id,
    agentId: turn.agent_id,
    conversationId: turn.conversation_id,
    signal: offer.signal,
  });

  /** Executes a call. @returns the sequence of its event, unless it was executed before */
  async function run(tool: PlatformTool, id: string, input: unknown, commit: Commit): Promise<number | undefined> {
    const shown = { id, tool: tool.name, description: tool.describe(input).slice(0, MAX_DESCRIPTION_LENGTH) };
    const { outcome, seq } = await writer.call(shown, commit);
    const { text, failed, showsMessage: message } = outcome;
    live.tool({ tool: tool.name, running: false, failed }, seq ?? lastSeq());
    requests.resolutions.push(create(ResolutionSchema, { callId: id, text, failed, message }));
    return seq;
  }

  const runWith = (tool: PlatformTool, id: string, input: unknown, outcome: ToolOutcome) =>
    run(tool, id, input, withOutcome(outcome));

  async function prepareAndRun(tool: PlatformTool, id: string, input: unknown): Promise<number | undefined> {
    live.tool({ tool: tool.name, running: true }, lastSeq());
    const commit =
      'prepare' in tool
        ? await prepareCall(tool, input, callOf(id), logger)
        : await sendCall(tool, input, callOf(id), { ...writer, receipts: deps.receipts, logger });
    return await run(tool, id, input, commit);
  }

  /** The card of a call; the outcome of a call that cannot be executed. */
  async function cardOf(
    tool: PlatformTool,
    id: string,
    input: unknown,
  ): Promise<{ card: Card } | { outcome: ToolOutcome }> {
    const call = callOf(id);
    try {
      const plan = 'prepare' in tool ? undefined : await tool.plan(input, call);
      if (plan !== undefined && 'outcome' in plan) return plan;
      return { card: approvalCard(await tool.preview(input, call)) };
    } catch (error) {
      logger.error({ err: error, tool: tool.name, turn: turn.id }, 'the preview of a tool call failed');
      return { outcome: unavailable(tool.name) };
    }
  }

  /** Whether a call was sent to another system. The user has approved it then. */
  const wasSent = async (tool: PlatformTool, id: string): Promise<boolean> =>
    !('prepare' in tool) && (await writer.findSent(id)) !== undefined;

  const requests: ToolRequests = {
    resolutions: [],
    get areWaiting() {
      return waiting.length > 0;
    },

    offer(newOffer) {
      offer = newOffer;
    },

    restart() {
      requests.resolutions = [];
      waiting = [];
    },

    async execute(request) {
      const { callId, tool: name } = request;
      const tool = offer.tools.find((one) => one.name === name);
      if (tool === undefined || callId !== storable(callId)) throw new ReplyLimitExceeded('runtime_output_invalid');
      const input = parseArguments(request.arguments);
      if (!offer.asked.includes(name) || (await wasSent(tool, callId))) return await prepareAndRun(tool, callId, input);
      const shown = await cardOf(tool, callId, input);
      if ('outcome' in shown) return await runWith(tool, callId, input, shown.outcome);
      const argumentsHash = callHash(name, input);
      const { state, seq } = await writer.ask({ id: callId, tool: name, argumentsHash, card: shown.card });
      if (state === 'changed') throw new ReplyLimitExceeded('runtime_output_invalid');
      if (state === 'approved') return await prepareAndRun(tool, callId, input);
      if (state !== 'open') return await runWith(tool, callId, input, REFUSALS[state]);
      waiting.push(request);
      return seq;
    },

    async retry() {
      const retried = waiting;
      waiting = [];
      let last: number | undefined;
      for (const request of retried) last = (await requests.execute(request)) ?? last;
      return last;
    },
  };
  return requests;
}
