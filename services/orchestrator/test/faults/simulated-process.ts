import { ConnectError, Code } from '@connectrpc/connect';
import type { WithTransaction } from '../../src/platform/database/database.js';
import type { RuntimeClient } from '../../src/runtimes/runtime-client.js';
import type { SimulatedRuntime } from './simulated-runtime.js';

/** A killed process's calls reach nothing any more. */
export class Killed extends Error {
  override name = 'Killed';
}

/** `transaction`: within one. `committed`: between a commit and its acknowledgement. */
export type Place = 'database' | 'transaction' | 'committed' | 'runtime' | 'provider';

/** An orchestrator that runs one job. It can be killed or hang wherever it calls another process. */
export class SimulatedProcess {
  isDead = false;
  readonly hung = Promise.withResolvers<'hung'>();
  /** Aborted when the process has noticed that its lease is lost. */
  readonly stopping = new AbortController();
  private thawed: PromiseWithResolvers<void> | undefined;
  private readonly reached: (process: SimulatedProcess, place: Place) => Promise<void>;

  /** @param reached may throw, or kill this process */
  constructor(reached: (process: SimulatedProcess, place: Place) => Promise<void>) {
    this.reached = reached;
  }

  async point(place: Place): Promise<void> {
    if (this.isDead) throw new Killed();
    await this.reached(this, place);
    if (this.isDead) throw new Killed();
  }

  async hang(): Promise<void> {
    this.thawed = Promise.withResolvers();
    this.hung.resolve('hung');
    await this.thawed.promise;
  }

  thaw(): void {
    this.thawed?.resolve();
  }

  withTransaction =
    (real: WithTransaction): WithTransaction =>
    async (run) => {
      await this.point('database');
      const result = await real(async (tx) => {
        const value = await run(tx);
        await this.point('transaction');
        return value;
      });
      await this.point('committed');
      return result;
    };

  withStatement =
    (real: WithTransaction): WithTransaction =>
    async (run) => {
      await this.point('database');
      const result = await real(run);
      await this.point('committed');
      return result;
    };

  /** Adds a point before each call to these methods. With a second parameter, they read within a transaction. */
  reads<Store extends object>(store: Store, ...names: (keyof Store)[]): Store {
    const changed = { ...store };
    for (const name of names) {
      const method = store[name] as (...parameters: unknown[]) => Promise<unknown>;
      changed[name] = (async (...parameters: unknown[]) => {
        await this.point(parameters[1] === undefined ? 'database' : 'transaction');
        return method(...parameters);
      }) as Store[typeof name];
    }
    return changed;
  }

  client(runtime: SimulatedRuntime): RuntimeClient {
    const called = async <Result>(run: () => Result): Promise<Result> => {
      await this.point('runtime');
      const result = run();
      await this.point('runtime');
      return result;
    };
    const point = () => this.point('runtime');
    return {
      identify: () => called(() => runtime.identify()),
      async *runTurn(_to, request, signal) {
        await point();
        for await (const event of runtime.follow(request, signal)) {
          yield event;
          await point();
        }
      },
      stopTurn: (_to, { turnId, generation }) => called(() => runtime.stop(turnId, generation)),
      advance: ({ turnId, generation, committedThrough, resolutions }) =>
        called(() => runtime.advance(turnId, generation, Number(committedThrough), resolutions)),
      status: async () => ({ busy: runtime.running().length > 0, turns: [], idleMs: 0 }),
      renewToolToken: async () => undefined,
      summarize: () => Promise.reject(new ConnectError('', Code.Unimplemented)),
      forget: () => undefined,
      close: () => undefined,
    };
  }
}
