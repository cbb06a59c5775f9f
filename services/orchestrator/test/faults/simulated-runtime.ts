import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  EntryKind,
  Outcome,
  type Resolution,
  type RunTurnRequest,
  type TurnEvent,
  TurnEventSchema,
} from '@uswarm/runtime-proto';
import type { ToolName } from './schedule.js';

type EventBody = NonNullable<MessageInitShape<typeof TurnEventSchema>['event']>;
/** `until`: the agent continues when it returns true. */
type Emitted = { event: EventBody; barrier?: boolean } | { until: () => boolean };

export interface SimulatedCall {
  id: string;
  tool: ToolName;
}
/** The body of an entry. */
type Entry = { text: string; calls: SimulatedCall[] } | { callId: string };

interface RunningTurn {
  generation: number;
  log: TurnEvent[];
  committed: number;
  outcomes: Map<string, Resolution>;
  agent: Generator<Emitted, void>;
  hasEnded: boolean;
  isStopped: boolean;
}

/** The tokens of a model call, and what the runtime estimates before it. */
const USAGE = { promptTokens: 100, completionTokens: 7 };
const ESTIMATE = { promptTokens: 130n, maxOutputTokens: 40n };

const unavailable = (): ConnectError => new ConnectError('', Code.Unavailable);

/** The arguments of a call. They are the same in all generations. */
const argumentsOf = ({ id, tool }: SimulatedCall): string => JSON.stringify({ what: `${tool} ${id}` });

/**
 * A runtime that speaks the protocol of turns: journal, barriers, tool requests and resolutions. It continues when the
 * orchestrator reads the next event, so a run has one order. All its state is lost when it is killed.
 */
export class SimulatedRuntime {
  instance = 1;
  /** What the model was told about each call. */
  readonly told = new Map<string, Resolution>();
  /** All calls that a model has asked for and that are in a journal, with the id of their turn. */
  readonly calls = new Map<string, SimulatedCall>();
  modelCalls = 0;
  /** What the model server has counted: from the moment at which a request is sent, also if its runtime is killed. */
  readonly counted = { promptTokens: 0, completionTokens: 0 };
  /** How often the runtime waited for something that no call of the orchestrator can bring. */
  stuck = 0;
  private turns = new Map<string, RunningTurn>();
  private ids = 0;
  private readonly planOf: (request: RunTurnRequest) => readonly (readonly ToolName[])[];

  constructor(planOf: (request: RunTurnRequest) => readonly (readonly ToolName[])[]) {
    this.planOf = planOf;
  }

  kill(): void {
    this.instance += 1;
    this.turns = new Map();
  }

  /** Turns that have not ended. */
  running(): string[] {
    return [...this.turns].flatMap(([id, { hasEnded }]) => (hasEnded ? [] : [id]));
  }

  async *follow(request: RunTurnRequest, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    const { instance } = this;
    const turn = this.find(request);
    for (let position = Number(request.fromEvent); ; position += 1) {
      while (position >= turn.log.length) {
        if (turn.hasEnded) return;
        if (!this.continue(turn)) {
          this.stuck += 1;
          throw unavailable();
        }
      }
      if (signal.aborted) throw new ConnectError('', Code.Canceled);
      yield turn.log[position]!;
      if (this.instance !== instance) throw unavailable();
    }
  }

  stop(turnId: string, generation: number): void {
    this.known(turnId, generation).isStopped = true;
  }

  advance(turnId: string, generation: number, committed: number, resolutions: readonly Resolution[]): void {
    const turn = this.known(turnId, generation);
    turn.committed = Math.max(turn.committed, committed);
    this.resolve(turn, resolutions);
  }

  private resolve(turn: RunningTurn, resolutions: readonly Resolution[]): void {
    for (const resolution of resolutions) {
      if (!turn.outcomes.has(resolution.callId)) turn.outcomes.set(resolution.callId, resolution);
    }
  }

  private known(turnId: string, generation: number): RunningTurn {
    const turn = this.turns.get(turnId);
    if (turn === undefined || generation > turn.generation) throw new ConnectError('', Code.NotFound);
    if (generation < turn.generation) throw new ConnectError('', Code.FailedPrecondition);
    return turn;
  }

