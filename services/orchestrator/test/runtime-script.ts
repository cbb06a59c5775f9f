import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  AgentActivity,
  EntryKind,
  Outcome,
  type RunTurnRequest,
  ToolState,
  type TurnEvent,
  TurnEventSchema,
} from '@uswarm/runtime-proto';
import type { RuntimeClient } from '../src/runtimes/runtime-client.js';

export type EventInit = NonNullable<MessageInitShape<typeof TurnEventSchema>['event']>;
/** One `runTurn` call: its events, then the end of the stream or an error. */
export interface Call {
  events?: EventInit[];
  error?: ConnectError;
  /** Event numbers, from 1 within the call, at which the runtime waits for a commit. */
  barriers?: number[];
  atTheEnd?: () => void | Promise<void>;
}

export const failure = (code: Code): Call => ({ error: new ConnectError('', code) });
export const chunk = (text: string): EventInit => ({ case: 'chunk', value: { text } });
export const thinking: EventInit = { case: 'activity', value: { activity: AgentActivity.THINKING } };
export const done = (text = ''): EventInit => ({ case: 'done', value: { outcome: Outcome.COMPLETED, text } });
export const ANSWERED: Call = { events: [done('42')] };
export const used: EventInit = {
  case: 'usage',
  value: { step: 1, provider: 'p', model: 'm', promptTokens: 6n, completionTokens: 4n },
};
export const entry = (number: number, kind = EntryKind.STEP, body = '{}'): EventInit => ({
  case: 'entry',
  value: { number, kind, body },
});
export const tool: EventInit = { case: 'tool', value: { callId: 'c', tool: 'search', state: ToolState.RUNNING } };
export const stopped: EventInit = { case: 'done', value: { outcome: Outcome.STOPPED } };

export interface ScriptedRuntimeOptions {
  /** Optional protocol parts that the runtime implements. */
  features?: string[];
  /** Called before the runtime identifies itself; may throw. */
  onIdentify?: () => void;
  /** Called when a turn is stopped; may throw. */
  onStop?: () => void;
}

/** A runtime whose calls follow the script, and what it was told. */
export function createScriptedRuntime(script: readonly Call[], options: ScriptedRuntimeOptions = {}) {
  const { features = ['journal.1', 'tools.1', 'journal.2', 'tool-grants.1'], onIdentify, onStop } = options;
  const requests: RunTurnRequest[] = [];
  const told = { requests, stops: [] as number[], commits: [] as number[], instanceId: 'i' };

  async function* runTurn(request: RunTurnRequest): AsyncGenerator<TurnEvent> {
    const call = script[requests.push(request) - 1];
    if (call === undefined) throw new Error('the script has no further call');
    let number = request.fromEvent;
    for (const [index, event] of (call.events ?? []).entries()) {
      const barrier = call.barriers?.includes(index + 1) ?? false;
      yield create(TurnEventSchema, { number: (number += 1n), event, barrier });
    }
    await call.atTheEnd?.();
    if (call.error !== undefined) throw call.error;
  }

  const client: RuntimeClient = {
    async identify() {
      onIdentify?.();
      return { instanceId: told.instanceId, features };
    },
    runTurn: (_to, request) => runTurn(request),
    status: async () => ({ busy: false, turns: [], idleMs: 0 }),
    async stopTurn(_to, { generation }) {
      told.stops.push(generation);
      onStop?.();
    },
    async advance({ committedThrough }) {
      told.commits.push(Number(committedThrough));
    },
    renewToolToken: async () => undefined,
    summarize: () => Promise.reject(new ConnectError('', Code.Unimplemented)),
    forget: () => undefined,
    close: () => undefined,
  };
  return {
    client,
    told,
    positions: () => requests.map(({ generation, fromEvent }) => [generation, Number(fromEvent)]),
  };
}
