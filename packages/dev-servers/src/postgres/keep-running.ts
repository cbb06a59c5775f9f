import { type ProcessIdentity, stillRuns } from '../processes.js';

const LOOK_MS = 1_000;
const RETRY_MS = 5_000;

export interface KeptServer {
  identity: ProcessIdentity;
}

export interface KeepRunningOptions {
  server: KeptServer;
  /** Starts the server again, where its clients expect it. */
  launch: () => Promise<ProcessIdentity>;
  onProgress: (line: string) => void;
}

/**
 * Starts a server again that has ended by itself, such as Postgres on a full disk, until it runs.
 *
 * @returns ends that, after a start that is in progress
 */
export function keepRunning({ server, launch, onProgress }: KeepRunningOptions): () => Promise<void> {
  let isClosed = false;
  let attempt: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  let problem = '';

  const say = (line: string): void => {
    if (line !== problem) onProgress(line);
    problem = line;
  };
  /** @returns milliseconds until the next check */
  async function look(): Promise<number> {
    if (stillRuns(server.identity)) return LOOK_MS;
    if (problem === '') say('Postgres has ended; starting it again');
    try {
      server.identity = await launch();
      say('Postgres runs again');
      problem = '';
      return LOOK_MS;
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
      return RETRY_MS;
    }
  }
  const schedule = (ms: number): void => {
    timer = setTimeout(() => (attempt = lookAndSchedule()), ms);
    timer.unref();
  };
  async function lookAndSchedule(): Promise<void> {
    const nextMs = await look();
    if (!isClosed) schedule(nextMs);
  }
  schedule(LOOK_MS);
  return async () => {
    isClosed = true;
    clearTimeout(timer);
    await attempt;
  };
}
