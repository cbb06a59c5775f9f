import { setTimeout as sleep } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { type Clock, inSpan, type Logger } from '@uswarm/service-kit';
import type { LeasedWork } from '../../work/work.store.js';
import type { WorkResult } from '../../work/work-queue.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { RuntimeClient, RuntimeTarget } from '../runtimes/runtime-client.js';
import type { RuntimeStore } from '../runtimes/runtimes.store.js';
import { createLiveEvents } from './live-events.js';
import { createReply, type Reply } from './reply.js';
import { boundedHistory, HISTORY_MESSAGES, turnRequest } from './turn-request.js';
import { createTurnWriter, LeaseLost, type TurnWriter, type TurnWriterDeps } from './turn-writer.js';
import type { TurnRow, TurnStore } from './turns.store.js';

export interface TurnRunnerDeps extends TurnWriterDeps {
  turns: TurnStore;
  agents: Pick<AgentStore, 'members' | 'setActivity'>;
  runtimes: Pick<RuntimeStore, 'get'>;
  client: RuntimeClient;
  publish: Parameters<typeof createLiveEvents>[0];
  /** Has the lifecycle look at the runtime now. */
  hurryRuntime: (workspaceId: string) => Promise<void>;
  clock: Clock;
  logger: Logger;
}

/** A lost turn starts again once. */
const GENERATIONS = 2;
/** A turn that no runtime became ready for in this time fails. */
const READY_WITHIN_MS = 10 * 60_000;
/** Without any event for this long, a turn whose runtime cannot be reached fails. */
const REACHABLE_WITHIN_MS = 60_000;
const RETRY_MS = 250;
const NOT_READY_MS = 2_000;
const TOOLS = ['web_search_tool'];

/** One attempt of this process at a turn, with what it needs all along. */
interface Run {
  turn: TurnRow;
  writer: TurnWriter;
  reply: Reply;
  signal: AbortSignal;
}

/** Takes a turn through to its end, whatever dies on the way. */
export function createTurnRunner(deps: TurnRunnerDeps) {
  const { turns, agents, runtimes, client, clock, logger } = deps;

  async function target(workspaceId: string): Promise<RuntimeTarget | undefined> {
    const runtime = await runtimes.get(workspaceId);
    if (runtime?.phase !== 'Ready' || runtime.address === null) return undefined;
    return { workspaceId, address: runtime.address };
  }

  async function request({ turn, reply }: Run) {
    const [members, newestFirst, firstStep] = await Promise.all([
      agents.members(turn.workspace_id),
      turns.history(turn, HISTORY_MESSAGES),
      turns.nextStep(turn.id),
    ]);
    const history = boundedHistory(newestFirst);
    const { generation, events: fromEvent } = reply;
    return turnRequest({ turn, generation, members, history, tools: TOOLS, firstStep, fromEvent });
  }

  /** The runtime has nothing of this turn any more. @returns false where it was lost once before. */
  async function startAnew({ writer, reply, turn }: Run): Promise<boolean> {
    const generation = await writer.nextGeneration(GENERATIONS);
    turn.runtime_instance = null;
    if (generation === undefined) return false;
    logger.info({ turn: turn.id, generation }, 'the runtime lost the turn; it starts again');
    reply.restart(generation);
    return true;
  }

  /** Follows the turn until it is done. @returns 'lost' where the runtime must start it anew. */
  async function follow(run: Run, to: RuntimeTarget): Promise<'done' | 'lost' | 'interrupted'> {
    const { turn, writer, reply, signal } = run;
    const { instanceId } = await client.identify(to, signal);
    if (turn.runtime_instance !== null && turn.runtime_instance !== instanceId) return 'lost';
    if (turn.runtime_instance === null) {
      await writer.setInstance(instanceId);
      turn.runtime_instance = instanceId;
    }
    try {
      for await (const event of client.runTurn(to, await request(run), signal)) {
        if (await reply.apply(event)) return 'done';
      }
      return 'interrupted';
    } catch (error) {
      if (ConnectError.from(error).code === Code.NotFound) return 'lost';
      throw error;
    }
  }

  async function fail({ reply }: Run, errorCode: string, sentence: string): Promise<void> {
    const incomplete = reply.text !== '';
    await reply.finish({
      turnStatus: 'failed',
      messageStatus: incomplete ? 'incomplete' : 'failed',
      text: incomplete ? reply.text : sentence,
      errorCode,
    });
  }

  async function runToEnd(run: Run): Promise<void> {
    const { turn, reply, signal } = run;
    let progress = { at: clock.now().getTime(), events: reply.events };
    for (;;) {
      signal.throwIfAborted();
      const to = await target(turn.workspace_id);
      const outcome = to === undefined ? 'interrupted' : await attempt(run, to);
      if (outcome === 'done') return;
      if (outcome === 'lost') {
        if (await startAnew(run)) continue;
        return fail(run, 'runtime_lost', 'The answer was lost twice. Please ask again.');
      }
      const now = clock.now().getTime();
      if (reply.events > progress.events) progress = { at: now, events: reply.events };
      if (now - progress.at > REACHABLE_WITHIN_MS) {
        return fail(run, 'runtime_unreachable', 'The agents cannot be reached. Please ask again.');
      }
      await deps.hurryRuntime(turn.workspace_id);
      await sleep(RETRY_MS, undefined, { signal });
    }
  }

  /** As `follow`; a runtime that cannot be reached is an interruption, a superseded turn is not ours. */
  async function attempt(run: Run, to: RuntimeTarget) {
    try {
      return await follow(run, to);
    } catch (error) {
      if (run.signal.aborted || !(error instanceof ConnectError)) throw error;
      if (error.code === Code.FailedPrecondition) throw new LeaseLost();
      logger.debug({ turn: run.turn.id, code: Code[error.code] }, 'the runtime was interrupted');
      return 'interrupted' as const;
    }
  }

  async function waitForRuntime(turn: TurnRow, writer: TurnWriter): Promise<WorkResult> {
    if (clock.now().getTime() - turn.created_at.getTime() > READY_WITHIN_MS) {
      await writer.abandon('runtime_not_ready');
      return { done: true };
    }
    await deps.hurryRuntime(turn.workspace_id);
    return { againInMs: NOT_READY_MS };
  }

  return async (work: LeasedWork, signal: AbortSignal): Promise<WorkResult> => {
    const turn = await turns.get(work.subjectId);
    if (turn === undefined || (turn.status !== 'queued' && turn.status !== 'running')) return { done: true };
    const writer = createTurnWriter(deps, turn, work);
    if (turn.status === 'queued' && (await target(turn.workspace_id)) === undefined) return waitForRuntime(turn, writer);
    const live = createLiveEvents(deps.publish, {
      workspaceId: turn.workspace_id,
      conversationId: turn.conversation_id,
      agentId: turn.agent_id,
    });
    const begun = await writer.begin();
    const setActivity = (activity: Parameters<AgentStore['setActivity']>[1]) => agents.setActivity(turn.agent_id, activity);
    const reply = createReply({ turn, writer, live, setActivity }, begun);
    try {
      await inSpan('turn', { attributes: { 'uswarm.turn': turn.id } }, () => runToEnd({ turn, writer, reply, signal }));
      return { done: true };
    } catch (error) {
      // The lease is somebody else's, or this process stops: the next holder goes on from here.
      if (error instanceof LeaseLost || signal.aborted) return { againInMs: 0 };
      throw error;
    }
  };
}
