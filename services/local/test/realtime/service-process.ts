import type { Program } from '../program.js';
import { childrenOf, killIfAlive, signalIfAlive } from '../processes.js';
import { listening } from '../separate.js';

/** A service that is started again at the same ports. */
export interface ServiceProcess {
  url: string;
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  output(): string;
  /** Kills the processes that it has started. */
  killChildren(): void;
  /** Kills it and its runtimes. It does not start again. */
  stop(): Promise<void>;
}

/** @param message what the service prints when it is ready */
export function createServiceProcess(start: () => Program, url: string, message: string): ServiceProcess {
  let program: Program | undefined;
  let isStopped = false;
  /** Overlapping faults start a service only once: a second process would find its ports in use. */
  let starting: Promise<void> | undefined;
  const signal = (name: NodeJS.Signals): void => {
    if (program === undefined) return;
    try {
      process.kill(program.pid, name);
    } catch (cause) {
      throw new Error(`the service at ${url} has ended:\n${program.output().slice(-5_000)}`, { cause });
    }
  };
  async function kill(): Promise<void> {
    await starting;
    const ending = program;
    program = undefined;
    await ending?.stop('SIGKILL');
  }
  return {
    url,
    async start() {
      if (program !== undefined || isStopped) return;
      starting ??= listening(start(), message)
        .then((started) => void (program = started))
        .finally(() => (starting = undefined));
      await starting;
    },
    kill,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    output: () => program?.output() ?? '',
    killChildren() {
      for (const { pid } of program === undefined ? [] : childrenOf(program.pid)) killIfAlive(pid);
    },
    async stop() {
      isStopped = true;
      await starting?.catch(() => undefined);
      // A runtime that has just started is in no table yet.
      const pid = program?.pid ?? 0;
      if (pid > 0) signalIfAlive(pid, 'SIGSTOP');
      const children = pid > 0 ? childrenOf(pid) : [];
      await kill();
      for (const child of children) killIfAlive(child.pid);
    },
  };
}