  private find(request: RunTurnRequest): RunningTurn {
    const { turnId, generation, fromEvent } = request;
    const known = this.turns.get(turnId);
    if (known !== undefined && known.generation >= generation) {
      const turn = this.known(turnId, generation);
      turn.committed = Math.max(turn.committed, Number(fromEvent));
      this.resolve(turn, request.resolutions);
      return turn;
    }
    if (fromEvent > 0n) throw new ConnectError('', Code.NotFound);
    const outcomes = new Map<string, Resolution>();
    const turn: RunningTurn = {
      generation,
      log: [],
      committed: 0,
      outcomes,
      agent: this.agent(request, (): RunningTurn => turn),
      hasEnded: false,
      isStopped: false,
    };
    this.resolve(turn, request.resolutions);
    this.turns.set(turnId, turn);
    return turn;
  }

  /** Appends the next event. @returns false if the agent waits */
  private continue(turn: RunningTurn): boolean {
    const append = (event: EventBody, barrier = false): void => {
      const number = BigInt(turn.log.length + 1);
      turn.log.push(create(TurnEventSchema, { number, event, barrier }));
    };
    if (turn.isStopped) {
      turn.hasEnded = true;
      append({ case: 'done', value: { outcome: Outcome.STOPPED } });
      return true;
    }
    const { value, done } = turn.agent.next();
    if (done === true) {
      turn.hasEnded = true;
      append({ case: 'done', value: { outcome: Outcome.COMPLETED } });
    } else if ('until' in value) return value.until();
    else append(value.event, value.barrier);
    return true;
  }

  private *until(isReached: () => boolean): Generator<Emitted, void> {
    while (!isReached()) yield { until: isReached };
  }

  /** A model call: announced, and counted by the model server as soon as it is sent. */
  private *callModel(answer: string, step: number, committed: () => boolean): Generator<Emitted, void> {
    const call = { step, provider: 'simulated', model: 'simulated' };
    yield { event: { case: 'attempt', value: { ...call, ...ESTIMATE } }, barrier: true };
    yield* this.until(committed);
    this.modelCalls += 1;
    this.counted.promptTokens += USAGE.promptTokens;
    this.counted.completionTokens += USAGE.completionTokens;
    yield { event: { case: 'chunk', value: { text: answer } } };
    const [promptTokens, completionTokens] = [BigInt(USAGE.promptTokens), BigInt(USAGE.completionTokens)];
    yield { event: { case: 'usage', value: { ...call, promptTokens, completionTokens } } };
  }

  private *agent(request: RunTurnRequest, turn: () => RunningTurn): Generator<Emitted, void> {
    const journal = request.journal.map(({ body }) => JSON.parse(body) as Entry);
    let number = journal.length;
    const committed = () => turn().committed >= turn().log.length;
    const entry = (kind: EntryKind, body: Entry, barrier: boolean): Emitted => ({
      event: { case: 'entry', value: { number: (number += 1), kind, body: JSON.stringify(body) } },
      barrier,
    });
    const done = new Set(journal.flatMap((part) => ('callId' in part ? [part.callId] : [])));
    const steps = journal.flatMap((part) => ('calls' in part ? [part] : []));
    const shown = request.journal.slice(request.shownEntries).map(({ body }) => JSON.parse(body) as Entry);
    const text = shown.map((part) => ('text' in part ? part.text : '')).join('');
    if (text !== '') yield { event: { case: 'chunk', value: { text } } };
    let usageStep = request.firstStep - 1;
    const callModel = (answer: string) => this.callModel(answer, (usageStep += 1), committed);
    for (const [index, tools] of this.planOf(request).entries()) {
      let step = steps[index];
      if (step === undefined) {
        const answer = `Step ${index}. `;
        yield* callModel(answer);
        // Ids of a step that was not committed are not known to the next generation.
        const calls = tools.map((tool) => ({ id: `call-${(this.ids += 1)}`, tool }));
        step = { text: answer, calls };
        yield entry(EntryKind.STEP, step, true);
        yield* this.until(committed);
      }
      const open = step.calls.filter(({ id }) => !done.has(id));
      for (const call of open) {
        this.calls.set(call.id, call);
        const { id: callId, tool } = call;
        yield { event: { case: 'request', value: { callId, tool, arguments: argumentsOf(call) } } };
      }
      if (open.length > 0) yield { event: { case: 'waiting', value: {} } };
      for (const [position, { id }] of open.entries()) {
        yield* this.until(() => turn().outcomes.has(id));
        this.told.set(id, turn().outcomes.get(id)!);
        yield entry(EntryKind.RESULT, { callId: id }, position === open.length - 1);
      }
      if (open.length > 0) yield* this.until(committed);
    }
    yield* callModel('The end.');
  }
}
