import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import { startProbe } from './database-probe.js';

/** A database whose answers the test gives. */
function fakeDatabase() {
  let up = true;
  let asked = 0;
  return {
    ask: async (): Promise<void> => {
      asked += 1;
      if (!up) throw new Error('connection refused');
    },
    set(value: boolean): void {
      up = value;
    },
    /** Waits until it was asked twice more: the first of them may have begun before. */
    async askedAgain(): Promise<void> {
      const before = asked;
      while (asked < before + 2) await turn();
    },
  };
}

describe('the probe of the database', () => {
  it('knows the state when it has started, and follows it', async () => {
    const database = fakeDatabase();
    const probe = await startProbe({ ask: database.ask, logger: silentLogger, intervalMs: 1 });
    expect(probe.state()).toBe('reachable');
    database.set(false);
    await database.askedAgain();
    expect(probe.state()).toBe('unreachable');
    database.set(true);
    await database.askedAgain();
    expect(probe.state()).toBe('reachable');
    await probe.stop();
  });

  it('starts although the database is away', async () => {
    const database = fakeDatabase();
    database.set(false);
    const probe = await startProbe({ ask: database.ask, logger: silentLogger });
    expect(probe.state()).toBe('unreachable');
    await probe.stop();
  });
});
