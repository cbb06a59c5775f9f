import { setTimeout as sleep } from 'node:timers/promises';
import { LocalError, type RunningSearxng } from '@uswarm/dev-servers';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import {
  createWebSearch,
  type SearchOptions,
  shownEndpoint,
  type WebSearch,
  WebSearchError,
} from '@uswarm/searxng-client';
import type { Settings } from './settings.js';

/** Milliseconds that a search waits for a SearXNG that is being installed or started. */
const WAIT_MS = 180_000;
/** Milliseconds between the reports while a search waits. */
const REPORT_MS = 10_000;

const OTHER_SEARXNG = 'or set SVC_SEARCH_ENDPOINT to the address of a SearXNG';
const TURNED_OFF = `Search is turned off. Start uswarm without --no-search, ${OTHER_SEARXNG}.`;

/** Local mode searches with a SearXNG in the background, with the user's own, or not at all. */
export interface LocalSearch {
  webSearch: WebSearch;
  /** The current state, for the banner and the page. */
  describe(): string;
  /** Installs and starts SearXNG in the background. */
  begin(): void;
  /** Ends SearXNG, also during its installation. */
  close(): Promise<void>;
}

export interface LocalSearchDeps {
  search: Settings['search'];
  /** For the user's own SearXNG, which may be on another machine. */
  outgoing?: Pick<Outgoing, 'request'>;
  /** Called before everything else starts. @throws LocalError if this machine cannot run SearXNG */
  findPython: () => Promise<string>;
  /** Installs and starts SearXNG. @throws LocalError, the signal's reason */
  start: (python: string, signal: AbortSignal) => Promise<RunningSearxng>;
  /** Called with one line about the installation and the start. */
  progress: (line: string) => void;
  waitMs?: number;
  reportMs?: number;
}

export async function createLocalSearch(deps: LocalSearchDeps): Promise<LocalSearch> {
  const { search } = deps;
  if (search.kind === 'searxng') {
    try {
      return backgroundSearch(await deps.findPython(), deps);
    } catch (error) {
      return withoutSearxng(notSetUp(error));
    }
  }
  const endpoint = search.kind === 'own' ? search.endpoint : '';
  return {
    ...withoutSearxng(search.kind === 'own' ? shownEndpoint(endpoint) : 'off'),
    webSearch: createWebSearch({ endpoint, outgoing: deps.outgoing, notConfiguredHint: TURNED_OFF }),
  };
}

function withoutSearxng(description: string): LocalSearch {
  return {
    webSearch: createWebSearch({ endpoint: '', notConfiguredHint: description }),
    describe: () => description,
    begin: () => undefined,
    close: () => Promise.resolve(),
  };
}

type State = { kind: 'starting' } | { kind: 'ready'; endpoint: string } | { kind: 'failed'; reason: string };

function backgroundSearch(
  python: string,
  {
    start,
    progress,
    waitMs = WAIT_MS,
    reportMs = REPORT_MS,
  }: Pick<LocalSearchDeps, 'start' | 'progress' | 'waitMs' | 'reportMs'>,
): LocalSearch {
  const stop = new AbortController();
  let state: State = { kind: 'starting' };
  let searxng: RunningSearxng | undefined;
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
  let run: Promise<void> | undefined;

  async function install(): Promise<void> {
    const started = performance.now();
    try {
      searxng = await start(python, stop.signal);
      state = { kind: 'ready', endpoint: searxng.endpoint };
      progress(`SearXNG is ready (${((performance.now() - started) / 1_000).toFixed(1)} s): agents can search the web`);
    } catch (error) {
      if (stop.signal.aborted) return;
      state = { kind: 'failed', reason: notSetUp(error) };
      progress(state.reason);
    } finally {
      settle();
    }
  }

  /** Waits until SearXNG is ready or has failed. @throws WebSearchError if it takes too long */
  async function ended({ signal, onWait }: SearchOptions): Promise<void> {
    const end = new AbortController();
    const reports = onWait === undefined ? undefined : setInterval(onWait, reportMs);
    const signals = [end.signal, ...(signal === undefined ? [] : [signal])];
    const late = sleep(waitMs, true, { signal: AbortSignal.any(signals) }).catch(() => true);
    const isLate = await Promise.race([settled.then(() => false), late]);
    end.abort();
    clearInterval(reports);
    if (signal?.aborted === true) {
      throw new WebSearchError('cancelled', 'the search was cancelled', { cause: signal.reason });
    }
    if (isLate) {
      const text = 'SearXNG is still being installed; npm start prints its progress. Ask again in a minute.';
      throw new WebSearchError('unreachable', text);
    }
  }

  return {
    webSearch: {
      async search(args, options = {}) {
        if (state.kind === 'starting') await ended(options);
        const found: State = state;
        if (found.kind === 'ready') return createWebSearch({ endpoint: found.endpoint }).search(args, options);
        const hint = found.kind === 'failed' ? found.reason : 'uswarm is stopping.';
        return createWebSearch({ endpoint: '', notConfiguredHint: hint }).search(args, options);
      },
    },
    describe() {
      if (state.kind === 'ready') return state.endpoint;
      return state.kind === 'failed' ? state.reason : 'SearXNG, starting in the background';
    },
    begin() {
      // A start can still be going on when Ctrl-C has closed everything.
      if (!stop.signal.aborted) run ??= install();
    },
    async close() {
      stop.abort();
      settle();
      await run;
      await searxng?.close();
    },
  };
}

/** One sentence, because the agent's answer contains it. */
function notSetUp(error: unknown): string {
  const problem = error instanceof LocalError ? error.message : `SearXNG could not be started: ${String(error)}`;
  const [reason = ''] = problem.split('\n');
  return `Search is not set up: ${reason.replace(/\.$/, '')}; then start again, ${OTHER_SEARXNG}.`;
}
