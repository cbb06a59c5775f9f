import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { Outcome, type Resolution, type RunTurnRequest, type TurnEvent, TurnEventSchema } from '@uswarm/runtime-proto';
import type { RequestedTool, ToolName } from './schedule.js';
import { type AgentTurn, type EventBody, partOf, type SimulatedCall, simulatedAgent } from './simulated-agent.js';

interface RunningTurn {
  generation: number;
  log: TurnEvent[];
  committed: number;
  outcomes: Map<string, Resolution>;
  agent: ReturnType<typeof simulatedAgent>;
  hasEnded: boolean;
  isStopped: boolean;
}

/** A hanging runtime continues after this many calls have timed out. */
const HANGS_FOR = 3;

const MAX_STUCK = 100;

const unavailable = (): ConnectError => new ConnectError('', Code.Unavailable);

/**
 * A runtime that speaks the turn protocol: journal, barriers, announced calls, tool requests and resolutions. It
 * continues when the orchestrator reads the next event, so a run has one order. All its state is lost when it is
 * killed.
 */
export class SimulatedRuntime {
  /** The answer that the model got for each call. */
  readonly told = new Map<string, Resolution>();
  /** All requests that a model has asked for and that are in a journal. */
  readonly calls = new Map<string, SimulatedCall<RequestedTool>>();
  modelCalls = 0;
  /** Counts calls to the runtime's own tool. */
  searches = 0;
  /** Usage counted by the model server: from the moment at which a request is sent, also if its runtime is killed. */
  readonly counted = { promptTokens: 0, completionTokens: 0 };
  /** Counts waits for something that no orchestrator call can bring. */
  stuck = 0;
  /** Model calls and own tool calls that were repeated although their entry was stored, and calls without a token. */
  readonly violations: string[] = [];
  private readonly stored = new Set<string>();
  private instance = 1;
  private turns = new Map<string, RunningTurn>();
  private ids = 0;
  /** Set while the runtime hangs: what it has received. */
  private hanging: { received: (() => void)[]; calls: number } | undefined;
  private readonly features: readonly [readonly string[], readonly string[]];
  private readonly planOf: (request: RunTurnRequest) => readonly (readonly ToolName[])[];

  /** @param features the first runtime's, and its replacements' */
  constructor(features: readonly [readonly string[], readonly string[]], planOf: SimulatedRuntime['planOf']) {
    this.features = features;
    this.planOf = planOf;
  }

  private get ownFeatures(): readonly string[] {
    return this.features[this.instance === 1 ? 0 : 1];
  }

  kill(): void {
    this.instance += 1;
    this.turns = new Map();
    this.hanging = undefined;
  }

  /** The next calls time out. What they sent arrives later, unless the runtime is killed. */
  hang(): void {
    this.hanging ??= { received: [], calls: HANGS_FOR };
  }

  /** @throws ConnectError while the runtime hangs */
  private respond(received: () => void = () => undefined): void {
    const { hanging } = this;
    if (hanging === undefined) return received();
    hanging.received.push(received);
    hanging.calls -= 1;
    if (hanging.calls === 0) this.continueAfterHanging(hanging.received);
    throw new ConnectError('', Code.DeadlineExceeded);
  }

  private continueAfterHanging(received: readonly (() => void)[]): void {
    this.hanging = undefined;
    for (const one of received) {
      try {
        one();
      } catch (error) {
        // The answer is not awaited any more.
        if (!(error instanceof ConnectError)) throw error;
      }
    }
  }

  identify() {
    this.respond();
    return { instanceId: `instance ${this.instance}`, features: [...this.ownFeatures] };
  }

  running(): string[] {
    return [...this.turns].flatMap(([id, { hasEnded }]) => (hasEnded ? [] : [id]));
  }

  async *follow(request: RunTurnRequest, signal: AbortSignal): AsyncGenerator<TurnEvent> {
    const { instance } = this;
    this.respond();
    const turn = this.find(request);
    for (let position = Number(request.fromEvent); ; position += 1) {
      while (position >= turn.log.length) {
        if (turn.hasEnded) return;
        if (!this.continue(turn)) {
          this.stuck += 1;
          // The orchestrator would follow the turn for a minute.
          if (this.stuck > MAX_STUCK) throw new Error('the turn waits for something that no call can bring');
          throw unavailable();
        }
      }
      if (signal.aborted) throw new ConnectError('', Code.Canceled);
      yield turn.log[position]!;
      if (this.instance !== instance) throw unavailable();
      this.respond();
    }
  }

  stop(turnId: string, generation: number): void {
    this.respond(() => {
      this.known(turnId, generation).isStopped = true;
    });
  }

  advance(turnId: string, generation: number, committed: number, resolutions: readonly Resolution[]): void {
    this.respond(() => this.commit(this.known(turnId, generation), committed, resolutions));
  }

  private commit(turn: RunningTurn, committed: number, resolutions: readonly Resolution[]): void {
    turn.committed = Math.max(turn.committed, committed);
    for (const resolution of resolutions) {
      if (!turn.outcomes.has(resolution.callId)) turn.outcomes.set(resolution.callId, resolution);
    }
    for (const { event } of turn.log.slice(0, committed))
      if (event.case === 'entry') this.stored.add(partOf(event.value));
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
      this.commit(turn, Number(fromEvent), request.resolutions);
      return turn;
    }
    if (fromEvent > 0n) throw new ConnectError('', Code.NotFound);
    const turn: RunningTurn = {
      generation,
      log: [],
      committed: 0,
      outcomes: new Map(),
      agent: simulatedAgent(
        request,
        this.planOf(request),
        this.ownFeatures,
        this.turnOf(() => turn),
      ),
      hasEnded: false,
      isStopped: false,
    };
    this.commit(turn, 0, request.resolutions);
    this.turns.set(turnId, turn);
    return turn;
  }

  private turnOf(turn: () => RunningTurn): AgentTurn {
    return {
      committed: () => turn().committed >= turn().log.length,
      outcome: (callId) => turn().outcomes.get(callId),
      newCallId: () => `call-${(this.ids += 1)}`,
      callModel: (answer, { promptTokens, completionTokens }) => {
        if (this.stored.has(answer)) this.violations.push(`the model wrote “${answer}” twice`);
        this.modelCalls += 1;
        this.counted.promptTokens += promptTokens;
        this.counted.completionTokens += completionTokens;
      },
      asked: (call) => void this.calls.set(call.id, call),
      search: ({ id }, token) => {
        this.searches += 1;
        if (token === '') this.violations.push(`${id} was called without a token`);
        if (this.stored.has(id)) this.violations.push(`${id} was called again after its result was stored`);
      },
      tell: (callId, outcome) => void this.told.set(callId, outcome),
    };
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
}
