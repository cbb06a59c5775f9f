import { setTimeout as sleep } from 'node:timers/promises';
import type { Ask, ModelName } from './answers.js';

/** Answers before the first measurement, which load code and open connections. */
const WARM_UP = 20;

/** Milliseconds from the request to the first text. */
async function firstText(ask: Ask, model: ModelName): Promise<number> {
  const started = performance.now();
  let first: number | undefined;
  for await (const _ of ask(model)) first ??= performance.now() - started;
  return first ?? Number.NaN;
}

/** Times to the first text in milliseconds; the sides answer alternately, one answer at a time. */
export async function firstTexts<Side extends string>(
  sides: Record<Side, Ask>,
  model: ModelName,
  answers: number,
): Promise<Record<Side, number[]>> {
  const names = Object.keys(sides) as Side[];
  const times = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Side, number[]>;
  for (let n = -WARM_UP; n < answers; n += 1) {
    for (const name of n % 2 === 0 ? names : names.toReversed()) {
      const time = await firstText(sides[name], model);
      if (n >= 0) times[name].push(time);
    }
  }
  return times;
}

export interface ThroughputJob {
  model: ModelName;
  /** Answers that are streamed concurrently; each is followed by the next. */
  concurrent: number;
  seconds: number;
  warmUpSeconds: number;
}

/** Characters per second that arrive. */
export async function throughput(ask: Ask, { model, concurrent, seconds, warmUpSeconds }: ThroughputJob) {
  let characters = 0;
  let ended = false;
  const stream = async (): Promise<void> => {
    while (!ended) {
      for await (const piece of ask(model)) characters += piece.length;
    }
  };
  const streams = Promise.all(Array.from({ length: concurrent }, stream));
  const failed = new AbortController();
  streams.catch((error: unknown) => failed.abort(error));
  const passed = (duration: number): Promise<void> => sleep(duration * 1_000, undefined, { signal: failed.signal });
  try {
    await passed(warmUpSeconds);
    const [before, started] = [characters, performance.now()];
    await passed(seconds);
    return ((characters - before) / (performance.now() - started)) * 1_000;
  } catch (error) {
    throw failed.signal.aborted ? failed.signal.reason : error;
  } finally {
    ended = true;
    if (!failed.signal.aborted) await streams;
  }
}
