import { BenchError } from '../settings.js';

/** A turn as the model server sees it. `results`: the number of tool results in the prompt. */
export interface ModelObservation {
  /** A request arrived; its answer was sent completely; its connection was closed before. */
  what: 'asked' | 'answered' | 'cut';
  at: number;
  turn: string;
  results: number;
}

/** The tool worked from `from` to `at`. */
export interface ToolObservation {
  what: 'searched';
  from: number;
  at: number;
  query: string;
}

/** Seen by servers outside uswarm. */
export type Observation = ModelObservation | ToolObservation;

/** Monotonic milliseconds, which all processes on a machine share on Linux. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export interface Observations {
  all: readonly Observation[];
  add(observation: Observation): void;
  /**
   * Resolves with the first such observation, including past ones since `after`.
   *
   * @throws BenchError after a minute
   */
  saw(what: ModelObservation['what'], turn: string, results?: number, after?: number): Promise<ModelObservation>;
}

const DEADLINE_MS = 60_000;

export function createObservations(deadlineMs = DEADLINE_MS): Observations {
  const all: Observation[] = [];
  const waiting = new Set<(observation: Observation) => void>();
  return {
    all,
    add(observation) {
      all.push(observation);
      for (const check of waiting) check(observation);
    },
    async saw(what, turn, results, after = 0) {
      const seen = Promise.withResolvers<ModelObservation>();
      const check = (each: Observation): void => {
        if (each.what !== what || !isOfModel(each) || each.turn !== turn || each.at < after) return;
        if (results === undefined || each.results === results) seen.resolve(each);
      };
      for (const each of all) check(each);
      waiting.add(check);
      const late = setTimeout(
        () => seen.reject(new BenchError(`The model server did not see "${what}" of ${turn} in time.`)),
        deadlineMs,
      );
      try {
        return await seen.promise;
      } finally {
        clearTimeout(late);
        waiting.delete(check);
      }
    },
  };
}

const isOfModel = (observation: Observation): observation is ModelObservation => observation.what !== 'searched';
const isOfTool = (observation: Observation): observation is ToolObservation => observation.what === 'searched';

/** Milliseconds per step with a tool: from an answer's end to the next request, without tool time. */
export function stepTimes(all: readonly Observation[]): number[] {
  const ofModel = all.filter(isOfModel);
  const calls = new Map(all.filter(isOfTool).map((call) => [call.query, call.at - call.from]));
  return ofModel
    .filter(({ what }) => what === 'answered')
    .flatMap(({ turn, results, at }) => {
      const next = ofModel.find((each) => each.what === 'asked' && each.turn === turn && each.results === results + 1);
      const toolMs = calls.get(`${turn} ${results}`);
      return next === undefined || toolMs === undefined ? [] : [next.at - at - toolMs];
    });
}

/**
 * Counts a turn's model and tool calls that were repeated although they were completed. `interrupted`: the model calls
 * that a kill interrupted; each is repeated once.
 */
export function repeatedCalls(all: readonly Observation[], turn: string, interrupted: number): number {
  const asked = all.filter(isOfModel).filter((each) => each.what === 'asked' && each.turn === turn);
  const queries = all.filter(isOfTool).flatMap(({ query }) => (query.startsWith(`${turn} `) ? [query] : []));
  const repeated = asked.length - new Set(asked.map(({ results }) => results)).size - interrupted;
  return repeated + queries.length - new Set(queries).size;
}
